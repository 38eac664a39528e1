// Live queries: server-sent events, and polling where the server has none or a proxy swallows them.
import { get, getChanged, reached, Refused } from "./api.js";
import { useEffect, useRef, useState } from "./dom.js";

const retryFirst = 1000;
const retryMost = 15_000;
const pollEvery = 1500;

// follow calls back with each event until stop is called. It rests while the page is hidden, so that a browser's few connections to one
// server are not held by pages that nobody sees. check asks the plain resource: what it throws tells why there are no events, and what it
// gives is true when there is nothing more to come.
export function follow(path, { onEvent, check, onError }) {
	let source = null;
	let timer = 0;
	let delay = retryFirst;
	let stopped = false;
	let ended = false;
	let lastID = "";

	const close = () => {
		source?.close();
		source = null;
		clearTimeout(timer);
	};
	const again = (wait) => {
		clearTimeout(timer);
		if (!stopped && !ended) timer = setTimeout(open, wait);
	};
	const failed = async () => {
		close();
		try {
			ended = Boolean(await check());
		} catch (error) {
			if (stopped) return;
			onError(error);
			// What the server refuses it refuses again; only one that is away, or cannot answer just now, is asked again.
			if (error instanceof Refused && error.status < 500 && error.status !== 408 && error.status !== 429) return;
			again(delay);
			delay = Math.min(2 * delay, retryMost);
			return;
		}
		if (stopped) return;
		again(pollEvery); // the resource is there: events may be missing, so what check brought is the poll
	};
	const open = () => {
		if (stopped || ended || document.hidden) return;
		close();
		source = new EventSource(lastID ? `${path}?last_event_id=${encodeURIComponent(lastID)}` : path);
		source.onopen = () => {
			delay = retryFirst;
			reached(true);
		};
		for (const name of ["status", "removed", "end"]) {
			source.addEventListener(name, (event) => {
				if (stopped) return;
				lastID = event.lastEventId || lastID;
				if (name !== "status" && !path.startsWith("/v1/events")) {
					ended = true;
					close();
				}
				onEvent(name, JSON.parse(event.data));
			});
		}
		source.onerror = () => {
			if (!stopped && !ended) failed();
		};
	};
	const onVisible = () => (document.hidden ? close() : open());
	document.addEventListener("visibilitychange", onVisible);
	open();
	return () => {
		stopped = true;
		close();
		document.removeEventListener("visibilitychange", onVisible);
	};
}

const onceMore = 2000;

// usePolled asks a resource now and every so many milliseconds while the page is seen; 0: now, and once more for what comes a moment late.
export function usePolled(path, every) {
	const [state, set] = useState({ data: null, error: null });
	const last = useRef(null);
	useEffect(() => {
		if (!path) return undefined;
		let timer = 0;
		let asking = false;
		let left = 1;
		const abort = new AbortController();
		if (last.current !== path) {
			last.current = path;
			set({ data: null, error: null });
		}
		const ask = async () => {
			clearTimeout(timer);
			if (document.hidden || asking) return;
			asking = true;
			try {
				const data = await get(path, abort.signal);
				if (!abort.signal.aborted) set({ data, error: null });
			} catch (error) {
				if (!abort.signal.aborted) set((before) => ({ data: before.data, error }));
			}
			asking = false;
			if (!abort.signal.aborted && (every > 0 || left-- > 0)) timer = setTimeout(ask, every || onceMore);
		};
		ask();
		document.addEventListener("visibilitychange", ask);
		return () => {
			abort.abort();
			clearTimeout(timer);
			document.removeEventListener("visibilitychange", ask);
		};
	}, [path, every]);
	return state;
}

// useNow is the time, each second while the page is seen and running.
export function useNow(running = true) {
	const [now, set] = useState(() => new Date());
	useEffect(() => {
		if (!running) return undefined;
		const timer = setInterval(() => !document.hidden && set(new Date()), 1000);
		return () => clearInterval(timer);
	}, [running]);
	return now;
}

const settle = 120; // milliseconds that a path stays the same before it is asked for: a view that is dragged changes often

// useRefreshed asks for a resource, and again whenever revision changes: at most once every so many milliseconds, never while the page is
// hidden, and never while it is still being asked for. A change of turn, such as of a query's state, is asked for without delay. What the
// server shows follows what it tells by a moment, so each change is asked for once more when there is no news. What another path gave
// stays until the new one has answered.
export function useRefreshed(path, revision, { every = 1000, turn = "" } = {}) {
	const [state, set] = useState({ data: null, error: null });
	const asker = useRef(null);
	useEffect(() => {
		if (!path) return undefined;
		const abort = new AbortController();
		let [timer, last, busy, urgent, owed, etag, reading] = [0, 0, false, false, 1, "", false];
		const ask = async () => {
			clearTimeout(timer);
			[busy, urgent, last] = [true, false, Date.now()];
			owed--;
			try {
				const answer = await getChanged(path, etag, abort.signal);
				if (abort.signal.aborted) return;
				if (answer) {
					({ etag, data: { reading = false } } = answer);
					set({ data: answer.data, error: null });
				} else {
					set((before) => (before.error ? { data: before.data, error: null } : before));
				}
				if (reading) owed = Math.max(owed, 1); // the server has not read all that is stored yet
			} catch (error) {
				if (abort.signal.aborted) return;
				set((before) => ({ data: before.data, error }));
				if (!(error instanceof Refused) || error.status >= 500 || error.status === 429) owed = Math.max(owed, 1);
			}
			busy = false;
			plan();
		};
		const plan = () => {
			clearTimeout(timer);
			if (owed <= 0 || busy || document.hidden || abort.signal.aborted) return;
			if (urgent) ask();
			else timer = setTimeout(ask, Math.max(last ? 0 : settle, last + every - Date.now()));
		};
		asker.current = (now) => {
			owed = 2;
			urgent ||= now;
			plan();
		};
		plan();
		document.addEventListener("visibilitychange", plan);
		return () => {
			abort.abort();
			clearTimeout(timer);
			document.removeEventListener("visibilitychange", plan);
		};
	}, [path, every]);
	const before = useRef({ revision, turn });
	useEffect(() => {
		const was = before.current;
		before.current = { revision, turn };
		if (was.turn !== turn) asker.current?.(true);
		else if (was.revision !== revision) asker.current?.(false);
	}, [revision, turn]);
	return state;
}
