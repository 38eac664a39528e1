// Small parts that several pages share.
import { html, useLayoutEffect, useRef, useState } from "./dom.js";
import { Away, Refused } from "./api.js";
import { ago, count, duration, moment, parseTime, percent } from "./format.js";
import { stateMark } from "./states.js";

export const State = ({ state }) => html`<span class="state ${state}"><span aria-hidden="true">${stateMark[state] ?? "?"}</span> ${state}</span>`;

// Time shows an instant in the reader's zone, with UTC beside the pointer.
export function Time({ at, now, relative = false }) {
	const date = at instanceof Date ? at : parseTime(at);
	if (!date) return html`<span>–</span>`;
	return html`<time datetime=${date.toISOString()} title=${date.toISOString().replace("T", " ").replace(/\.\d+Z/, "") + " UTC"}>
		${relative ? ago(date, now ?? new Date()) : moment(date, now)}</time>`;
}

// Countdown says how long until a time.
export function Countdown({ to, now, over = "now" }) {
	const left = Math.ceil((to - now) / 1000);
	return html`<span class="countdown">${left > 0 ? `in ${duration(left)}` : over}</span>`;
}

export function Progress({ completed, failed = 0, total, label, what = "chunks" }) {
	const done = total ? (100 * completed) / total : 0;
	const bad = total ? (100 * failed) / total : 0;
	return html`<div class="progress" role="progressbar" aria-valuemin="0" aria-valuemax=${total} aria-valuenow=${completed}
		aria-label=${label} aria-valuetext=${`${count(completed)} of ${count(total)} ${what}`}>
		<div class="bar done" style=${{ width: `${done}%` }}></div>
		<div class="bar failed" style=${{ left: `${done}%`, width: `${bad}%` }}></div>
	</div>`;
}

export const Share = ({ completed, total }) => html`<span class="share">${percent(completed, total)}</span>`;

// Fact is one number with its name.
export const Fact = ({ name, children, note }) => html`<div class="fact"><dt>${name}</dt><dd>${children}${note && html` <small class="note">${note}</small>`}</dd></div>`;

// ErrorBox tells in words what went wrong and what to do.
export function ErrorBox({ error, doing, children }) {
	if (!error) return null;
	let title = `Could not ${doing}`;
	let hint = "";
	if (error instanceof Away) {
		hint = "The page asks again by itself.";
	} else if (error instanceof Refused) {
		if (error.status === 401) hint = "Log in with a token of this server.";
		else if (error.status === 403) hint = "Your token does not allow this; ask whoever runs the server for one that does.";
		else if (error.kind === "no-route") hint = "This server is of another version than the page: it does not know this yet.";
		else if (error.title && error.title !== error.message) title = `${title}: ${error.title.toLowerCase()}`;
	}
	return html`<div class="box error" role="alert"><strong>${title}.</strong> ${!children && html`<span>${error.message}</span>`} ${hint && html`<span class="hint">${hint}</span>`}
		${error.fields?.length > 0 && !children && html`<ul>${error.fields.map((f) => html`<li>${f.location && html`<code>${f.location}</code>: `}${f.message}</li>`)}</ul>`}
		${children}</div>`;
}

// told leaves out what the banner says already.
export const told = (error) => (error instanceof Away ? null : error);

// Empty says what to do where there is nothing yet.
export const Empty = ({ title, children }) => html`<div class="box empty"><strong>${title}</strong>${children}</div>`;

export const Loading = ({ what }) => html`<p class="loading" role="status">${what} …</p>`;

// Command is a line for a terminal.
export function Command({ line }) {
	const [copied, set] = useState(false);
	const copy = async () => {
		try {
			await navigator.clipboard.writeText(line);
			set(true);
		} catch {
			// the line can be selected by hand
		}
	};
	return html`<span class="command"><code tabindex="0">${line}</code>${navigator.clipboard && html`<button type="button" class="quiet" onClick=${copy}
		aria-label=${`Copy the command ${line}`}>${copied ? "copied" : "copy"}</button>`}</span>`;
}

// Confirm asks before something that cannot be taken back. The browser keeps the focus inside, and Escape closes it.
export function Confirm({ title, text, verb, onYes, onNo }) {
	const dialog = useRef(null);
	useLayoutEffect(() => {
		const before = document.activeElement;
		dialog.current.showModal();
		return () => before?.focus?.();
	}, []);
	return html`<dialog ref=${dialog} class="confirm" aria-labelledby="confirm-title" onCancel=${(e) => { e.preventDefault(); onNo(); }}>
		<h2 id="confirm-title">${title}</h2><p>${text}</p>
		<div class="buttons"><button type="button" autofocus onClick=${onNo}>Leave it</button><button type="button" class="danger" onClick=${onYes}>${verb}</button></div>
	</dialog>`;
}

// Quota is what is left of a pool, as a bar: the part that is held back is hatched.
export function QuotaBar({ left, limit, heldBack = 0, label, plain = false }) {
	const part = limit ? Math.max(0, Math.min(100, (100 * left) / limit)) : 0;
	const held = limit ? Math.max(0, Math.min(part, (100 * heldBack) / limit)) : 0;
	return html`<div class="quota-bar" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax=${limit} aria-valuenow=${left}>
		<div class="left ${plain ? "plain" : part < 10 ? "low" : ""}" style=${{ width: `${part}%` }}></div><div class="held" style=${{ width: `${held}%` }}></div></div>`;
}
