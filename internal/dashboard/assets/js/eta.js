// How long a query still takes, from what this page has seen of it.

const horizon = 60_000; // rates are those of the last minute
const least = 2000;

// Pace keeps what was complete when, of one query.
export class Pace {
	constructor() {
		this.run = 0;
		this.seen = [];
	}

	add(query, progress, at = Date.now()) {
		if (query.run !== this.run || query.state !== "running") {
			this.run = query.run;
			this.seen = [];
		}
		if (query.state !== "running" || !progress) return;
		const last = this.seen[this.seen.length - 1];
		if (last && last.completed === progress.completed && this.seen.length > 1) return;
		this.seen.push({ at, completed: progress.completed, requests: progress.requests });
		while (this.seen.length > 2 && at - this.seen[0].at > horizon) this.seen.shift();
	}

	// seconds until all chunks are complete; null: that cannot be told yet.
	left(query, progress, now = Date.now()) {
		if (query.state !== "running" || this.seen.length < 2) return null;
		const first = this.seen[0];
		const last = this.seen[this.seen.length - 1];
		const chunks = last.completed - first.completed;
		// A pause since the last one counts: the estimate grows while nothing comes.
		const span = Math.max(last.at, now) - first.at;
		if (span < least || chunks <= 0) return null;
		return ((query.chunks - progress.completed) * span) / chunks / 1000;
	}
}
