// What the states of queries and positions are called, and how they look.

export const queryStates = ["running", "stopping", "interrupted", "failed", "cancelled", "complete"];

export const active = (state) => state === "running" || state === "stopping";

// mark stands before a state's word, so that colour is never all that tells them apart.
export const stateMark = { running: "▶", stopping: "■", interrupted: "‖", failed: "✕", cancelled: "⊘", complete: "✓" };

// The states of positions in the order in which a bin is filled.
export const chunkStates = [
	{ name: "failed", list: "failed", word: "failed" },
	{ name: "in_flight", list: "in_flight", word: "in flight" },
	{ name: "split", list: "split", word: "split" },
	{ name: "done", list: "done", word: "done" },
	{ name: "empty", list: "empty", word: "empty" },
	{ name: "pending", list: null, word: "pending" },
];

export const chunkWord = (name) => chunkStates.find((s) => s.name === name)?.word ?? name;

const serviceWait = 30_000;
const mostStuckRounds = 5; // messages.MaxStuckRounds

// resumeAt is when an interrupted query may go on, by the same rule as messages.Query.ResumeAt; null: waiting is not what it needs.
export function resumeAt(query) {
	const stop = query.stop;
	if (query.state !== "interrupted" || !stop) return null;
	const until = stop.until ? new Date(stop.until) : null;
	const rested = new Date(new Date(stop.at).getTime() + serviceWait);
	if (stop.kind === "service" || stop.kind === "breaker") return until && until > rested ? until : rested;
	if (until) return until;
	return stop.kind === "quota" ? rested : null;
}

// resumesByItself is messages.Query.ResumesByItself.
export function resumesByItself(query) {
	const at = resumeAt(query);
	if (!at || !(query.wait_up_to_ns > 0) || (query.stuck_rounds ?? 0) >= mostStuckRounds) return false;
	const since = new Date(query.stuck_since ?? query.stop.at);
	return (at - since) * 1e6 <= query.wait_up_to_ns;
}

// settled tells whether nothing changes any more unless somebody asks for it.
export const settled = (query) => !active(query.state) && !resumesByItself(query);

const kinds = {
	quota: "The quota is used up",
	service: "Interrupted by the service",
	store_full: "The message store is full",
	allowance: "The budget of requests is spent",
	handed_back: "The work was handed back",
	failure: "A chunk failed",
	cancelled: "It was cancelled",
	damaged: "Stored results were lost or damaged",
	drained: "The process that ran it was stopped",
	breaker: "The breaker stopped it",
	retried: "The failed chunks were run again",
	budget: "The budget of requests is spent",
};

export const stopTitle = (kind) => kinds[kind] ?? `It stopped (${kind})`;
