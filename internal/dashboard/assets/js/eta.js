// How long a query still takes, from what this page has seen of it: by the rule of the command line. The rate is that of requests over the
// last minute of work, pauses left out; what is left is reckoned by the pages that complete chunks had. Where the quota ends before the query
// does, nothing is told: how long it will pause is not known.
import { duration } from "./format.js";
import { resumeAt, resumesByItself } from "./states.js";

const horizon = 60_000; // milliseconds of work
const step = 1000; // between two measurements that are kept
const least = 3000; // a rate of less is not known

const alone = (progress) => progress.workers?.present === 0 && progress.waiting > 0;

// requestsLeft is null before the first chunk is complete.
function requestsLeft(query, progress) {
	if (!progress || !progress.completed || !progress.pages) return null;
	const chunks = query.chunks - progress.completed;
	const pages = Math.ceil((chunks * progress.pages) / progress.completed);
	return Math.max(pages - (progress.kept_pages ?? 0), Math.min(chunks, 1));
}

// quotaIsShort tells whether a pool has not what the query still needs.
export function quotaIsShort(query, progress) {
	const requests = requestsLeft(query, progress);
	if (requests === null) return false;
	const pools = (progress.quotas ?? []).filter((q) => q.limit > 0);
	return pools.some((q) => requests > (resumesByItself(query) ? q.limit : q.remaining));
}

// Pace keeps what was seen of one query.
export class Pace {
	constructor(run = 0) {
		this.run = run;
		this.seen = []; // requests after so much time of work, the oldest first
		this.worked = 0;
		this.last = 0;
		this.ran = false;
	}

	add(query, progress, at = Date.now()) {
		if (!progress) return;
		if (query.run !== this.run) Object.assign(this, new Pace(query.run)); // what another run did says nothing of this one
		if (this.ran && at > this.last) this.worked += at - this.last;
		this.last = at;
		this.ran = query.state === "running" && !alone(progress);
		const newest = this.seen[this.seen.length - 1];
		if (newest && this.worked - newest.worked < step) return;
		this.seen.push({ worked: this.worked, requests: progress.requests });
		while (this.seen.length > 2 && this.worked - this.seen[1].worked >= horizon) this.seen.shift();
	}

	// left is the seconds until the query is complete, the wait that it is in included; null: that cannot be told.
	left(query, progress, now = Date.now()) {
		const requests = requestsLeft(query, progress);
		if (requests === null || this.seen.length === 0 || query.run !== this.run || quotaIsShort(query, progress)) return null;
		const waits = resumesByItself(query);
		if (!waits && (query.state !== "running" || alone(progress))) return null;
		// What has passed since the last news counts: the estimate grows while nothing comes.
		const worked = this.worked + (this.ran ? Math.max(0, now - this.last) : 0) - this.seen[0].worked;
		const made = progress.requests - this.seen[0].requests;
		if (worked < least || made < 2) return null;
		return ((waits ? Math.max(0, resumeAt(query) - now) : 0) + (requests * worked) / made) / 1000;
	}
}

// leftWords is a time to come, as exact as it can be meant.
export function leftWords(seconds) {
	if (seconds < 10) return "a few seconds";
	const exact = seconds < 60 ? 5 : seconds < 600 ? 10 : seconds < 7200 ? 60 : 3600;
	return `about ${duration(Math.round(seconds / exact) * exact)}`;
}
