// Throughput and latency over time, by uPlot.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./dom.js";
import uPlot from "../vendor/uplot.js";
import { count, duration } from "./format.js";
import { onTheme } from "./grid.js";
import { Fact } from "./parts.js";

const height = 190;
const fewestSteps = 4; // that a plot is wide

function axisStyle(element) {
	const style = getComputedStyle(element);
	const of = (name) => style.getPropertyValue(name).trim();
	return { ink: of("--muted"), line: of("--line"), first: of("--plot-1"), second: of("--plot-2"), third: of("--plot-3"), of, font: "12px system-ui, sans-serif" };
}

const exact = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const rough = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const daily = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

// timesOf names the ticks of the axis of time, which are so many seconds apart.
const timesOf = (u, ticks, axis, space, apart) => ticks.map((at) => (apart >= 86400 ? daily : apart >= 60 ? rough : exact).format(new Date(at * 1000)));

// restLegend lets the legend tell the last value of each line, as long as nobody points at another.
function restLegend(u) {
	if (!u || u.cursor.left >= 0) return;
	u.setLegend({ idxs: u.data.map((list) => Math.max(0, list.findLastIndex((v) => v !== null && v !== undefined))) }, false);
}

// Plot draws lines over time. uPlot owns what is inside of the box.
export function Plot({ title, lines, data, unit, step, summary }) {
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
				label: l.label, stroke: l.colour ? style.of(`--${l.colour}`) : [style.first, style.second, style.third][i], width: 2, dash: l.dash, points: { show: data[0].length < 40, size: 5 }, spanGaps: true,
				value: (u, v) => (v === null || v === undefined ? "–" : unit(v)),
			}))],
			hooks: { setCursor: [(u) => u.cursor.left < 0 && restLegend(u)] },
		}, data, box.current);
		restLegend(plot.current);
		const observer = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(200, box.current.clientWidth), height }));
		observer.observe(box.current);
		return () => {
			observer.disconnect();
			plot.current.destroy();
			plot.current = null;
		};
	}, [theme, lines.length, step]);
	useLayoutEffect(() => {
		plot.current?.setData(data);
		restLegend(plot.current);
	}, [data]);
	return html`<figure class="plot"><figcaption>${title} <span class="muted">${summary}</span></figcaption><div ref=${box} class="plot-box" role="img" aria-label=${`${title}: ${summary}`}></div></figure>`;
}

const perSecond = (v) => `${v >= 100 ? count(v) : v.toFixed(v >= 10 ? 1 : 2).replace(/\.?0+$/, "")}/s`;
const inTime = (ms) => duration(ms / 1000);

const mostListed = 240;

// Values are those of the plots as a table, for who does not see them or does not point.
function Values({ series, step }) {
	const [open, setOpen] = useState(false);
	const start = new Date(series.start).getTime() / 1000;
	const columns = [["Chunks", series.chunks, (n) => perSecond(n / step)], ["Requests", series.requests, (n) => perSecond(n / step)], ["Median", series.latency_p50_ms, inTime], ["95 %", series.latency_p95_ms, inTime], ["Wait for a slot", series.slot_wait_p50_ms, inTime]];
	const from = Math.max(0, series.chunks.length - mostListed);
	return html`<details class="values" open=${open} onToggle=${(e) => setOpen(e.target.open)}><summary>The values as a table</summary>
		${open && html`<div class="scroll tall" tabindex="0"><table><caption class="hidden">Throughput and latency, a row for each step of ${duration(step)}, the oldest first</caption><thead><tr><th scope="col">From</th>${columns.map(([name]) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
			<tbody>${series.chunks.slice(from).map((_, i) => html`<tr><th scope="row">${exact.format(new Date((start + (from + i) * step) * 1000))}</th>${columns.map(([, list, words]) => html`<td class="number">${list?.[from + i] === null || list?.[from + i] === undefined ? "–" : words(list[from + i])}</td>`)}</tr>`)}</tbody></table></div>`}</details>`;
}

const newest = (list) => [...(list ?? [])].reverse().find((v) => v !== null && v !== undefined);
const total = (list) => (list ?? []).reduce((a, b) => a + b, 0);
const inWords = (ms) => (ms === undefined ? "–" : inTime(ms));

export function Plots({ series }) {
	if (!series?.chunks?.length) return null;
	const step = series.step_ns / 1e9;
	const start = new Date(series.start).getTime() / 1000;
	const median = newest(series.latency_p50_ms);
	const section = (body) => html`<section class="panel" aria-labelledby="plots-title"><h2 id="plots-title">Throughput and latency</h2>${body}</section>`;
	// One step makes no line.
	if (series.chunks.length === 1) {
		return section(html`<dl class="facts small one-step"><${Fact} name="chunks">${count(total(series.chunks))} <small>in ${duration(step)}</small><//><${Fact} name="requests">${count(total(series.requests))}<//><${Fact} name="latency, median">${inWords(median)}<//><${Fact} name="latency, 95 %">${inWords(newest(series.latency_p95_ms))}<//><${Fact} name="wait for a slot">${inWords(newest(series.slot_wait_p50_ms))}<//></dl>`);
	}
	const times = series.chunks.map((_, i) => start + i * step);
	const rate = (list) => (list ?? []).map((n) => n / step);
	return section(html`<div class="plots">
		<${Plot} title="Throughput" step=${step} unit=${perSecond} summary=${`${count(total(series.requests))} requests, a step is ${duration(step)}`} data=${[times, rate(series.chunks), rate(series.requests)]}
			lines=${[{ label: "chunks" }, { label: "requests", dash: [6, 4] }]} />
		<${Plot} title="Latency of a request" step=${step} unit=${inTime} summary=${median === undefined ? "none yet" : `median ${inTime(median)} in the last step`} data=${[times, ...[series.latency_p50_ms, series.latency_p95_ms, series.slot_wait_p50_ms].map((l) => l ?? series.chunks.map(() => null))]}
			lines=${[{ label: "median" }, { label: "95 %", dash: [6, 4] }, { label: "wait for a slot", dash: [2, 3] }]} />
	</div><${Values} series=${series} step=${step} />`);
}
