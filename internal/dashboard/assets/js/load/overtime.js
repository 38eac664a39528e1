// A load run over its time, by uPlot.
import { html, useMemo, useState } from "../dom.js";
import { count, duration, plural } from "../format.js";
import { Plot } from "../plots.js";
import { cacheStates, inMs, nsInMs } from "./words.js";

const inTime = (ms) => (ms < 1000 ? `${inMs(ms)} ms` : duration(ms / 1000));
const perSecond = (v) => `${v >= 10 ? count(v) : v.toFixed(1)}/s`;
const dashes = [undefined, [6, 4], [2, 3], [10, 4, 2, 4], [1, 4], [12, 6]];
const mostListed = 240;

// latencies are a list for each cache state that there is, of one percentile.
function latencies(points, percentile) {
	const there = cacheStates.filter((s) => points.some((p) => p.upstream_latency?.[s]));
	return { there, lists: there.map((s) => points.map((p) => nsInMs(p.upstream_latency?.[s]?.[`${percentile}_ns`]))) };
}

// OverTime leaves out the last step of a run that goes on: it is not over, and would look like a fall.
export function OverTime({ series, live }) {
	const [percentile, setPercentile] = useState("p95");
	const [open, setOpen] = useState(false);
	const all = series?.points ?? [];
	const points = live && all.length > 2 ? all.slice(0, -1) : all;
	const step = (series?.step_ns ?? 1e9) / 1e9;
	const start = series ? new Date(series.from).getTime() / 1000 : 0;
	const { times, there, lists } = useMemo(() => ({ times: points.map((p) => start + p.at_ns / 1e9), ...latencies(points, percentile) }), [series, percentile, live]);
	if (points.length === 0) return null;
	const failed = points.map((p) => (p.errors + p.timeouts) / step);
	const done = points.map((p) => p.completed / step);
	const lines = there.map((s) => ({ label: s, colour: `cache-${s}`, dash: dashes[cacheStates.indexOf(s)] }));
	return html`<section class="panel" aria-labelledby="time-title"><div class="panel-title"><h2 id="time-title">Over time</h2>
		<form class="filters" onSubmit=${(e) => e.preventDefault()}><label>Latency <select value=${percentile} onChange=${(e) => setPercentile(e.target.value)}><option value="p50">p50</option><option value="p95">p95</option></select></label></form></div>
		<div class="plots">${lines.length > 0 && html`<${Plot} key=${there.join()} title="Upstream latency by cache state" step=${step} unit=${inTime} summary=${`${percentile} of each ${duration(step)}`} data=${[times, ...lists]} lines=${lines} />`}
		<${Plot} title="Completed" step=${step} unit=${perSecond} summary=${`${plural(points.reduce((n, p) => n + p.errors + p.timeouts, 0), "failure")} in all`} data=${[times, done, failed]} lines=${[{ label: "completed" }, { label: "errors and timeouts", dash: [6, 4] }]} /></div>
		<details class="values" open=${open} onToggle=${(e) => setOpen(e.target.open)}><summary>The values as a table</summary>${open && html`<div class="scroll tall" tabindex="0"><table><caption class="hidden">A row for each step in which something ended, the oldest first</caption>
			<thead><tr><th scope="col" class="number">After</th><th scope="col" class="number">Completed</th><th scope="col" class="number">Errors</th><th scope="col" class="number">Timeouts</th>${there.map((s) => html`<th scope="col" class="number">${s}: n</th><th scope="col" class="number">p50, ms</th><th scope="col" class="number">p95, ms</th>`)}</tr></thead>
			<tbody>${points.slice(-mostListed).map((p) => html`<tr><th scope="row" class="number">${duration(p.at_ns / 1e9)}</th><td class="number">${count(p.completed)}</td><td class="number">${count(p.errors)}</td><td class="number">${count(p.timeouts)}</td>${there.map((s) => {
				const of = p.upstream_latency?.[s];
				return html`<td class="number">${count(of?.sample_count ?? 0)}</td><td class="number">${inMs(nsInMs(of?.p50_ns))}</td><td class="number">${inMs(nsInMs(of?.p95_ns))}</td>`;
			})}</tr>`)}</tbody></table></div>`}</details></section>`;
}
