// Numbers, times and sizes as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const count = (n) => (n === undefined || n === null ? "–" : whole.format(n));

export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

export function percent(part, all) {
	if (!all) return "0 %";
	const p = (100 * part) / all;
	// A query that is not complete never shows 100 %.
	return part < all && p > 99.9 ? "99.9 %" : `${tenths.format(p)} %`;
}

export function bytes(n) {
	if (n === undefined || n === null) return "–";
	let unit = 0;
	while (n >= 1000 && unit < 5) {
		n /= 1000;
		unit++;
	}
	return `${unit === 0 ? whole.format(n) : tenths.format(n)} ${["B", "kB", "MB", "GB", "TB", "PB"][unit]}`;
}

// duration tells a span of seconds by its two largest units.
export function duration(seconds) {
	if (seconds === undefined || seconds === null || !isFinite(seconds)) return "–";
	const s = Math.max(0, Math.round(seconds));
	if (seconds > 0 && seconds < 1) return `${whole.format(seconds * 1000)} ms`;
	if (s < 60) return `${s} s`;
	if (s < 3600) return two(Math.floor(s / 60), "min", s % 60, "s");
	if (s < 86400) return two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
	return two(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
}

const two = (a, unit, b, below) => (b === 0 ? `${a} ${unit}` : `${a} ${unit} ${b} ${below}`);

export const milliseconds = (ns) => (ns ? duration(ns / 1e9) : "–");

export const parseTime = (text) => {
	const at = text ? new Date(text) : null;
	return at && !isNaN(at) && at.getFullYear() > 1 ? at : null;
};

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" });
const dated = new Intl.DateTimeFormat("en-GB", {
	year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
});

// moment is a time in the reader's own zone, with its day unless that is today.
export function moment(at, now = new Date()) {
	return at.toDateString() === now.toDateString() ? clock.format(at) : dated.format(at);
}

export function ago(at, now) {
	const seconds = (now - at) / 1000;
	return seconds < 2 ? "now" : `${duration(seconds)} ago`;
}

// queryTitle names a query in a sentence.
export const shortID = (id) => (id.length > 13 ? id.slice(0, 13) + "…" : id);
