// The executions of a load run, and all that is known of one.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../dom.js";
import { get } from "../api.js";
import { usePolled, useRefreshed } from "../live.js";
import { bytes, count, duration } from "../format.js";
import { Empty, ErrorBox, Fact, Loading, Time, told } from "../parts.js";
import { CacheState, inMs, nsInMs, Outcome, outcomes, runPage, runPath, words } from "./words.js";

const firstSize = 25;
const pageSize = 100;

export function Executions({ run, revision, turn, names, roles, onOpen }) {
	const [filter, setFilter] = useState({ chart: "", role: "", outcome: "" });
	const [more, setMore] = useState({ list: [], next: undefined, error: null, busy: false });
	const query = Object.entries(filter).filter(([, v]) => v).map(([k, v]) => `&${k}=${encodeURIComponent(v)}`).join("");
	const first = useRefreshed(runPath(run.id, `/executions?limit=${firstSize}${query}`), revision, { every: 3000, turn });
	const before = useRef(query);
	useEffect(() => {
		if (before.current !== query) setMore({ list: [], next: undefined, error: null, busy: false });
		before.current = query;
	}, [query]);
	const change = (name) => (e) => setFilter((f) => ({ ...f, [name]: e.target.value }));
	const next = more.next === undefined ? first.data?.next : more.next;
	// A page may have few or none although there are more: one press goes on until there is something to show.
	const load = async () => {
		setMore((m) => ({ ...m, busy: true }));
		try {
			let [list, after] = [[], next];
			for (let i = 0; i < 20 && after !== undefined && after !== null && list.length < pageSize; i++) {
				const page = await get(runPath(run.id, `/executions?limit=${pageSize}&after=${after}${query}`));
				[list, after] = [[...list, ...(page.executions ?? [])], page.next];
			}
			setMore((m) => ({ list: [...m.list, ...list], next: after ?? null, error: null, busy: false }));
		} catch (error) {
			setMore((m) => ({ ...m, error, busy: false }));
		}
	};
	const known = new Map([...(first.data?.executions ?? []), ...more.list].map((e) => [e.number, e]));
	const shown = [...known.values()].sort((a, b) => a.number - b.number);
	return html`<section class="panel" aria-labelledby="executions-title"><div class="panel-title"><h2 id="executions-title">Executions</h2>
		<form class="filters" onSubmit=${(e) => e.preventDefault()}>
			<label>Outcome <select name="outcome" value=${filter.outcome} onChange=${change("outcome")}><option value="">all</option>${outcomes.map((o) => html`<option value=${o}>${words(o)}</option>`)}</select></label>
			<label>Chart <select name="chart" value=${filter.chart} onChange=${change("chart")}><option value="">all</option>${[...names].map(([chart, name]) => html`<option value=${chart}>${name}</option>`)}</select></label>
			${roles.length > 0 && html`<label>Role <select name="role" value=${filter.role} onChange=${change("role")}><option value="">all</option>${roles.map((r) => html`<option value=${r}>${r}</option>`)}</select></label>`}</form></div>
		<${ErrorBox} error=${told(first.error) ?? more.error} doing="list the executions" />
		${!first.data && !first.error && html`<${Loading} what="Reading the executions" />`}
		${first.data && shown.length === 0 && (next === undefined || next === null) && html`<${Empty} title=${query ? "No execution is like that." : "No execution has a record yet."} />`}
		${shown.length > 0 && html`<div class="scroll" tabindex="0"><table class="chunks executions"><caption class="hidden">Executions in the order of the plan</caption>
			<thead><tr><th scope="col" class="number">Number</th><th scope="col">Chart</th><th scope="col">Outcome</th><th scope="col">Cache</th><th scope="col" class="number">Upstream, ms</th><th scope="col" class="number">Place, ms</th><th scope="col" class="number">Queue, ms</th><th scope="col" class="number">Rows</th><th scope="col">Role</th><th scope="col">Finished</th></tr></thead>
			<tbody>${shown.map((e) => html`<tr key=${e.number} data-number=${e.number} data-outcome=${e.outcome}><th scope="row" class="number"><button type="button" class="link" onClick=${() => onOpen(e.number)} aria-label=${`Execution ${e.number}`}>${e.number}</button></th>
				<td class="text">${names.get(e.chart) ?? `chart ${e.chart}`}${e.repeat_of !== undefined && html` <small title="it sent what an earlier one had sent">repeats ${e.repeat_of}</small>`}${e.warm_up && html` <small>warm-up</small>`}</td><td><${Outcome} outcome=${e.outcome} kind=${e.kind} status=${e.status} /></td><td><${CacheState} state=${e.cache_state} />${e.async && html` <small>asynchronous</small>`}</td>
				<td class="number">${e.admitted ? inMs(nsInMs(e.waits.upstream_latency_ns)) : "–"}</td><td class="number">${inMs(nsInMs(e.waits.resource_wait_ns))}</td><td class="number">${inMs(nsInMs(e.waits.queue_wait_ns))}</td><td class="number">${e.outcome === "success" ? count(e.rows) : "–"}</td><td>${e.role || "–"}</td><td><${Time} at=${e.finished} /></td></tr>`)}</tbody></table></div>`}
		${next !== undefined && next !== null && html`<p><button type="button" disabled=${more.busy} onClick=${load}>${more.busy ? "…" : "Show more"}</button></p>`}</section>`;
}

// Execution is the drawer with all that is known of one execution.
export function Execution({ run, number, names, onClose }) {
	const dialog = useRef(null);
	const { data, error } = usePolled(runPath(run.id, `/executions/${encodeURIComponent(number)}`), 0);
	useLayoutEffect(() => {
		const before = document.activeElement;
		dialog.current.showModal();
		return () => before?.isConnected && before.focus();
	}, []);
	return html`<dialog ref=${dialog} class="chunk drawer" aria-labelledby="execution-title" onCancel=${(e) => { e.preventDefault(); onClose(); }} onClick=${(e) => e.target === dialog.current && onClose()}>
		<div class="dialog-body"><div class="panel-title"><h2 id="execution-title">Execution ${number}</h2>${data && html`<${Outcome} outcome=${data.outcome} kind=${data.kind} status=${data.status} />`}<button type="button" class="close" onClick=${onClose} aria-label="Close">✕</button></div>
		<${ErrorBox} error=${error} doing=${`show execution ${number}`} />
		${!data && !error && html`<${Loading} what="Reading the execution" />`}
		${data && html`<${Body} e=${data} run=${run} names=${names} />`}</div></dialog>`;
}

// raw shows a field of the server's as it was received: absent and null are not the same.
const raw = (v) => (v === undefined ? html`<span class="muted">absent</span>` : html`<code>${JSON.stringify(v)}</code>`);

function Body({ e, run, names }) {
	const place = e.admitted ? e.waits : { ...e.waits, upstream_latency_ns: null };
	return html`${e.message && html`<div class="box error"><strong>The service said:</strong> <span>${e.message}</span></div>`}
		${e.filter_rejected?.length > 0 && html`<div class="box warning"><strong>Filters not applied:</strong> <span>${e.filter_rejected.join(", ")}</span></div>`}
		<dl class="facts small"><${Fact} name="chart">${names.get(e.chart) ?? `chart ${e.chart}`}<//><${Fact} name="role">${e.role || "the environment's first"}<//>${e.time_range && html`<${Fact} name="time range">${e.time_range}<//>`}
			<${Fact} name="queue, ms">${inMs(nsInMs(e.waits.queue_wait_ns))}<//><${Fact} name="place, ms">${inMs(nsInMs(e.waits.resource_wait_ns))}<//><${Fact} name="upstream, ms">${inMs(nsInMs(place.upstream_latency_ns))}<//>
			${e.from_intended_ns !== undefined && html`<${Fact} name="from intended, ms">${inMs(nsInMs(e.from_intended_ns))}<//>`}
			<${Fact} name="rows">${count(e.rows)}<//><${Fact} name="body">${bytes(e.body_bytes)} <small>${bytes(e.wire_bytes)} on the wire</small><//><${Fact} name="requests">${count(e.requests)}${e.polls > 0 && html` <small>and ${count(e.polls)} polls</small>`}<//>
			<${Fact} name="attempt">${count(e.attempt)}<//><${Fact} name="worker">${e.worker}<//><${Fact} name="admitted"><${Time} at=${e.admitted} /><//><${Fact} name="finished"><${Time} at=${e.finished} /><//>
			<${Fact} name="reader lag">${duration(e.reader_lag_ns / 1e9)}<//><${Fact} name="clock">${e.clock?.source} <small>off by ${inMs(nsInMs(e.clock?.offset_ns))} ± ${inMs(nsInMs(e.clock?.within_ns))} ms</small><//></dl>
		${e.repeat_of !== undefined && html`<p>It sent what <a href=${`${runPage(run.id)}/executions/${e.repeat_of}`}>execution ${e.repeat_of}</a> had sent: a hit is made by the run itself.</p>`}
		${e.outcome === "success" && html`<h3>Cache <${CacheState} state=${e.cache_state} />${e.request_force && html` <small>forced</small>`}</h3>
			<div class="scroll" tabindex="0"><table><caption class="hidden">What the server told of its cache, for each query object, as received</caption><thead><tr><th scope="col" class="number">Query</th><th scope="col">State</th><th scope="col">is_cached</th><th scope="col">cached_dttm</th><th scope="col">queried_dttm</th><th scope="col">cache_timeout</th><th scope="col">cache_key</th><th scope="col" class="number">Rows</th></tr></thead>
			<tbody>${(e.queries ?? []).map((q, i) => html`<tr><td class="number">${i}</td><td><${CacheState} state=${q.state} />${q.reason && html`<small>${words(q.reason)}</small>`}</td><td>${raw(q.is_cached)}</td><td>${raw(q.cached_dttm)}</td><td>${raw(q.queried_dttm)}</td><td>${raw(q.cache_timeout)}</td><td>${raw(q.cache_key)}</td><td class="number">${count(q.rows)}</td></tr>`)}</tbody></table></div>`}
		<h3>Digests</h3><dl class="digests"><dt>variation</dt><dd><code>${e.variation_id}</code></dd><dt>filters</dt><dd><code>${e.filters_hash}</code></dd>${e.body_sha256 && html`<dt>body</dt><dd><code>${e.body_sha256}</code></dd>`}${e.data_sha256 && html`<dt>data</dt><dd><code>${e.data_sha256}</code></dd>`}${e.row_set_sha256 && html`<dt>row set</dt><dd><code>${e.row_set_sha256}</code></dd>`}</dl>
		${e.sample !== undefined && html`<h3>First rows${e.sample_truncated && html` <small>cut</small>`}</h3><${Sample} rows=${e.sample} />`}`;
}

const mostColumns = 30;

function Sample({ rows }) {
	if (!Array.isArray(rows) || rows.length === 0) return html`<p class="muted">None.</p>`;
	if (!rows.every((r) => r && typeof r === "object" && !Array.isArray(r))) return html`<pre tabindex="0">${rows.map((r) => JSON.stringify(r)).join("\n")}</pre>`;
	const columns = [...new Set(rows.flatMap((r) => Object.keys(r)))];
	const cell = (r, c) => (!Object.hasOwn(r, c) ? html`<td></td>` : r[c] === null ? html`<td class="null">null</td>` : html`<td>${typeof r[c] === "string" ? r[c] : JSON.stringify(r[c])}</td>`);
	return html`<div class="scroll tall" tabindex="0"><table class="preview"><caption class="hidden">First rows of the first query</caption><thead><tr>${columns.slice(0, mostColumns).map((c) => html`<th scope="col">${c}</th>`)}${columns.length > mostColumns && html`<th scope="col">and ${count(columns.length - mostColumns)} more</th>`}</tr></thead>
		<tbody>${rows.map((r) => html`<tr>${columns.slice(0, mostColumns).map((c) => cell(r, c))}</tr>`)}</tbody></table></div>`;
}
