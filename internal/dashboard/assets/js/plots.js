// Throughput and latency over time, by uPlot.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./dom.js";
import uPlot from "../vendor/uplot.js";
import { count, duration } from "./format.js";
import { onTheme } from "./grid.js";

const height = 190;
const fewestSteps = 10; // that a plot is wide

function axisStyle(element) {
	const style = getComputedStyle(element);
	const of = (name) => style.getPropertyValue(name).trim();
	return { ink: of("--muted"), line: of("--line"), first: of("--plot-1"), second: of("--plot-2"), third: of("--plot-3"), font: "12px system-ui, sans-serif" };
}

const exact = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const rough = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const daily = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

// timesOf names the ticks of the axis of time, which are so many seconds apart.
const timesOf = (u, ticks, axis, space, apart) => ticks.map((at) => (apart >= 86400 ? daily : apart >= 60 ? rough : exact).format(new Date(at * 1000)));

// Plot draws lines over time. uPlot owns what is inside of the box.
function Plot({ title, lines, data, unit, step, summary }) {
	const box = useRef(null);
	const plot = useRef(null);
	const [theme, setTheme] = useState(0);
	useEffect(() => onTheme(() => setTheme((n) => n + 1)), []);
	useLayoutEffect(() => {
		const style = axisStyle(box.current);
		const axis = { stroke: style.ink, grid: { stroke: style.line, width: 1 }, ticks: { stroke: style.line, width: 1 }, font: style.font };
		const values = (u, ticks) => ticks.map(unit);
		plot.current = new uPlot({
			width: Math.max(200, box.current.clientWidth), height, legend: { live: true, isolate: false },
			padding: [null, 32, null, null], cursor: { drag: { x: false, y: false } },
			scales: { x: { range: (u, min, max) => [min, Math.max(max, min + fewestSteps * step)] }, y: { range: (u, min, max) => [0, max > 0 ? max * 1.1 : 1] } },
			axes: [{ ...axis, space: 70, values: timesOf }, { ...axis, size: 62, values }],
			series: [{ value: "{HH}:{mm}:{ss}" }, ...lines.map((l, i) => ({
				label: l.label, stroke: [style.first, style.second, style.third][i], width: 2, dash: l.dash, points: { show: data[0].length < 40, size: 5 }, spanGaps: true,
				value: (u, v) => (v === null || v === undefined ? "–" : unit(v)),
			}))],
		}, data, box.current);
		const observer = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(200, box.current.clientWidth), height }));
		observer.observe(box.current);
		return () => {
			observer.disconnect();
			plot.current.destroy();
			plot.current = null;
		};
	}, [theme, lines.length, step]);
	useLayoutEffect(() => plot.current?.setData(data), [data]);
	return html`<figure class="plot"><figcaption>${title} <span class="muted">${summary}</span></figcaption><div ref=${box} class="plot-box" role="img" aria-label=${`${title}: ${summary}`}></div></figure>`;
}

const perSecond = (v) => `${v >= 100 ? count(v) : v.toFixed(v >= 10 ? 1 : 2).replace(/\.?0+$/, "")}/s`;
const inTime = (ms) => duration(ms / 1000);

export function Plots({ series }) {
	if (!series?.chunks?.length) return null;
	const step = series.step_ns / 1e9;
	const start = new Date(series.start).getTime() / 1000;
	// One point alone has no width: the library would show years around it.
	const padding = series.chunks.length === 1 ? [null] : [];
	const times = [...series.chunks, ...padding].map((_, i) => start + i * step);
	const rate = (list) => [...(list ?? []).map((n) => n / step), ...padding];
	const requests = (series.requests ?? []).reduce((a, b) => a + b, 0);
	const last = (list) => [...(list ?? [])].reverse().find((v) => v !== null && v !== undefined);
	const median = last(series.latency_p50_ms);
	return html`<section class="panel" aria-labelledby="plots-title"><h2 id="plots-title">Throughput and latency</h2><div class="plots">
		<${Plot} title="Throughput" step=${step} unit=${perSecond} summary=${`${count(requests)} requests, a step is ${duration(step)}`} data=${[times, rate(series.chunks), rate(series.requests)]}
			lines=${[{ label: "chunks" }, { label: "requests", dash: [6, 4] }]} />
		<${Plot} title="Latency of a request" step=${step} unit=${inTime} summary=${median === undefined ? "none yet" : `median ${inTime(median)} in the last step`} data=${[times, ...[series.latency_p50_ms, series.latency_p95_ms, series.slot_wait_p50_ms].map((l) => [...(l ?? series.chunks.map(() => null)), ...padding])]}
			lines=${[{ label: "median" }, { label: "95 %", dash: [6, 4] }, { label: "wait for a slot", dash: [2, 3] }]} />
	</div></section>`;
}
