// Two load runs beside one another.
import { html, useEffect, useMemo, useState } from "../dom.js";
import { usePolled } from "../live.js";
import { count } from "../format.js";
import { Empty, ErrorBox, Fact, Loading, Time } from "../parts.js";
import { CacheState, comparePage, inMs, rate, runPage, runPath, RunState } from "./words.js";

const changes = { same: ["≈", "same", "muted"], slower: ["▲", "slower", "bad"], faster: ["▼", "faster", "good"], worse: ["▲", "worse", "bad"], better: ["▼", "better", "good"], too_few: ["?", "too few samples", "muted"], one_side: ["?", "in one run only", "muted"] };

const shownPercentiles = ["p50", "p90", "p95", "p99"];

function Change({ d }) {
	const [mark, word, look] = changes[d.change] ?? ["?", d.change, "muted"];
	const delta = d.delta_ms !== null && d.delta_ms !== undefined && (d.change === "slower" || d.change === "faster" || d.change === "same");
	return html`<span class=${look}><span aria-hidden="true">${mark}</span> ${word}</span>${delta && html` <small>${d.delta_ms > 0 ? "+" : d.delta_ms < 0 ? "−" : ""}${inMs(Math.abs(d.delta_ms))} ms${d.ratio && ` · × ${d.ratio}`}${d.small_n ? " *" : ""}</small>`}`;
}

function Differences({ list }) {
	const [percentile, setPercentile] = useState("p95");
	const [only, setOnly] = useState(false);
	const shown = useMemo(() => list.filter((d) => d.percentile === percentile && (!only || d.change === "slower" || d.change === "faster")), [list, percentile, only]);
	const changed = (p) => list.filter((d) => d.percentile === p && (d.change === "slower" || d.change === "faster")).length;
	return html`<section class="panel" aria-labelledby="differences-title"><div class="panel-title"><h2 id="differences-title">Upstream latency by chart and cache state</h2>
		<form class="filters" onSubmit=${(e) => e.preventDefault()}><label>Percentile <select value=${percentile} onChange=${(e) => setPercentile(e.target.value)}>${shownPercentiles.map((p) => html`<option value=${p}>${p}${changed(p) > 0 ? ` (${changed(p)} changed)` : ""}</option>`)}</select></label><label class="check"><input type="checkbox" checked=${only} onChange=${(e) => setOnly(e.target.checked)} /> Only what changed</label></form></div>
		${shown.length === 0 ? html`<${Empty} title=${only ? `No ${percentile} has changed by more than the noise.` : "There is nothing to compare."} />`
		: html`<div class="scroll" tabindex="0"><table class="latency differences"><caption>Milliseconds, n beside each number; * the percentile is the slowest sample of a side</caption><thead><tr><th scope="col">Chart</th><th scope="col">Cache</th><th scope="col" class="number">Base</th><th scope="col" class="number">n</th><th scope="col" class="number">Run</th><th scope="col" class="number">n</th><th scope="col">Change</th></tr></thead>
			<tbody>${shown.map((d) => html`<tr data-change=${d.change} data-chart=${d.chart}><th scope="row">${d.name || `chart ${d.chart}`}</th><td><${CacheState} state=${d.cache_state} /></td><td class="number">${inMs(d.base_ms)}</td><td class="number">${count(d.base_sample_count)}</td><td class="number">${inMs(d.run_ms)}</td><td class="number">${count(d.run_sample_count)}</td><td class="nowrap"><${Change} d=${d} /></td></tr>`)}</tbody></table></div>`}</section>`;
}

// Side names one of the two runs.
function Side({ what, id }) {
	const { data } = usePolled(runPath(id), 0);
	const run = data?.run;
	return html`<p class="side"><span class="muted">${what}</span> <a href=${runPage(id)}>${run ? run.profile.name || run.profile.id : html`<code>${id}</code>`}</a> ${run && html`<${RunState} run=${run} /> <small><${Time} at=${run.created} /> · ${run.environment} · revision ${run.profile.revision} · <code>${id}</code></small>`}</p>`;
}

export function LoadCompare({ base, run }) {
	const { data, error } = usePolled(`/v1/load/compare?base=${encodeURIComponent(base)}&run=${encodeURIComponent(run)}`, 0);
	useEffect(() => {
		document.title = "Comparison · Braid";
	}, []);
	const rates = [...(data?.failures ? [data.failures] : []), ...(data?.rates ?? [])].filter((r) => (r.base_failure_rate?.num ?? 0) > 0 || (r.run_failure_rate?.num ?? 0) > 0);
	return html`<article data-comparable=${data?.comparable}><p class="crumbs"><a href="#/load">Load runs</a></p><div class="title"><h1>Comparison</h1><div class="buttons actions"><a class="button" href=${comparePage(run, base)}>Swap</a></div></div>
		<div class="sides"><${Side} what="base" id=${base} /><${Side} what="run" id=${run} /></div>
		<${ErrorBox} error=${error} doing="compare the runs" />
		${!data && !error && html`<${Loading} what="Reading both runs" />`}
		${data && !data.comparable && html`<section class="box why failed" aria-labelledby="why-title"><h2 id="why-title">The two runs are not comparable</h2><ul>${(data.reasons ?? []).map((r) => html`<li>${r}</li>`)}</ul><p class="muted">A comparison needs the same variations, the same charts and the same capacity; otherwise a difference says nothing about the server.</p></section>`}
		${data?.comparable && html`<section class="panel" aria-label="In short"><dl class="facts"><${Fact} name="slower">${data.slower > 0 ? html`<span class="bad">${count(data.slower)}</span>` : "0"}<//><${Fact} name="faster">${data.faster > 0 ? html`<span class="good">${count(data.faster)}</span>` : "0"}<//><${Fact} name="fail more">${data.worse > 0 ? html`<span class="bad">${count(data.worse)}</span>` : "0"}<//><${Fact} name="judged">${count(data.judged ?? 0)} <small>of ${count(data.differences?.length ?? 0)} percentiles</small><//>
			<${Fact} name="noise floor" note="a difference counts when it is above both"><span class="nowrap">${count(100 * Number(data.noise?.relative ?? 0))} %</span> <small>and</small> <span class="nowrap">${inMs(data.noise?.absolute_ms)} ms</span><//></dl></section>
			<section class=${`box why ${data.gate?.passed ? "" : "failed"}`} aria-labelledby="gate-title" data-gate=${data.gate?.passed ? "passed" : "failed"}><h2 id="gate-title">${data.gate?.passed ? "The run is shown to be no worse" : "The run is not shown to be as good"}</h2>${data.gate?.passed ? html`<p class="muted">No percentile is slower by more than the noise, no more fails, and every chart could be judged.</p>` : html`<ul>${(data.gate?.reasons ?? []).map((r) => html`<li>${r}</li>`)}</ul>`}</section>`}
		${data?.notes?.length > 0 && html`<section class="box notes" aria-labelledby="notes-title"><h2 id="notes-title">${data.comparable ? "To be read with the numbers" : "What else differs"}</h2><ul>${data.notes.map((n) => html`<li>${n}</li>`)}</ul></section>`}
		${data?.comparable && html`<${Differences} list=${data.differences ?? []} />
			<section class="panel" aria-labelledby="rates-title"><h2 id="rates-title">Failures</h2>${rates.length === 0 ? html`<p class="muted">No chart failed in either run.</p>` : html`<div class="scroll" tabindex="0"><table class="latency"><caption>Errors and timeouts of what completed</caption><thead><tr><th scope="col">Chart</th><th scope="col" class="number">Base</th><th scope="col" class="number">n</th><th scope="col" class="number">Run</th><th scope="col" class="number">n</th><th scope="col">Change</th></tr></thead>
				<tbody>${rates.map((r) => html`<tr><th scope="row">${r.chart ? r.name || `chart ${r.chart}` : "all"}</th><td class="number">${rate(r.base_failure_rate)}</td><td class="number">${count(r.base_failure_rate?.den)}</td><td class="number">${rate(r.run_failure_rate)}</td><td class="number">${count(r.run_failure_rate?.den)}</td><td class="nowrap"><${Change} d=${r} /></td></tr>`)}</tbody></table></div>`}</section>`}</article>`;
}
