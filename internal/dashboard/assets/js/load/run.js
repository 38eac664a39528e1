// The page of one load run: live while it goes, and its report when it has ended.
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../dom.js";
import { get, post, Refused } from "../api.js";
import { follow, useNow, usePolled, useRefreshed } from "../live.js";
import { count, duration } from "../format.js";
import { Command, Confirm, Empty, ErrorBox, Fact, Loading, Progress, QuotaBar, Time, told } from "../parts.js";
import { Execution, Executions } from "./executions.js";
import { ByChart, ByRole, chartNames, Diagnostics, Findings, Thresholds, Waits } from "./numbers.js";
import { OverTime } from "./overtime.js";
import { binding, cacheStates, CacheState, Class, comparePage, profilePage, running, runPage, runPath, RunState, Verdict, words } from "./words.js";

const heavy = 4000; // milliseconds between two looks at what the server reads all executions for

// useRun follows a run until it has ended.
function useRun(id) {
	const [state, set] = useState({ status: null, error: null, gone: false, times: 0 });
	useEffect(() => {
		const put = (status) => set((before) => ({ status, error: null, gone: false, times: before.times + 1 }));
		let heard = 0;
		const ask = async () => {
			const before = heard;
			const status = await get(runPath(id));
			if (heard === before) put(status); // else an event came meanwhile, which is newer
			return !running(status.run);
		};
		ask().catch((error) => set((before) => ({ ...before, error })));
		return follow(runPath(id, "/events"), {
			onEvent: (name, data) => {
				if (name === "status") heard++, put(data);
				if (name === "removed") set((before) => ({ ...before, gone: true }));
				if (name === "end") ask().catch(() => {});
			},
			check: ask,
			onError: (error) => set((before) => ({ ...before, error, gone: error instanceof Refused && error.status === 404 && Boolean(before.status) })),
		});
	}, [id]);
	return state;
}

// Why says why a run ended otherwise than by being through.
function Why({ run, now }) {
	if (running(run) && run.state !== "draining") return null;
	if (run.ending === "completed" || !run.ending) return null;
	const title = {
		stopped: "It was stopped", tripped: "Its breaker tripped", preflight_failed: "Its preflight failed", failed: "Braid could not carry it through",
	}[run.ending] ?? `It ended: ${words(run.ending)}`;
	const { trip } = run;
	return html`<section class="box why ${run.ending === "stopped" ? "interrupted" : "failed"}" aria-labelledby="why-title"><h2 id="why-title">${title}${run.stopped_by && ` by ${run.stopped_by}`}</h2>
		${run.reason && !trip && html`<p>${run.reason}</p>`}
		${trip && html`<ul>${(trip.triggers ?? []).map((t) => html`<li>${triggerWords[t.metric] ?? words(t.metric)} was <strong>${t.observed}</strong>; the limit is ${t.threshold}</li>`)}</ul>
			<p class="evidence">At the ${count(trip.at_completed)}th completed execution, <${Time} at=${trip.at} now=${now} />: of the ${count(trip.window_completed)} in the window ${count(trip.window_failures)} had failed.</p>`}
		<p class="muted">${run.closed ? html`No request was admitted after <${Time} at=${run.closed} now=${now} />. ` : ""}What was recorded until then is kept.</p></section>`;
}

const triggerWords = { error_rate: "The share of failures", upstream_p99_ms: "The p99 of upstream latency, in ms," };

function Trigger({ name, of }) {
	const look = { tripped: "failed", armed: "running" }[of?.state] ?? "";
	return html`<tr><th scope="row">${name}</th><td><span class="state ${look}">${of?.state ?? "–"}</span>${of?.warming && html` <span class="state interrupted" title="Fewer executions than the minimum have completed">warming</span>`}</td><td class="number">${of?.observed || "–"}</td><td class="number">${of?.threshold || "–"}</td><td>${words(of?.reason) || ""}</td></tr>`;
}

function Breaker({ breaker, rules }) {
	if (!breaker) return null;
	const look = { tripped: "failed", armed: "running" }[breaker.state] ?? "";
	return html`<section class="panel" aria-labelledby="breaker-title" data-breaker=${breaker.state}><div class="panel-title"><h2 id="breaker-title">Breaker</h2><span class="state ${look}">${breaker.state}</span></div>
		<div class="scroll" tabindex="0"><table><caption>Over the last ${count(rules.window)} completed executions, from ${count(rules.minimum)} on${rules.excluded?.length ? `; ${rules.excluded.map(words).join(", ")} do not count as failures` : ""}</caption>
		<thead><tr><th scope="col">Trigger</th><th scope="col">State</th><th scope="col" class="number">Observed</th><th scope="col" class="number">Limit</th><th scope="col">Why</th></tr></thead>
		<tbody><${Trigger} name="share of failures" of=${breaker.error_rate} /><${Trigger} name="p99 of upstream latency, ms" of=${breaker.latency} /></tbody></table></div></section>`;
}

// Mix is a bar of parts with their names and counts.
function Mix({ parts, label }) {
	const all = parts.reduce((n, p) => n + p.n, 0);
	return html`<div class="mix" role="img" aria-label=${`${label}: ${parts.map((p) => `${p.n} ${p.word}`).join(", ") || "none"}`}>${parts.map((p) => html`<div class="part ${p.look}" style=${{ width: `${(100 * p.n) / Math.max(1, all)}%` }}></div>`)}</div>
		<ul class="legend">${parts.map((p) => html`<li>${p.name} <span class="number">${count(p.n)}</span></li>`)}</ul>`;
}

function Outcomes({ p }) {
	const parts = [["success", p.success, "good"], ["error", p.errors, "bad"], ["timeout", p.timeouts, "warn"], ["cancelled", p.cancelled, "off"], ["not started", p.not_started, "off"], ["not dispatched", p.not_dispatched, "off"]].filter(([, n]) => n > 0)
		.map(([word, n, look]) => ({ word, n, look, name: html`<span class="key ${look}">${word}</span>` }));
	const kinds = Object.entries(p.kinds ?? {}).sort((a, b) => b[1] - a[1]);
	const cache = cacheStates.filter((s) => p.cache_states?.[s]).map((s) => ({ word: s, n: p.cache_states[s], look: `cache-${s}`, name: html`<${CacheState} state=${s} />` }));
	return html`<section class="panel" aria-labelledby="outcomes-title"><h2 id="outcomes-title">Outcomes and cache</h2>
		<h3>Outcomes</h3>${parts.length ? html`<${Mix} parts=${parts} label="Outcomes" />` : html`<p class="muted">None yet.</p>`}
		${kinds.length > 0 && html`<p class="kinds">${kinds.map(([kind, n]) => html`<span class="nowrap">${words(kind)} <strong class="number">${count(n)}</strong></span> `)}</p>`}
		<h3>Cache states of successes</h3>${cache.length ? html`<${Mix} parts=${cache} label="Cache states" />` : html`<p class="muted">None yet.</p>`}</section>`;
}

function Numbers({ run, progress: p, now }) {
	const bad = p.errors + p.timeouts;
	const { capacity, profile } = run;
	const stages = profile.stages?.length ?? 0;
	const began = run.started ?? run.created;
	return html`<section class="panel numbers" aria-label="Progress">
		<div class="big-progress"><${Progress} completed=${p.recorded - bad} failed=${bad} total=${run.total} label="Executions" what="executions" /><strong>${Math.floor((100 * p.recorded) / Math.max(1, run.total))} %</strong></div>
		<dl class="facts"><${Fact} name="executions">${count(p.recorded)} <small>of ${count(run.total)}</small><//>
			<${Fact} name="succeeded">${count(p.success)}<//><${Fact} name="failed">${bad > 0 ? html`<span class="bad">${count(bad)}</span>` : "0"}<//>
			<${Fact} name="in flight">${count(p.in_flight)} <small>of ${count(running(run) ? run.slots : capacity.effective)}</small>${running(run) && html`<${QuotaBar} left=${p.in_flight} limit=${capacity.effective} label="In flight of the run's capacity" plain />`}<//>
			<${Fact} name="capacity" note=${`bound by ${binding(capacity)}`}>${count(capacity.effective)}<//>
			${stages > 0 && html`<${Fact} name="stage">${count(Math.min(run.stage + 1, stages))} <small>of ${count(stages)}</small><//>`}
			<${Fact} name="requests sent">${count(p.requests_sent)}<//>${p.warm_up > 0 && html`<${Fact} name="warm-up">${count(p.warm_up)}<//>`}
			${p.not_dispatched > 0 && html`<${Fact} name="not dispatched">${count(p.not_dispatched)}<//>`}
			${p.attempts > p.recorded && html`<${Fact} name="repeated">${count(p.attempts - p.recorded)}<//>`}
			<${Fact} name=${running(run) ? "for" : "took"}>${duration(((running(run) ? now : new Date(run.ended)) - new Date(began)) / 1000)}<//></dl></section>`;
}

function Actions({ run, may, others }) {
	const [asking, setAsking] = useState(false);
	const [state, set] = useState({ busy: false, error: null });
	const stop = async () => {
		setAsking(false);
		set({ busy: true, error: null });
		try {
			await post(runPath(run.id, "/stop"));
			set({ busy: false, error: null });
		} catch (error) {
			set({ busy: false, error });
		}
	};
	const over = !running(run);
	return html`<div class="buttons actions" role="group" aria-label="What can be done with the run">
		${!over && html`<button type="button" class="danger" data-verb="stop" disabled=${state.busy || !may.load || run.state === "draining"} title=${may.load ? "" : may.reason} onClick=${() => setAsking(true)}>${state.busy || run.state === "draining" ? "Stopping …" : "Stop"}</button>`}
		${over && others.length > 0 && html`<label class="inline">Compare with <select onChange=${(e) => e.target.value && (location.hash = comparePage(e.target.value, run.id))}><option value="">an earlier run …</option>${others.map((o) => html`<option value=${o.id}>${o.id}</option>`)}</select></label>`}
		${over && html`<a class="button" href=${runPath(run.id, "/report?format=html")} target="_blank" rel="noopener">Report</a><a class="button" href=${runPath(run.id, "/report?format=json")} download=${`${run.id}.json`}>JSON</a><a class="button" href=${runPath(run.id, "/report?format=junit")} download=${`${run.id}.xml`}>JUnit</a>`}</div>
		<${ErrorBox} error=${state.error} doing="stop the run" />
		${asking && html`<${Confirm} title="Stop the run?" text="No further request is admitted. What is in flight may end; what was recorded is kept. A run that was stopped cannot go on." verb="Stop it" onYes=${stop} onNo=${() => setAsking(false)} />`}`;
}

// Announce tells changes of state to who does not see them.
function Announce({ run }) {
	const [said, set] = useState("");
	const now = `${run.state} ${run.ending ?? ""}`;
	const before = useRef(now);
	useEffect(() => {
		if (before.current !== now) set(`The run is ${run.state}${run.ending ? `: ${words(run.ending)}` : ""}. ${run.reason ?? ""}`);
		before.current = now;
	}, [now]);
	return html`<p class="hidden" aria-live="assertive" id="announce">${said}</p>`;
}

const none = { success: 0, errors: 0, timeouts: 0, cancelled: 0, not_started: 0, not_dispatched: 0, recorded: 0, in_flight: 0, requests_sent: 0, attempts: 0, warm_up: 0 };

export function LoadRun({ id, number, may }) {
	const { status, error, gone, times } = useRun(id);
	const run = status?.run;
	const now = useNow(Boolean(run) && running(run));
	const turn = run ? `${run.state} ${run.ending ?? ""}` : "";
	const progress = status?.progress ?? none;
	const told_ = `${progress.recorded} ${progress.not_dispatched}`;
	const report = useRefreshed(run ? runPath(run.id, "/report") : null, told_, { every: heavy, turn });
	const series = useRefreshed(run ? runPath(run.id, "/series") : null, told_, { every: heavy, turn });
	const all = usePolled(run && !running(run) ? `/v1/load/runs?limit=100&profile=${encodeURIComponent(run.profile.id)}` : null, 0);
	const base = runPage(id);
	const open = useCallback((n) => (location.hash = `${base}/executions/${n}`), [base]);
	const close = useCallback(() => (location.hash = base), [base]);
	useEffect(() => {
		document.title = run ? `${running(run) ? `${Math.floor((100 * progress.recorded) / Math.max(1, run.total))} % · ` : ""}${run.profile.name || run.profile.id} · Braid` : "Load run · Braid";
	}, [run?.state, told_]);
	// What follows from the report alone is made anew only with it: the run's state comes four times a second.
	const names = useMemo(() => chartNames(report.data), [report.data]);
	const thresholds = useMemo(() => report.data && html`<${Thresholds} report=${report.data} names=${names} />`, [report.data]);
	const numbers = useMemo(() => report.data && html`<${ByChart} report=${report.data} /><${ByRole} report=${report.data} /><${Findings} report=${report.data} names=${names} />`, [report.data]);
	const overTime = useMemo(() => html`<${OverTime} series=${series.data} live=${run ? running(run) : false} />`, [series.data, run?.state]);
	if (!status) {
		if (!error) return html`<h1>Load run</h1><${Loading} what="Reading the load run" />`;
		return error instanceof Refused && error.status === 404
			? html`<h1>No such load run</h1><${Empty} title=${`There is no load run ${id}.`}><p>It may have been removed, or the address is not whole. <a href="#/load">Look at the load runs</a>, or ask in a terminal:</p><p><${Command} line=${`braid load list --server ${location.origin}`} /></p><//>`
			: html`<h1>Load run</h1><${ErrorBox} error=${error} doing=${`show the load run ${id}`} />`;
	}
	const name = run.profile.name || run.profile.id;
	if (gone) return html`<h1>${name}</h1><${Empty} title="The server has this load run no more."><p><a href="#/load">Look at the load runs</a></p><//>`;
	const others = (all.data?.runs ?? []).map((s) => s.run).filter((r) => r.id !== run.id && r.profile.id === run.profile.id && !running(r) && r.created < run.created).slice(0, 30);
	return html`<article data-run=${run.id} data-state=${run.state} data-ending=${run.ending}>
		<p class="crumbs"><a href="#/load">Load runs</a></p>
		<div class="title"><h1>${name} <${RunState} run=${run} />${!running(run) && html` <${Verdict} verdict=${run.verdict} />`}</h1><${Actions} run=${run} may=${may} others=${others} /></div>
		<p class="about"><${Class} name=${run.capacity.class} /> ${run.environment} · dashboard ${run.profile.dashboard} · <a href=${profilePage(run.profile.id)}>revision ${run.profile.revision} of the profile</a>${run.owner && ` · ${run.owner}${run.team ? ` (${run.team})` : ""}`} · started <${Time} at=${run.created} now=${now} /> · <code class="id">${run.id}</code></p>
		<${Announce} run=${run} />
		<${ErrorBox} error=${told(error)} doing="follow the run" />
		${run.profile.force && html`<div class="box warning"><strong>Forced.</strong> <span>Every request goes past the cache and rewrites it for everybody.</span></div>`}
		<${Why} run=${run} now=${now} />
		<${Numbers} run=${run} progress=${progress} now=${now} />
		${thresholds}
		<${Diagnostics} list=${report.data?.diagnostics ?? progress.diagnostics} names=${names} />
		<div class="halves"><${Outcomes} p=${progress} /><${Breaker} breaker=${progress.breaker ?? report.data?.breaker} rules=${run.profile.breaker} /></div>
		${overTime}
		<${Waits} summary=${progress.waits} recent=${running(run) ? progress.recent : null} />
		<${ErrorBox} error=${told(report.error)} doing="read the report" />
		${!report.data && !report.error && html`<${Loading} what="Reading what was recorded" />`}
		${numbers}
		<${Executions} run=${run} revision=${told_} turn=${turn} names=${names} roles=${[...new Set((report.data?.by_role ?? []).map((g) => g.role).filter(Boolean))]} onOpen=${open} />
		${number !== undefined && html`<${Execution} run=${run} number=${number} names=${names} onClose=${close} />`}
		${run.approval && html`<section class="panel" aria-labelledby="approval-title"><h2 id="approval-title">Approved</h2><p>By ${run.approval.by}, <${Time} at=${run.approval.at} now=${now} />: ${run.approval.reason}</p></section>`}
		<p class="muted small">Selection <code>${(run.selection ?? "").slice(0, 16)}…</code>, ${count(run.selected)} of ${run.theoretical_count} variations × ${count(run.charts)} charts; blast radius <code>${(run.blast_radius_fingerprint ?? "").slice(0, 24)}…</code></p></article>`;
}
