// The page of one query.
import { html, useCallback, useEffect, useRef, useState } from "./dom.js";
import { get, post, queryPath, Refused, remove } from "./api.js";
import { follow, useNow, useRefreshed } from "./live.js";
import { bytes, count, duration, plural } from "./format.js";
import { leftWords, Pace, quotaIsShort } from "./eta.js";
import { active, resumeAt, resumesByItself, settled, stopTitle } from "./states.js";
import { Command, Confirm, Countdown, Empty, ErrorBox, Fact, Loading, Progress, QuotaBar, Share, State, Time, told } from "./parts.js";
import { Grid } from "./grid.js";
import { Plots } from "./plots.js";
import { Chunk, Chunks, FailedList, Interruptions } from "./chunks.js";
import { Coverage, Downloads, Preview } from "./table.js";

const lookAgain = 15_000;

const gone = (error) => error instanceof Refused && error.status === 404;

// useQuery follows one query until it has settled, and looks now and then whether somebody has resumed it.
function useQuery(id) {
	const [state, set] = useState({ status: null, error: null, removed: "", times: 0 });
	const [round, setRound] = useState(0);
	const pace = useRef(new Pace());
	const put = (status) => {
		pace.current.add(status.query, status.progress);
		set((before) => ({ status, error: null, removed: "", times: before.times + 1 }));
	};
	useEffect(() => {
		let heard = 0;
		const ask = async () => {
			const before = heard;
			const status = await get(queryPath(id));
			if (heard === before) put(status); // else an event came meanwhile, which is newer
			return settled(status.query);
		};
		ask().catch((error) => set((before) => ({ ...before, error })));
		return follow(queryPath(id, "/events"), {
			onEvent: (name, data) => {
				if (name === "status") heard++, put(data);
				if (name === "removed") set((before) => ({ ...before, removed: "removed" }));
				if (name === "end") ask().catch(() => {});
			},
			check: ask,
			onError: (error) => set((before) => ({ ...before, error, removed: gone(error) && before.status ? "gone" : "" })),
		});
	}, [id, round]);
	const rests = state.status && !state.removed && settled(state.status.query);
	useEffect(() => {
		if (!rests) return undefined;
		const timer = setInterval(async () => {
			if (document.hidden) return;
			try {
				const status = await get(queryPath(id));
				if (status.query.updated === state.status.query.updated) return;
				put(status);
				if (!settled(status.query)) setRound((n) => n + 1);
			} catch (error) {
				set((before) => ({ ...before, error, removed: gone(error) ? "gone" : "" }));
			}
		}, lookAgain);
		return () => clearInterval(timer);
	}, [id, rests, state.status?.query.updated]);
	return { ...state, pace: pace.current, again: useCallback(() => setRound((n) => n + 1), []) };
}

// choices says what Resume and Retry failed do with a query, in a line each, and which of them is the one to press first: null where there
// is no choice. A retry is first where nothing else is missing, and where so much failed that a try of it all would cost.
function choices(query, progress) {
	const failed = progress?.failed ?? 0;
	if (!stopped(query) || (failed === 0 && query.state !== "failed")) return null;
	const others = Math.max(0, query.chunks - (progress?.completed ?? 0) - failed);
	const these = failed === 1 ? "the chunk that failed" : failed > 1 ? `the ${count(failed)} chunks that failed` : "what failed";
	return {
		first: others === 0 || query.stop?.kind === "breaker" ? "retry" : "resume",
		retry: `runs ${these}, and nothing else.`,
		resume: others === 0 ? "runs all that has no result; here that is the same." : `runs all that has no result: ${these} and ${plural(others, "other")}.`,
	};
}

function Choices({ of }) {
	if (!of) return null;
	const line = { retry: html`<li><strong>Retry failed</strong> ${of.retry}</li>`, resume: html`<li><strong>Resume</strong> ${of.resume}</li>` };
	return html`<ul class="choices">${of.first === "retry" ? [line.retry, line.resume] : [line.resume, line.retry]}</ul>`;
}

// Why says why the query is not running, with the evidence, and when and how it goes on.
function Why({ query, progress, now, failed, act, onOpen }) {
	const { stop } = query;
	if (!stop || query.state === "complete" || query.state === "running") return null;
	const at = resumeAt(query);
	const itself = resumesByItself(query);
	const chosen = choices(query, progress);
	const evidence = [
		stop.status ? `HTTP ${stop.status}` : "", stop.class && stop.kind === "failure" ? stop.class : "", stop.position ? `position ${stop.position}` : "",
		stop.tripped ? `${stop.tripped.failed} of the last ${stop.tripped.ended} chunks failed, ${stop.tripped.alike} of them alike; the limit is ${stop.tripped.threshold} of ${stop.tripped.window}` : "",
	].filter(Boolean);
	if (failed.length > 0 && stop.kind === "failure") {
		return html`<section class="box why ${query.state}" aria-labelledby="why-title"><h2 id="why-title">${failed.length > 1 ? `${count(failed.length)} chunks failed` : stopTitle(stop.kind)}</h2>
			<${FailedList} list=${failed} onOpen=${onOpen} /><${Choices} of=${chosen} />
			<p class="muted">Everything that is complete is kept; none of it is asked for again.</p></section>`;
	}
	return html`<section class="box why ${query.state}" aria-labelledby="why-title"><h2 id="why-title">${stopTitle(stop.kind)}</h2>
		<p>${stop.reason}</p>
		${evidence.length > 0 && html`<p class="evidence">${evidence.join(" · ")}${stop.at && html` · <${Time} at=${stop.at} now=${now} />`}</p>`}
		${at && html`<p class="next">${itself ? "It goes on by itself" : "It can go on"} <strong><${Countdown} to=${at} now=${now} over=${itself ? "any moment" : "now"} /></strong>, at <${Time} at=${at} now=${now} />. ${itself ? "You need not do anything." : "Resume it then."}</p>`}
		${stop.hint && html`<p class="hint">${stop.hint}</p>`}<${Choices} of=${chosen} />
		<p class="muted">Everything that is complete is kept; none of it is asked for again.</p></section>`;
}

const verbs = {
	resume: { doing: "resume the query", done: "The query goes on." },
	retry: { doing: "run the failed chunks again", done: "The failed chunks run again." },
	cancel: { doing: "cancel the query", done: "The query is cancelled; what is complete is kept." },
	remove: { doing: "remove the query", done: "The query is removed." },
};

const stopped = (query) => !active(query.state) && query.state !== "complete";

// useActions carries out what the buttons of a query say.
function useActions(query, may, again) {
	const [state, set] = useState({ asking: "", busy: "", error: null, said: "" });
	const change = (part) => set((before) => ({ ...before, ...part }));
	const run = async (verb) => {
		change({ asking: "", busy: verb, error: null });
		try {
			if (verb === "resume") await post(queryPath(query.id, "/resume"));
			if (verb === "retry") await post(queryPath(query.id, "/resume"), { failed: true });
			if (verb === "cancel") await post(queryPath(query.id, "/cancel"));
			if (verb === "remove") {
				await remove(queryPath(query.id));
				location.hash = "#/";
				return;
			}
			change({ said: verbs[verb].done, busy: "" });
			again();
		} catch (failed) {
			change({ error: { verb, failed }, busy: "" });
		}
	};
	return { ...state, run, ask: (asking) => change({ asking }), allowed: Boolean(query) && may.control(query), reason: may.reason };
}

// Retry stands where failed chunks are named.
function Retry({ act }) {
	return html`<button type="button" data-verb="retry-these" disabled=${act.busy !== "" || !act.allowed} title=${act.allowed ? "" : act.reason} onClick=${() => act.run("retry")}>${act.busy === "retry" ? "…" : "Retry failed"}</button>`;
}

function Actions({ status, act }) {
	const { query, progress } = status;
	const { asking, busy, error, said, run, ask, allowed, reason } = act;
	const chosen = choices(query, progress);
	const button = (verb, text, shown, primary = false) => shown && html`<button type="button" class=${verb === "remove" ? "danger" : primary ? "primary" : ""} disabled=${busy !== "" || !allowed} title=${allowed ? "" : reason}
		data-verb=${verb} onClick=${() => (verb === "cancel" || verb === "remove" ? ask(verb) : run(verb))}>${busy === verb ? "…" : text}</button>`;
	return html`<div class="buttons actions" role="group" aria-label="What can be done with the query">
		${chosen?.first === "retry" && button("retry", "Retry failed", true, true)}${button("resume", "Resume", stopped(query), chosen?.first !== "retry")}${chosen?.first === "resume" && button("retry", "Retry failed", true)}
		${button("cancel", "Cancel", active(query.state) || resumesByItself(query))}${button("remove", "Remove", !active(query.state))}</div>
		<span class="hidden" role="status">${said}</span>
		${error && html`<${ErrorBox} error=${error.failed} doing=${verbs[error.verb].doing} />`}
		${asking === "cancel" && html`<${Confirm} title="Cancel the query?" text="What is in flight is dropped. What is complete is kept, and the query can be resumed." verb="Cancel it" onYes=${() => run("cancel")} onNo=${() => ask("")} />`}
		${asking === "remove" && html`<${Confirm} title="Remove the query?" text=${`“${query.name}” and its ${plural(progress?.rows ?? 0, "row")} are deleted. Files that were downloaded stay. This cannot be undone.`} verb="Remove it" onYes=${() => run("remove")} onNo=${() => ask("")} />`}`;
}

function Left({ query, progress, pace, now }) {
	if (query.state === "complete") return html`<${Fact} name="took">${duration((new Date(query.updated) - new Date(query.created)) / 1000)}<//>`;
	if (query.state !== "running" && !resumesByItself(query)) return null;
	const left = pace.left(query, progress, now.getTime());
	return html`<${Fact} name="time left">${left !== null ? leftWords(left) : quotaIsShort(query, progress) ? html`<span class="muted" title="How long the query will wait for quota is not known.">not known <small>the quota ends before</small></span>` : html`<span class="muted">…</span>`}<//>`;
}

function Numbers({ status, pace, now }) {
	const { query, progress } = status;
	const p = progress ?? { completed: 0, failed: 0, rows: 0, requests: 0, pages: 0, bytes: 0 };
	const quotas = p.quotas ?? [];
	return html`<section class="panel numbers" aria-label="Progress">
		<div class="big-progress"><${Progress} completed=${p.completed} failed=${p.failed} total=${query.chunks} label="Progress" /><strong><${Share} completed=${p.completed} total=${query.chunks} /></strong></div>
		<dl class="facts"><${Fact} name="chunks">${count(p.completed)} <small>of ${count(query.chunks)}</small><//>${p.failed > 0 && html`<${Fact} name="failed"><span class="bad">${count(p.failed)}</span><//>`}${p.split > 0 && html`<${Fact} name="split">${count(p.split)}<//>`}
			<${Fact} name="rows">${count(p.rows)}<//><${Fact} name="requests">${p.requests_at_least ? "≥ " : ""}${count(p.requests)}<//><${Fact} name="size">${bytes(p.bytes)}<//>
			${active(query.state) && html`<${Fact} name="with the workers">${count(p.waiting)}${p.workers && html` <small>${plural(p.workers.present, "worker")}</small>`}<//>`}
			<${Left} query=${query} progress=${p} pace=${pace} now=${now} />
			${quotas.map((q) => html`<${Fact} name=${`quota ${q.pool}`}>${count(q.remaining)} <small>of ${count(q.limit)}</small><${QuotaBar} left=${q.remaining} limit=${q.limit} label=${`Left of ${q.pool}`} /><//>`)}</dl>
		${active(query.state) && p.workers?.present === 0 && p.waiting > 0 && html`<div class="box warning"><strong>No worker is there.</strong> <span>${plural(p.waiting, "item")} wait${p.waiting === 1 ? "s" : ""}; start one:</span> <${Command} line="worker --nats-url nats://HOST:4222" /></div>`}
	</section>`;
}

// Announce tells changes of state to who does not see them.
function Announce({ query }) {
	const [said, set] = useState("");
	const before = useRef(query.state);
	useEffect(() => {
		if (before.current !== query.state) set(`The query is ${query.state}. ${query.stop && query.state !== "running" && query.state !== "complete" ? query.stop.reason : ""}`);
		before.current = query.state;
	}, [query.state]);
	return html`<p class="hidden" aria-live="assertive" id="announce">${said}</p>`;
}

function Missing({ id, error }) {
	if (error instanceof Refused && error.status === 404) {
		return html`<h1>No such query</h1><${Empty} title=${`There is no query ${id}.`}><p>It may have been removed, or the address is not whole. <a href="#/">Look at the list of queries</a>, or ask in a terminal:</p><p><${Command} line=${`braid list --server ${location.origin}`} /></p><//>`;
	}
	return html`<h1>Query</h1><${ErrorBox} error=${error} doing=${`show the query ${id}`} />`;
}

export function Query({ id, chunk, may }) {
	const { status, error, removed, times, pace, again } = useQuery(id);
	const query = status?.query;
	const now = useNow(Boolean(query) && !removed);
	const base = `#/queries/${encodeURIComponent(id)}`;
	const open = useCallback((position) => (location.hash = `${base}/chunks/${encodeURIComponent(position)}`), [base]);
	const close = useCallback(() => (location.hash = base), [base]);
	const act = useActions(query, may, again);
	const progress = status?.progress;
	// Views are asked for anew as soon as the query stands otherwise, and while it moves.
	const turn = query ? `${query.state} ${query.run}` : "";
	const results = `${progress?.completed} ${progress?.failed} ${progress?.rows} ${progress?.doubted}`;
	const series = useRefreshed(query ? queryPath(query.id, "/series") : null, times, { turn });
	const fails = Boolean(query) && (progress?.failed > 0 || query.state === "failed");
	const failures = useRefreshed(fails ? queryPath(query.id, "/failures") : null, `${progress?.failed}`, { every: 5000, turn });
	useEffect(() => {
		document.title = query ? `${active(query.state) && status.progress ? `${Math.floor((100 * status.progress.completed) / Math.max(1, query.chunks))} % · ` : ""}${query.name} · Braid` : "Query · Braid";
	}, [query?.name, query?.state, status?.progress?.completed]);
	if (!status) return error ? html`<${Missing} id=${id} error=${error} />` : html`<h1>Query</h1><${Loading} what="Reading the query" />`;
	if (removed) return html`<h1>${query.name}</h1><${Empty} title=${removed === "gone" ? "The server has this query no more." : "The query was removed."}>${removed === "gone" && html`<p>It was removed, or the server was started with other data than before.</p>`}<p><a href="#/">Look at the list of queries</a></p><//>`;
	const live = !settled(query);
	const interruptions = series.data?.interruptions ?? [];
	const failed = fails ? failures.data?.failures ?? [] : [];
	return html`<article data-query=${query.id} data-state=${query.state} data-run=${query.run}>
		<p class="crumbs"><a href="#/">Queries</a></p>
		<div class="title"><h1>${query.name} <${State} state=${query.state} /></h1><${Actions} status=${status} act=${act} /></div>
		<p class="about">${query.service} · ${query.collection}${query.owner && html` · <span title="owner">${query.owner}${query.team && ` (${query.team})`}</span>`} · submitted <${Time} at=${query.created} now=${now} />${query.run > 1 && ` · run ${query.run}`} · <code class="id">${query.id}</code></p>
		<${Announce} query=${query} />
		<${ErrorBox} error=${told(error)} doing="keep the page up to date" />
		<${Why} query=${query} progress=${progress} now=${now} failed=${failed} act=${act} onOpen=${open} />
		<${Numbers} status=${status} pace=${pace} now=${now} />
		<${Grid} id=${query.id} chunks=${query.chunks} revision=${times} turn=${turn} onOpen=${open} />
		${failed.length > 0 && !(stopped(query) && query.stop?.kind === "failure") && html`<section class="panel" aria-labelledby="failed-title"><div class="panel-title"><h2 id="failed-title">Failed chunks</h2>${stopped(query) && html`<span class="buttons small"><${Retry} act=${act} /></span>`}</div><${FailedList} list=${failed} onOpen=${open} /></section>`}
		${interruptions.length > 0 && html`<section class="panel" aria-labelledby="interruptions-title"><h2 id="interruptions-title">Interruptions</h2><p class="muted">The newest first. None is the chunk's fault, and none loses what is complete.</p><${Interruptions} list=${interruptions} /></section>`}
		<${Chunks} id=${query.id} revision=${times} turn=${turn} onOpen=${open} />
		<${Preview} query=${query} progress=${progress} revision=${results} turn=${turn} />
		<${Downloads} query=${query} progress=${progress} />
		<${Plots} series=${series.data} />
		<${Coverage} query=${query} progress=${status.progress} />
		<section class="panel" aria-labelledby="asked-title"><h2 id="asked-title">What was asked</h2><pre class="url" tabindex="0">${query.url}</pre>
			<dl class="facts small"><${Fact} name="plan"><code title=${query.fingerprint}>${query.fingerprint.slice(0, 12)}</code><//><${Fact} name="definition"><code title=${query.definition}>${query.definition.slice(0, 12)}</code><//><${Fact} name="spec"><code title=${query.spec}>${query.spec.slice(0, 12)}</code><//></dl></section>
		${chunk !== undefined && html`<${Chunk} key=${chunk} id=${query.id} position=${chunk} live=${live} onClose=${close} onOpen=${open} />`}
	</article>`;
}
