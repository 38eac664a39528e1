// The list of load runs.
import { html, useEffect, useMemo, useState } from "../dom.js";
import { get } from "../api.js";
import { useNow, usePolled } from "../live.js";
import { count } from "../format.js";
import { Command, Empty, ErrorBox, Loading, Progress, Time, told } from "../parts.js";
import { Class, comparePage, inMs, nsInMs, running, runPage, RunState, runWord, Verdict } from "./words.js";

const every = 2000;
const pageSize = 100;

// Tabs are the pages about load.
export function Tabs({ at }) {
	const tab = (to, name) => html`<a href=${to} aria-current=${at === to ? "page" : undefined}>${name}</a>`;
	return html`<nav class="tabs" aria-label="Load runs">${tab("#/load", "Runs")}${tab("#/load/profiles", "Profiles and environments")}</nav>`;
}

// ended counts the executions of which nothing more is to be heard.
const ended = (p) => (p ? p.recorded + p.not_dispatched : 0);

function Row({ status, now, chosen, onChoose }) {
	const { run, progress } = status;
	const bad = (progress?.errors ?? 0) + (progress?.timeouts ?? 0);
	return html`<tr data-run=${run.id} data-state=${run.state}>
		<td class="choose"><input type="checkbox" checked=${chosen} onChange=${onChoose} aria-label=${`Choose ${run.profile.name} ${run.id} to compare`} /></td>
		<th scope="row" class="name"><a href=${runPage(run.id)}>${run.profile.name || run.profile.id}</a><small>${run.environment} · ${run.id}</small></th>
		<td data-label="Environment"><${Class} name=${run.capacity.class} /></td>
		<td data-label="State"><${RunState} run=${run} /></td>
		<td data-label="Verdict"><${Verdict} verdict=${run.verdict || (running(run) ? "pending" : "none")} /></td>
		<td data-label="Executions" class="wide"><${Progress} completed=${ended(progress) - bad} failed=${bad} total=${run.total} label=${`Executions of ${run.id}`} what="executions" />
			<small class="numbers">${count(ended(progress))} / ${count(run.total)}${bad > 0 && html` <span class="bad">${count(bad)} failed</span>`}</small></td>
		<td data-label="p95, ms" class="number" title=${`of ${count(progress?.waits?.upstream_latency?.sample_count ?? 0)} successes, all cache states together`}>${inMs(nsInMs(progress?.waits?.upstream_latency?.p95_ns))}</td>
		<td data-label="Started"><${Time} at=${run.created} now=${now} relative />${run.owner && html`<small>${run.owner}${run.team && ` · ${run.team}`}</small>`}</td>
	</tr>`;
}

// useRuns keeps the newest runs up to date, with the older ones that were asked for.
function useRuns() {
	const { data, error } = usePolled(`/v1/load/runs?limit=${pageSize}`, every);
	const [older, setOlder] = useState({ runs: [], next: undefined, error: null });
	const more = async (after) => {
		try {
			const page = await get(`/v1/load/runs?limit=${pageSize}&after=${encodeURIComponent(after)}`);
			setOlder((before) => ({ runs: [...before.runs, ...(page.runs ?? [])], next: page.next ?? "", error: null }));
		} catch (failed) {
			setOlder((before) => ({ ...before, error: failed }));
		}
	};
	const runs = useMemo(() => {
		const all = new Map(older.runs.map((s) => [s.run.id, s]));
		for (const s of data?.runs ?? []) all.set(s.run.id, s);
		return [...all.values()].sort((a, b) => (a.run.created < b.run.created ? 1 : a.run.created > b.run.created ? -1 : 0));
	}, [data, older.runs]);
	return { runs, read: Boolean(data), error: error ?? older.error, next: older.next ?? data?.next, more };
}

// Chosen offers to compare two runs, the earlier one as the base.
function Chosen({ runs, onClear }) {
	if (runs.length === 0) return html`<span class="muted">Choose two runs to compare them.</span>`;
	const [base, run] = [...runs].sort((a, b) => (a.run.created < b.run.created ? -1 : 1));
	return html`${run ? html`<a class="button primary" href=${comparePage(base.run.id, run.run.id)}>Compare the two</a>` : html`<span class="muted">Choose one more.</span>`} <button type="button" onClick=${onClear}>Clear</button>`;
}

export function LoadRuns() {
	const { runs, read, error, next, more } = useRuns();
	const [text, setText] = useState("");
	const [chosen, setChosen] = useState([]);
	const now = useNow();
	useEffect(() => {
		document.title = "Load runs · Braid";
	}, []);
	const shown = useMemo(() => {
		const wanted = text.trim().toLowerCase();
		return runs.filter(({ run }) => !wanted || [run.profile.name, run.profile.id, run.id, run.environment, run.owner, run.capacity.class, runWord(run)].some((t) => t?.toLowerCase().includes(wanted)));
	}, [runs, text]);
	const choose = (id) => setChosen((before) => (before.includes(id) ? before.filter((c) => c !== id) : [...before, id].slice(-2)));
	return html`<div class="title"><h1>Load runs</h1><a class="button primary" href="#/load/profiles">Start one</a></div><${Tabs} at="#/load" />
		<${ErrorBox} error=${read ? told(error) : error} doing="list the load runs" />
		${!read && !error && html`<${Loading} what="Reading the load runs" />`}
		${read && runs.length === 0 && html`<${Empty} title="There are no load runs yet."><p>A run starts from a <a href="#/load/profiles">profile</a>. From a terminal:</p><p><${Command} line=${`braid load run PROFILE --server ${location.origin}`} /></p><//>`}
		${runs.length > 0 && html`<form class="filters" role="search" onSubmit=${(e) => e.preventDefault()}><label>Find <input type="search" value=${text} onInput=${(e) => setText(e.target.value)} placeholder="profile, id, environment, ending" /></label>
			<span class="muted" role="status">${count(shown.length)} of ${count(runs.length)}${next ? "+" : ""}</span><span class="buttons small chosen"><${Chosen} runs=${runs.filter((s) => chosen.includes(s.run.id))} onClear=${() => setChosen([])} /></span></form>
		${shown.length === 0 ? html`<${Empty} title="No load run matches."><p><button type="button" onClick=${() => setText("")}>Show all</button></p><//>`
		: html`<table class="cards queries runs"><caption class="hidden">Load runs, the newest first</caption>
			<thead><tr><th scope="col"><span class="hidden">Choose</span></th><th scope="col">Run</th><th scope="col">Environment</th><th scope="col">State</th><th scope="col">Verdict</th><th scope="col">Executions</th><th scope="col" class="number">p95, ms</th><th scope="col">Started</th></tr></thead>
			<tbody>${shown.map((s) => html`<${Row} key=${s.run.id} status=${s} now=${now} chosen=${chosen.includes(s.run.id)} onChoose=${() => choose(s.run.id)} />`)}</tbody></table>`}
		${next && html`<p><button type="button" onClick=${() => more(next)}>Show older ones</button></p>`}`}`;
}
