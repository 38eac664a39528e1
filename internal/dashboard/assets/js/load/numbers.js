// Tables of latencies, and what is to be read beside them.
import { html, useState } from "../dom.js";
import { count, plural } from "../format.js";
import { CacheState, inMs, nsInMs, rate, words } from "./words.js";

const percentiles = ["p50", "p90", "p95", "p99"];

// few tells that a 99th percentile is no more than the slowest sample.
const few = (n) => n > 0 && n < 100;

export const Heads = () => html`<th scope="col" class="number">n</th>${percentiles.map((p) => html`<th scope="col" class="number">${p}</th>`)}`;

// Quantiles are the cells of one dimension, n beside every percentile. of gives the milliseconds of a percentile.
export function Quantiles({ n, of }) {
	return html`<td class="number">${count(n ?? 0)}</td>${percentiles.map((p) => html`<td class="number" title=${p === "p99" && few(n) ? "fewer than 100 samples: it is the slowest one" : undefined}>${inMs(of(p))}${p === "p99" && few(n) ? "*" : ""}</td>`)}`;
}

const waits = [
	["queue_wait", "wait in the queue", "from queued to taken; grows with the run's length"], ["resource_wait", "wait for a place", "from taken to admitted; the runner's own limits"],
	["upstream_latency", "upstream latency", "from admitted to the last byte; the server"], ["end_to_end", "end to end", "the sum of the three"],
];

// Waits shows the three waits of a summary, in nanoseconds as progress tells them.
export function Waits({ summary, recent }) {
	return html`<section class="panel" aria-labelledby="waits-title"><h2 id="waits-title">The three waits</h2><div class="scroll" tabindex="0"><table class="latency"><caption>Of successes, in milliseconds, the warm-up left out; only the upstream latency is the server's</caption>
		<thead><tr><th scope="col">Wait</th><${Heads} /></tr></thead><tbody>${waits.map(([key, name, what]) => html`<tr><th scope="row">${name}<small>${what}</small></th><${Quantiles} n=${summary?.[key]?.sample_count} of=${(p) => nsInMs(summary?.[key]?.[`${p}_ns`])} /></tr>`)}
		${recent?.upstream_latency?.sample_count > 0 && html`<tr><th scope="row">upstream, lately<small>in the breaker's window</small></th><${Quantiles} n=${recent.upstream_latency.sample_count} of=${(p) => nsInMs(recent.upstream_latency[`${p}_ns`])} /></tr>`}</tbody></table></div></section>`;
}

// scaleOf makes the one logarithmic scale that all bars of a table have: a hit and a miss are often a hundredfold apart.
export function scaleOf(groups) {
	const all = groups.flatMap((g) => [g.upstream_latency_ms?.p50, g.upstream_latency_ms?.p99]).filter((v) => v !== null && v !== undefined).map((v) => Math.log10(Math.max(v, 0.001)));
	if (all.length === 0) return null;
	const low = Math.floor(Math.min(...all));
	return { low, decades: Math.max(1, Math.ceil(Math.max(...all)) - low) };
}

const decade = (e) => (e >= 3 ? `${count(10 ** (e - 3))} s` : e >= 0 ? `${count(10 ** e)} ms` : `${count(10 ** (e + 3))} µs`);

export const Axis = ({ scale }) => html`<th scope="col" class="bar-head" title="from p50 (dot) to p99, with a mark at p95; logarithmic">${scale && html`<span class="axis"><span>${decade(scale.low)}</span><span>${decade(scale.low + scale.decades)}</span></span>`}</th>`;

// Bar is a line from p50 to p99 with a mark at p95; what it says stands in the cells beside it.
export function Bar({ scale, q, state }) {
	if (!scale || q?.p50 === null || q?.p50 === undefined) return html`<td></td>`;
	const at = (v) => (160 * Math.min(1, Math.max(0, (Math.log10(Math.max(v, 0.001)) - scale.low) / scale.decades))).toFixed(1);
	return html`<td class="bar-cell"><svg class="range ${state ?? ""}" viewBox="0 0 160 12" aria-hidden="true"><path d=${`M${at(q.p50)} 6H${at(q.p99)}M${at(q.p95)} 2V10`} /><circle cx=${at(q.p50)} cy="6" r="3.5" /></svg></td>`;
}

// chartNames finds the names of charts in a report.
export const chartNames = (report) => new Map((report?.by_chart ?? []).map((g) => [g.chart, g.name || `chart ${g.chart}`]));

const mostRows = 60;

export function More({ all, shown, onMore }) {
	return all > shown && html`<p><button type="button" onClick=${onMore}>Show all ${count(all)}</button></p>`;
}

// ByChart shows each chart's latency with its cache states apart, and how often it failed.
export function ByChart({ report }) {
	const [all, setAll] = useState(false);
	const [mixed, setMixed] = useState(false);
	const groups = (mixed ? report.by_chart : report.by_chart_cache) ?? [];
	const failures = new Map((report.by_chart ?? []).map((g) => [g.chart, g]));
	const failed = (report.by_chart ?? []).filter((g) => g.errors + g.timeouts > 0);
	const shown = all ? groups : groups.slice(0, mostRows);
	const scale = scaleOf(groups);
	return html`<section class="panel" aria-labelledby="charts-title"><div class="panel-title"><h2 id="charts-title">Latency by chart</h2>
		<form class="filters" onSubmit=${(e) => e.preventDefault()}><label>Cache states <select value=${mixed ? "together" : "apart"} onChange=${(e) => setMixed(e.target.value === "together")}><option value="apart">apart</option><option value="together">together</option></select></label></form></div>
		${groups.length === 0 && html`<p class="muted">Nothing has succeeded.</p>`}
		${shown.length > 0 && html`<div class="scroll" tabindex="0"><table class="latency by-chart"><caption>${mixed ? "All cache states together: where hits and misses are mixed, the percentiles are of neither" : "Upstream latency of successes in milliseconds"}; * the slowest of fewer than 100</caption>
			<thead><tr><th scope="col">Chart</th><th scope="col">Cache</th><${Heads} /><${Axis} scale=${scale} /><th scope="col" class="number">errors</th><th scope="col" class="number">timeouts</th></tr></thead>
			<tbody>${shown.map((g, i) => {
				const first = i === 0 || shown[i - 1].chart !== g.chart;
				const whole = failures.get(g.chart);
				return html`<tr key=${`${g.chart} ${g.cache_state}`} data-chart=${g.chart} class=${first ? "first" : "same"}><th scope="row">${first ? g.name || `chart ${g.chart}` : html`<span class="hidden">${g.name || `chart ${g.chart}`}</span>`}</th>
					<td>${mixed ? (g.cache_states ?? []).map((s) => html`<span class="nowrap">${count(s.count)} <${CacheState} state=${s.cache_state} /></span> `) : html`<${CacheState} state=${g.cache_state} />`}</td>
					<${Quantiles} n=${g.upstream_latency_ms.sample_count} of=${(p) => g.upstream_latency_ms[p]} /><${Bar} scale=${scale} q=${g.upstream_latency_ms} state=${mixed ? "" : g.cache_state} />
					<td class="number ${first && whole?.errors > 0 ? "bad" : ""}">${first ? rate(whole?.error_rate) : ""}</td><td class="number ${first && whole?.timeouts > 0 ? "bad" : ""}">${first ? rate(whole?.timeout_rate) : ""}</td></tr>`;
			})}</tbody></table></div>`}
		<${More} all=${groups.length} shown=${shown.length} onMore=${() => setAll(true)} />
		${!mixed && failed.some((g) => g.success === 0) && html`<p class="bad">${plural(failed.filter((g) => g.success === 0).length, "chart")} had no success: ${failed.filter((g) => g.success === 0).slice(0, 8).map((g) => g.name || `chart ${g.chart}`).join(", ")}</p>`}</section>`;
}

// ByRole shows what differs from role to role; of one alone there is nothing to tell.
export function ByRole({ report }) {
	const groups = report.by_role ?? [];
	if (groups.length < 2) return null;
	const scale = scaleOf(groups);
	return html`<section class="panel" aria-labelledby="roles-title"><h2 id="roles-title">Latency by role</h2><div class="scroll" tabindex="0"><table class="latency"><caption>Upstream latency of successes in milliseconds, all cache states together</caption>
		<thead><tr><th scope="col">Role</th><th scope="col">Cache</th><${Heads} /><${Axis} scale=${scale} /><th scope="col" class="number">errors</th><th scope="col" class="number">timeouts</th></tr></thead>
		<tbody>${groups.map((g) => html`<tr><th scope="row">${g.role || "the environment's first"}</th><td>${(g.cache_states ?? []).map((s) => html`<span class="nowrap">${count(s.count)} <${CacheState} state=${s.cache_state} /></span> `)}</td><${Quantiles} n=${g.upstream_latency_ms.sample_count} of=${(p) => g.upstream_latency_ms[p]} /><${Bar} scale=${scale} q=${g.upstream_latency_ms} />
			<td class="number">${rate(g.error_rate)}</td><td class="number">${rate(g.timeout_rate)}</td></tr>`)}</tbody></table></div></section>`;
}

export function Thresholds({ report, names }) {
	const list = report.thresholds ?? [];
	if (list.length === 0) return null;
	return html`<section class="panel" aria-labelledby="thresholds-title"><h2 id="thresholds-title">Thresholds</h2><div class="scroll" tabindex="0"><table class="thresholds"><caption>No samples is not passed</caption>
		<thead><tr><th scope="col">What</th><th scope="col">Demand</th><th scope="col" class="number">Observed</th><th scope="col" class="number">n</th><th scope="col">Verdict</th></tr></thead>
		<tbody>${list.map((t) => html`<tr data-passed=${t.passed}><th scope="row"><code>${t.metric}</code>${(t.chart || t.role || t.cache) && html`<small>${[t.chart && (names.get(t.chart) ?? `chart ${t.chart}`), t.role && `role ${t.role}`, t.cache && `cache ${t.cache}`].filter(Boolean).join(" · ")}</small>`}</th>
			<td>${[t.min && `at least ${t.min}`, t.max && `at most ${t.max}`].filter(Boolean).join(", ")}</td><td class="number">${t.observed || "–"}</td><td class="number">${count(t.sample_count)}</td>
			<td class=${t.passed ? "good" : "bad"}>${t.passed ? "✓ passed" : `✕ failed${t.reason ? `: ${t.reason}` : ""}`}</td></tr>`)}</tbody></table></div></section>`;
}

export function Findings({ report, names }) {
	const [all, setAll] = useState(false);
	const list = report.findings ?? [];
	if (list.length === 0) return null;
	const shown = all ? list : list.slice(0, 20);
	return html`<section class="panel" aria-labelledby="findings-title"><h2 id="findings-title">${plural(list.length, "consistency finding")}</h2><p class="muted">The same chart, filters, role and time range gave different data.</p>
		<div class="scroll" tabindex="0"><table class="findings"><caption class="hidden">Consistency findings</caption><thead><tr><th scope="col">Chart</th><th scope="col">Role</th><th scope="col">Time range</th><th scope="col">Digests of the data</th><th scope="col">Reads as</th></tr></thead>
		<tbody>${shown.map((f) => html`<tr><th scope="row">${names.get(f.chart) ?? `chart ${f.chart}`}</th><td>${f.role || "–"}</td><td>${f.time_range || "–"}</td><td>${(f.digests ?? []).slice(0, 6).map((d) => html`<div><span class="number">${count(d.count)} ×</span> <code title=${d.data_sha256}>${(d.data_sha256 ?? "").slice(0, 12)}…</code> ${Object.keys(d.cache_states ?? {}).map((s) => html`<${CacheState} state=${s} /> `)}</div>`)}${f.digests?.length > 6 && html`<small>and ${count(f.digests.length - 6)} more</small>`}</td>
			<td>${[f.time_dependent && "time dependent", f.order_only && "only the order differs"].filter(Boolean).join(", ") || html`<strong class="bad">other data</strong>`}</td></tr>`)}</tbody></table></div>
		<${More} all=${list.length} shown=${shown.length} onMore=${() => setAll(true)} /></section>`;
}

export function Diagnostics({ list, names }) {
	if (!list?.length) return null;
	return html`<section class="box notes" aria-labelledby="diagnostics-title"><h2 id="diagnostics-title">To be read with the numbers</h2><ul class="diagnostics">${list.map((d) => html`<li>${d.text}${d.chart > 0 && ` (${names.get(d.chart) ?? `chart ${d.chart}`})`} <small>${words(d.code)}</small></li>`)}</ul></section>`;
}
