// The table of chunks, and all that is known of one.
import { html, useLayoutEffect, useRef, useState } from "./dom.js";
import { queryPath } from "./api.js";
import { usePolled, useRefreshed } from "./live.js";
import { bytes, count, milliseconds, plural } from "./format.js";
import { chunkStates, chunkWord } from "./states.js";
import { Empty, ErrorBox, Fact, Loading, Time, told } from "./parts.js";

// How many rows the table has: each press of a button shows more of them, all of them live, and then the next ones.
const sizes = [25, 100, 250];

export const ChunkState = ({ state }) => html`<span class="chunk-state ${state.replace("_", "-")}">${chunkWord(state)}</span>`;

export function Chunks({ id, revision, turn, onOpen }) {
	const [state, setState] = useState("");
	const [from, setFrom] = useState("");
	const [size, setSize] = useState(0);
	const input = useRef(null);
	const filter = `${state && `&state=${state}`}${from && `&from=${encodeURIComponent(from)}`}`;
	const { data, error } = useRefreshed(queryPath(id, `/chunks?limit=${sizes[size]}${filter}`), revision, { every: 2000, turn });
	const shown = data?.chunks ?? [];
	const largest = size === sizes.length - 1;
	const more = () => {
		if (!largest) {
			setSize(size + 1);
			return;
		}
		setFrom(data.next);
		input.current.value = data.next;
		input.current.focus();
	};
	return html`<section class="panel" aria-labelledby="chunks-title"><div class="panel-title"><h2 id="chunks-title">Chunks</h2>
		<form class="filters" onSubmit=${(e) => { e.preventDefault(); setFrom(new FormData(e.target).get("from").trim()); }}>
			<label>State <select value=${state} onChange=${(e) => { setState(e.target.value); setSize(0); }}><option value="">all</option>${chunkStates.map((s) => html`<option value=${s.name}>${s.word}</option>`)}</select></label>
			<label>From position <input ref=${input} name="from" inputmode="decimal" pattern="[0-9]+(\\.[01])*" size="9" placeholder="0" /></label><button type="submit">Show from there</button></form></div>
		<${ErrorBox} error=${told(error)} doing="list the chunks" />
		${!data && !error && html`<${Loading} what="Reading the chunks" />`}
		${data && shown.length === 0 && html`<${Empty} title=${state ? `No chunk is ${chunkWord(state)}${from && ` from position ${from} on`}.` : "There is no chunk here."} />`}
		${shown.length > 0 && html`<div class="scroll"><table class="chunks"><caption class="hidden">Chunks in the order of their positions</caption>
			<thead><tr><th scope="col">Position</th><th scope="col">State</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Pages</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Size</th><th scope="col" class="number">Upstream</th><th scope="col">Worker</th><th scope="col">Finished</th></tr></thead>
			<tbody>${shown.map((c) => html`<tr key=${c.position} data-position=${c.position} data-state=${c.state}><th scope="row"><button type="button" class="link" onClick=${() => onOpen(c.position)} aria-label=${`Chunk ${c.position}`}>${c.position}</button></th>
				<td><${ChunkState} state=${c.state} />${c.class && html` <small>${c.class}</small>`}</td><td class="number">${result(c) ? count(c.rows) : "–"}</td><td class="number">${result(c) ? count(c.pages) : "–"}</td><td class="number">${c.requests ? count(c.requests) : "–"}</td>
				<td class="number">${result(c) ? bytes(c.bytes) : "–"}</td><td class="number">${milliseconds(c.upstream_ns)}</td><td>${c.worker || "–"}</td><td><${Time} at=${c.finished} /></td></tr>`)}</tbody></table></div>`}
		${data?.next && html`<p><button type="button" onClick=${more}>${largest ? "Show the next ones" : "Show more"}</button></p>`}</section>`;
}

const result = (chunk) => chunk.state === "done" || chunk.state === "empty";

// Chunk is the dialog with all that is known of one position.
export function Chunk({ id, position, live, onClose, onOpen }) {
	const dialog = useRef(null);
	const { data, error } = usePolled(queryPath(id, `/chunks/${encodeURIComponent(position)}`), live ? 2000 : 0);
	useLayoutEffect(() => {
		const before = document.activeElement;
		dialog.current.showModal();
		return () => before?.isConnected && before.focus();
	}, []);
	const onClick = (event) => event.target === dialog.current && onClose();
	return html`<dialog ref=${dialog} class="chunk" aria-labelledby="chunk-title" onCancel=${(e) => { e.preventDefault(); onClose(); }} onClick=${onClick}>
		<div class="dialog-body"><div class="panel-title"><h2 id="chunk-title">Chunk ${position}</h2>${data && html`<${ChunkState} state=${data.state} />`}<button type="button" class="close" onClick=${onClose} aria-label="Close">✕</button></div>
		${error && html`<${ErrorBox} error=${error} doing=${`show chunk ${position}`} />`}
		${!data && !error && html`<${Loading} what="Reading the chunk" />`}
		${data && html`<${ChunkBody} chunk=${data} onOpen=${onOpen} />`}</div></dialog>`;
}

const mostFailed = 10;

// FailedList names chunks that failed: why, and what to do.
export function FailedList({ list, onOpen }) {
	return html`<ol class="failed-list">${list.slice(0, mostFailed).map((f) => html`<li key=${f.position} data-failed=${f.position}><button type="button" class="link" onClick=${() => onOpen(f.position)}>Chunk ${f.position}</button> <strong>${f.class}${f.status ? ` · HTTP ${f.status}` : ""}</strong> <small><${Time} at=${f.at} /></small>
		<p>${f.message}</p>${f.hint && html`<p class="hint">${f.hint}</p>`}${f.asks && !f.hint?.includes(f.asks) && html`<p class="muted asked">It asks for ${f.asks}</p>`}</li>`)}</ol>
		${list.length > mostFailed && html`<p class="muted">and ${count(list.length - mostFailed)} more: the table of chunks shows those of the state failed</p>`}`;
}

function ChunkBody({ chunk, onOpen }) {
	const { failure, children } = chunk;
	const [attempts, pages, interruptions] = [chunk.attempts ?? [], chunk.stored_pages ?? [], chunk.interruptions ?? []];
	return html`${failure && html`<div class="box error"><strong>${failure.class}${failure.status ? ` · HTTP ${failure.status}` : ""}.</strong> <span>${failure.message}</span>${failure.hint && html`<span class="hint">${failure.hint}</span>`}</div>`}
		<dl class="facts small"><${Fact} name="rows">${count(chunk.rows)}<//><${Fact} name="pages">${count(chunk.pages)}<//><${Fact} name="requests">${count(chunk.requests)}<//><${Fact} name="size">${bytes(chunk.bytes)}<//>
			<${Fact} name="upstream">${milliseconds(chunk.upstream_ns)}<//><${Fact} name="wait for a slot">${milliseconds(chunk.slot_wait_ns)}<//>${chunk.run > 0 && html`<${Fact} name="run">${chunk.run}<//>`}${chunk.worker && html`<${Fact} name="worker">${chunk.worker}<//>`}${chunk.finished && html`<${Fact} name="finished"><${Time} at=${chunk.finished} /><//>`}</dl>
		${chunk.asks && html`<h3>Asks for</h3><pre class="asks" tabindex="0">${chunk.asks}</pre>`}
		${chunk.url && html`<h3>First request</h3><pre class="url" tabindex="0">${chunk.url}</pre>`}
		${children?.length > 0 && html`<h3>Split into</h3><p>${children.map((c) => html`<button type="button" class="link" onClick=${() => onOpen(c)}>${c}</button> `)}</p>`}
		<h3>Attempts</h3>
		${attempts.length === 0 ? html`<p class="muted">${chunk.state === "pending" ? "It has not been begun." : "No worker has told of a request yet."}</p>` : html`<div class="scroll"><table><caption class="hidden">Requests, the oldest first</caption><thead><tr><th scope="col">Sent</th><th scope="col" class="number">Page</th><th scope="col" class="number">Try</th><th scope="col">Answer</th><th scope="col" class="number">Latency</th><th scope="col" class="number">Slot wait</th><th scope="col" class="number">Size</th><th scope="col">Attempt</th></tr></thead>
			<tbody>${attempts.map((a) => html`<tr><td><${Time} at=${a.sent} /></td><td class="number">${count(a.page + 1)}</td><td class="number">${count(a.try)}</td><td>${a.status ? `${a.status} ` : ""}${a.class}</td><td class="number">${milliseconds(a.upstream_ns)}</td><td class="number">${milliseconds(a.slot_wait_ns)}</td><td class="number">${bytes(a.bytes)}</td><td><small>${a.attempt}</small></td></tr>`)}</tbody></table></div>`}
		<h3>Stored pages</h3>
		${pages.length === 0 ? html`<p class="muted">None is stored by itself.</p>` : html`<div class="scroll"><table><caption class="hidden">Stored pages in order</caption><thead><tr><th scope="col" class="number">Page</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Size</th><th scope="col" class="number">Status</th><th scope="col" class="number">Tries</th><th scope="col" class="number">Latency</th><th scope="col">Fetched</th></tr></thead>
			<tbody>${pages.map((p) => html`<tr><td class="number">${count(p.page + 1)}</td><td class="number">${count(p.rows)}</td><td class="number">${bytes(p.bytes)}</td><td class="number">${p.request?.status || "–"}</td><td class="number">${p.request?.tries ?? "–"}</td><td class="number">${milliseconds(p.request?.upstream_ns)}</td><td><${Time} at=${p.at ?? p.request?.sent} /></td></tr>`)}</tbody></table></div>`}
		${interruptions.length > 0 && html`<h3>${plural(interruptions.length, "interruption")}</h3><${Interruptions} list=${interruptions} />`}`;
}

export function Interruptions({ list }) {
	return html`<div class="scroll"><table class="interruptions"><caption class="hidden">Interruptions</caption><thead><tr><th scope="col">When</th><th scope="col">Position</th><th scope="col">Kind</th><th scope="col">Reason</th><th scope="col">Goes on</th><th scope="col">Worker</th></tr></thead>
		<tbody>${list.map((i) => html`<tr><td><${Time} at=${i.at} /></td><td>${i.position}</td><td>${i.kind.replace("_", " ")}${i.status ? html` <small>HTTP ${i.status}</small>` : ""}</td><td class="text">${i.reason}</td><td><${Time} at=${i.until} /></td><td>${i.worker}</td></tr>`)}</tbody></table></div>`;
}
