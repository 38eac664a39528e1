// The list of queries.
import { html, useEffect, useMemo, useRef, useState } from "./dom.js";
import { get } from "./api.js";
import { follow, useNow } from "./live.js";
import { count } from "./format.js";
import { leftWords, Pace, quotaIsShort } from "./eta.js";
import { active, queryStates, resumeAt, resumesByItself, stopTitle } from "./states.js";
import { Command, Countdown, Empty, ErrorBox, Loading, Progress, QuotaBar, Share, State, Time, told } from "./parts.js";

const pageSize = 100;

const listed = (page) => ({ queries: page.queries ?? [], next: page.next || null });

// useQueries keeps the newest queries, live.
function useQueries() {
	const [state, set] = useState({ list: null, next: null, error: null });
	const paces = useRef(new Map());
	useEffect(() => {
		const put = (statuses, next) => {
			for (const s of statuses) {
				if (!paces.current.has(s.query.id)) paces.current.set(s.query.id, new Pace());
				paces.current.get(s.query.id).add(s.query, s.progress);
			}
			set((before) => ({ list: merge(before.list ?? [], statuses), next: next === undefined ? before.next : next, error: null }));
		};
		const heard = new Set();
		const first = async () => {
			heard.clear();
			const page = await get(`/v1/queries?limit=${pageSize}`).then(listed).catch((error) => {
				// A server of before knows no pages of the list.
				if (error.status === 422) return get("/v1/queries").then(listed);
				throw error;
			});
			// What is no longer in the list has been removed, as far as the page reaches.
			const [ids, oldest] = [new Set(page.queries.map((s) => s.query.id)), page.queries.at(-1)?.query.created];
			set((before) => ({ list: (before.list ?? []).filter((s) => heard.has(s.query.id) || ids.has(s.query.id) || (page.next && s.query.created < oldest)), next: page.next, error: null }));
			put(page.queries.filter((s) => !heard.has(s.query.id)), page.next); // an event that came meanwhile is newer
		};
		first().catch((error) => set((before) => ({ ...before, error })));
		return follow("/v1/events", {
			onEvent: (name, data) => {
				if (name === "status") heard.add(data.query.id), put([data]);
				if (name === "removed") heard.add(data.id), set((before) => ({ ...before, list: (before.list ?? []).filter((s) => s.query.id !== data.id) }));
			},
			check: async () => {
				await first();
				return false;
			},
			onError: (error) => set((before) => ({ ...before, error })),
		});
	}, []);
	const more = async () => {
		try {
			const page = await get(`/v1/queries?limit=${pageSize}&after=${encodeURIComponent(state.next)}`).then(listed);
			set((before) => ({ list: merge(before.list ?? [], page.queries), next: page.next, error: null }));
		} catch (error) {
			set((before) => ({ ...before, error }));
		}
	};
	return { ...state, more, paces: paces.current };
}

// merge puts newer statuses over older ones; ids of queries begin with their time, so the newest sorts first.
function merge(old, fresh) {
	const all = new Map(old.map((s) => [s.query.id, s]));
	for (const s of fresh) all.set(s.query.id, s);
	return [...all.values()].sort((a, b) => (a.query.created < b.query.created ? 1 : a.query.created > b.query.created ? -1 : a.query.id < b.query.id ? 1 : -1));
}

function Doing({ status, pace, now }) {
	const { query, progress } = status;
	if (query.state === "running") {
		const left = pace?.left(query, progress, now.getTime());
		if (progress?.workers && progress.workers.present === 0 && progress.waiting > 0) return html`<span class="warn">waits for a worker</span>`;
		if (left !== null && left !== undefined) return html`<span>${leftWords(left)}</span>`;
		return html`<span class="muted">${quotaIsShort(query, progress) ? "longer than the quota lasts" : "reckoning …"}</span>`;
	}
	if (query.state === "stopping") return html`<span>drains what is in flight</span>`;
	if (query.state === "interrupted" || query.state === "failed") {
		const at = resumeAt(query);
		return html`<span title=${query.stop?.reason}>${query.stop ? stopTitle(query.stop.kind) : ""}${at && html`<br /><small>${resumesByItself(query) ? "goes on" : "may go on"} <${Countdown} to=${at} now=${now} /></small>`}</span>`;
	}
	return html`<span class="muted">ended <${Time} at=${query.updated} now=${now} relative /></span>`;
}

function Row({ status, pace, now }) {
	const { query, progress } = status;
	const quota = progress?.quotas?.[0];
	const completed = progress?.completed ?? 0;
	return html`<tr data-query=${query.id} data-state=${query.state}>
		<th scope="row" class="name"><a href=${`#/queries/${encodeURIComponent(query.id)}`}>${query.name}</a><small>${query.service} · ${query.collection}</small></th>
		<td data-label="State"><${State} state=${query.state} /></td>
		<td data-label="Progress" class="wide"><${Progress} completed=${completed} failed=${progress?.failed ?? 0} total=${query.chunks} label=${`Progress of ${query.name}`} />
			<small class="numbers"><${Share} completed=${completed} total=${query.chunks} /> · <span>${count(completed)} / ${count(query.chunks)} chunks</span>${progress?.failed > 0 && html` <span class="bad">${count(progress.failed)} failed</span>`}</small></td>
		<td data-label="Rows" class="number">${count(progress?.rows ?? 0)}</td>
		<td data-label="Left, or why it stopped"><${Doing} status=${status} pace=${pace} now=${now} /></td>
		<td data-label="Quota left">${quota ? html`<span class="number" title=${quota.pool}>${count(quota.remaining)} / ${count(quota.limit)}</span><${QuotaBar} left=${quota.remaining} limit=${quota.limit} label=${`Left of ${quota.pool}`} />` : html`<span class="muted">–</span>`}</td>
		<td data-label="Submitted"><${Time} at=${query.created} now=${now} relative />${query.owner && html`<small>${query.owner}${query.team && ` · ${query.team}`}</small>`}</td>
	</tr>`;
}

export function List() {
	const { list, next, more, error, paces } = useQueries();
	const [text, setText] = useState("");
	const [state, setState] = useState("");
	const search = useRef(null);
	const now = useNow();
	useEffect(() => {
		document.title = "Queries · Braid";
		const onKey = (e) => {
			if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || /^(input|textarea|select)$/i.test(e.target.tagName)) return;
			e.preventDefault();
			search.current?.focus();
		};
		document.addEventListener("keydown", onKey);
		return () => document.removeEventListener("keydown", onKey);
	}, []);
	const shown = useMemo(() => {
		const wanted = text.trim().toLowerCase();
		return (list ?? []).filter(({ query }) => (!state || (state === "active" ? active(query.state) : query.state === state)) &&
			(!wanted || [query.name, query.id, query.service, query.collection, query.owner, query.team].some((t) => t?.toLowerCase().includes(wanted))));
	}, [list, text, state]);
	if (!list && error) return html`<h1>Queries</h1><${ErrorBox} error=${error} doing="list the queries" />`;
	if (!list) return html`<h1>Queries</h1><${Loading} what="Reading the queries" />`;
	return html`<div class="title"><h1>Queries</h1><a class="button primary" href="#/submit">Submit a query</a></div>
		<${ErrorBox} error=${told(error)} doing="keep the list up to date" />
		${list.length === 0 ? html`<${Empty} title="There are no queries yet.">
			<p><a href="#/submit">Submit one here</a>: the form brings an example. Or from a terminal:</p>
			<p><${Command} line=${`braid submit query.yaml --server ${location.origin}`} /></p><//>`
		: html`<form class="filters" role="search" onSubmit=${(e) => e.preventDefault()}>
			<label>Find <input ref=${search} type="search" value=${text} onInput=${(e) => setText(e.target.value)} placeholder="name, id, service, owner" aria-keyshortcuts="/" /></label>
			<label>State <select value=${state} onChange=${(e) => setState(e.target.value)}><option value="">all</option><option value="active">active</option>${queryStates.map((s) => html`<option value=${s}>${s}</option>`)}</select></label>
			<span class="muted" role="status">${count(shown.length)} of ${count(list.length)}${next ? "+" : ""}</span></form>
		${shown.length === 0 ? html`<${Empty} title="No query matches."><p><button type="button" onClick=${() => { setText(""); setState(""); }}>Show all</button></p><//>`
		: html`<table class="cards queries"><caption class="hidden">Queries, the newest first</caption>
			<thead><tr><th scope="col">Query</th><th scope="col">State</th><th scope="col">Progress</th><th scope="col" class="number">Rows</th><th scope="col">Left, or why it stopped</th><th scope="col">Quota left</th><th scope="col">Submitted</th></tr></thead>
			<tbody>${shown.map((s) => html`<${Row} key=${s.query.id} status=${s} pace=${paces.get(s.query.id)} now=${now} />`)}</tbody></table>`}
		${next && html`<p><button type="button" onClick=${more}>Show older ones</button></p>`}`}`;
}
