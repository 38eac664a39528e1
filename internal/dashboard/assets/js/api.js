// Requests to the server that the page came from.

// Refused is an answer of the server that is no success, in the words of its problem document.
export class Refused extends Error {
	constructor(status, problem) {
		super(problem.detail || problem.title || `The server answered ${status}`);
		this.status = status;
		this.problem = problem;
		this.title = problem.title || `HTTP ${status}`;
		this.kind = (problem.type || "").split("/").pop();
		this.fields = Array.isArray(problem.errors) ? problem.errors : [];
	}
}

// Away means that there was no answer.
export class Away extends Error {}

const listeners = new Set();
let awaySince = null;

// onReach calls back with the time since which the server does not answer, or null when it does.
export function onReach(callback) {
	listeners.add(callback);
	callback(awaySince);
	return () => listeners.delete(callback);
}

export function reached(ok) {
	if (ok === (awaySince === null)) return;
	awaySince = ok ? null : new Date();
	for (const callback of listeners) callback(awaySince);
}

const refusedListeners = new Set();

// onUnauthenticated calls back when the server wants to know who asks.
export function onUnauthenticated(callback) {
	refusedListeners.add(callback);
	return () => refusedListeners.delete(callback);
}

// How long an answer may take; planning a large query takes its time.
const patience = 60_000;

export async function request(path, { method = "GET", body, headers = {}, signal } = {}) {
	const limit = AbortSignal.timeout(patience);
	let response;
	try {
		response = await fetch(path, {
			method, body, headers: { Accept: "application/json", ...headers }, credentials: "same-origin",
			signal: signal ? AbortSignal.any([signal, limit]) : limit,
		});
	} catch (error) {
		if (signal?.aborted) throw error;
		reached(false);
		throw new Away(error.name === "TimeoutError" ? "The server did not answer within a minute." : "The server does not answer.");
	}
	reached(true);
	if (response.ok || response.status === 304) return response;
	let problem = {};
	try {
		problem = await response.json();
	} catch {
		problem = { detail: `The server answered ${response.status} ${response.statusText} without a word of why.` };
	}
	const refused = new Refused(response.status, problem);
	if (response.status === 401) for (const callback of refusedListeners) callback(refused);
	throw refused;
}

export async function get(path, signal) {
	return (await request(path, { signal })).json();
}

// getChanged gives a resource with the tag of what it is, or null when it is still what etag says.
export async function getChanged(path, etag, signal) {
	const response = await request(path, { signal, headers: etag ? { "If-None-Match": etag } : {} });
	return response.status === 304 ? null : { data: await response.json(), etag: response.headers.get("ETag") ?? "" };
}

export async function post(path, body, headers = {}) {
	const response = await request(path, {
		method: "POST", body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
		headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
	});
	return response.status === 204 ? null : response.json();
}

export const remove = (path) => request(path, { method: "DELETE" });

export const queryPath = (id, rest = "") => `/v1/queries/${encodeURIComponent(id)}${rest}`;
