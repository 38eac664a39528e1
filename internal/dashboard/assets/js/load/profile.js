// The page of one load profile: what a run of it would send, what it needs for that, and the buttons that look up, approve and start.
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../dom.js";
import { get, post, Refused } from "../api.js";
import { useNow, usePolled } from "../live.js";
import { count, duration, plural } from "../format.js";
import { Command, Confirm, Countdown, Empty, ErrorBox, Fact, Loading, Time, told } from "../parts.js";
import { Class, profilePath, runPage, RunState, termWords, Verdict, running, words } from "./words.js";

// useLooked asks for a resource when the page opens and whenever again is called; what is not there is no error.
function useLooked(path, revision) {
	const [state, set] = useState({ data: null, error: null, missing: null, read: false });
	const again = useCallback(async () => {
		try {
			const data = await get(path);
			set({ data, error: null, missing: null, read: true });
			return data;
		} catch (error) {
			const gate = error instanceof Refused && (error.status === 404 || error.kind === "load-gate-not-looked-up");
			set({ data: null, error: gate ? null : error, missing: gate ? error : null, read: true });
			return null;
		}
	}, [path]);
	useEffect(() => {
		if (path && revision) again();
	}, [path, revision]);
	return { ...state, again };
}

const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

function Dependents({ title, list, most = 12 }) {
	if (!list?.length) return null;
	return html`<p>${title}:</p><ul>${list.slice(0, most).map((d) => html`<li>${d.kind} ${d.name} <small>${d.id} · dataset ${d.dataset}</small></li>`)}${list.length > most && html`<li class="muted">and ${count(list.length - most)} more</li>`}</ul>`;
}

// Gated says why nothing was started, and offers to confirm what has changed.
function Gated({ error, onAgain }) {
	const gate = error?.problem?.gate;
	if (!gate) return html`<${ErrorBox} error=${error} doing="start the run" />`;
	return html`<div class="box error" role="alert" data-gate=${gate.kind}><strong>Nothing was started, and nothing was sent.</strong> <span>${gate.message}</span>${gate.hint && html`<span class="hint">${gate.hint}</span>`}
		<${Dependents} title=${gate.undiffed ? "What depends on the data now" : "New among what depends on the data"} list=${gate.added} /><${Dependents} title="No longer among it" list=${gate.removed} />
		<p><button type="button" onClick=${onAgain}>Look at the preview again</button></p></div>`;
}

function Capacity({ terms }) {
	const rows = [["requested", terms.requested], ["env_max", terms.env_max], ["pool_room", terms.pool_room], ["ceiling", terms.ceiling]];
	return html`<div class="scroll" tabindex="0"><table class="narrow"><caption>In flight at most: <strong>${count(terms.effective)}</strong>, the least of these</caption><tbody>${rows.map(([name, n]) => {
		const binds = terms.binding?.includes(name);
		return html`<tr><th scope="row">${termWords[name]}${name === "env_max" && html` <small>${terms.env_max_source}</small>`}</th><td class="number">${count(n)}</td><td>${binds ? html`<strong class="warn">◀ binds</strong>` : ""}</td></tr>`;
	})}</tbody></table></div>`;
}

function Preview({ preview: p, snapshot: s }) {
	const reasons = Object.entries((p.excluded ?? []).reduce((all, e) => ({ ...all, [e.reason]: (all[e.reason] ?? 0) + 1 }), {}));
	const own = new Set([...(s?.charts ?? []).map((c) => c.id), ...(s?.excluded ?? []).map((e) => e.chart)]);
	const dependents = (s?.dependents?.items ?? []).filter((d) => !(d.kind === "dashboard" ? d.id === s.dashboard : own.has(d.id)));
	return html`<section class="panel" aria-labelledby="preview-title"><h2 id="preview-title">What a run would send</h2>
		<dl class="facts"><${Fact} name="requests">${count(p.total_requests)}<//><${Fact} name="distinct ones" note=${p.distinct_requests === p.total_requests ? "" : p.gate.rewrites_cache ? "the others repeat an earlier one" : "the others repeat an earlier one, and may hit its cache"}>${count(p.distinct_requests)}<//><${Fact} name="variations">${count(p.selected)} <small>of ${p.theoretical_count}</small><//><${Fact} name="charts">${count(p.charts)}<//><${Fact} name="excluded">${count(p.excluded?.length ?? 0)}<//><${Fact} name="seed">${String(p.seed)}<//></dl>
		<${Capacity} terms=${p.capacity} />
		${reasons.length > 0 && html`<details><summary>${plural(p.excluded.length, "chart is", "charts are")} excluded: ${reasons.map(([reason, n]) => `${n} × ${words(reason)}`).join(", ")}</summary><ul>${p.excluded.slice(0, 100).map((e) => html`<li>${e.name || `chart ${e.chart}`} <small>${e.chart} · ${words(e.reason)}</small></li>`)}</ul></details>`}
		${s && html`<details><summary>${plural(s.charts?.length ?? 0, "chart")} of “${s.title}”</summary><ol>${(s.charts ?? []).slice(0, 250).map((c) => html`<li>${c.name} <small>${c.id} · ${c.viz_type}${c.queries > 1 ? ` · ${c.queries} queries` : ""}</small></li>`)}</ol></details>
			<details><summary>${plural(dependents.length, "other dashboard or chart reads", "other dashboards and charts read")} the same data</summary>${dependents.length === 0 ? html`<p class="muted">Nothing else reads it.</p>` : html`<ul>${dependents.slice(0, 250).map((d) => html`<li>${d.kind} ${d.name} <small>${d.id} · dataset ${d.dataset}</small></li>`)}</ul>`}</details>`}</section>`;
}

const validities = [["30m", "30 minutes"], ["1h", "1 hour"], ["8h", "8 hours"], ["24h", "a day"], ["168h", "a week"]];

function Approve({ profile, gate, may, onDone }) {
	const [reason, setReason] = useState("");
	const [validFor, setValidFor] = useState("1h");
	const [state, set] = useState({ busy: false, error: null });
	const approve = async (event) => {
		event.preventDefault();
		set({ busy: true, error: null });
		try {
			await post(profilePath(profile.id, "/approvals"), { gate_hash: gate.gate_hash, reason: reason.trim(), valid_for: validFor });
			setReason("");
			set({ busy: false, error: null });
			onDone();
		} catch (error) {
			set({ busy: false, error });
		}
	};
	return html`<form class="approve" onSubmit=${approve}><h3>Approve one run</h3><label class="block">Reason <textarea name="reason" rows="2" maxlength="500" required value=${reason} onInput=${(e) => setReason(e.target.value)} aria-describedby="approve-help" disabled=${!may.prod}></textarea></label>
		<p class="muted" id="approve-help">Why load is put on PROD; it is kept with the run. The approval is for one run of exactly what the gate above names, and falls when any of it changes.</p>
		<div class="row"><label>Valid for <select value=${validFor} onChange=${(e) => setValidFor(e.target.value)} disabled=${!may.prod}>${validities.map(([v, w]) => html`<option value=${v}>${w}</option>`)}</select></label>
		<button type="submit" data-verb="approve" disabled=${state.busy || !may.prod || reason.trim() === ""} title=${may.prod ? "" : may.reason}>${state.busy ? "…" : "Approve"}</button>${!may.prod && html`<span class="muted">${may.reason}</span>`}</div>
		<${ErrorBox} error=${state.error} doing="approve the run" /></form>`;
}

// fits tells whether an approval lets a run of this gate start now.
const fits = (a, gate, now) => a.gate_hash === gate.gate_hash && !a.used_by && new Date(a.expires) > now;

function Approvals({ list, gate, now }) {
	if (list.length === 0) return html`<p class="muted">Nobody has approved a run of this profile.</p>`;
	return html`<div class="scroll" tabindex="0"><table class="approvals"><caption class="hidden">Approvals, the newest first</caption><thead><tr><th scope="col">State</th><th scope="col">By</th><th scope="col">Reason</th><th scope="col">Given</th><th scope="col">Expires</th></tr></thead>
		<tbody>${list.slice(0, 20).map((a) => html`<tr data-approval=${a.id}><td>${fits(a, gate, now) ? html`<span class="state complete">✓ valid</span>` : a.used_by ? html`<span class="state">used by <a href=${runPage(a.used_by)}>${a.used_by}</a></span>` : new Date(a.expires) <= now ? html`<span class="state">expired</span>` : html`<span class="state interrupted" title=${`for ${a.gate_hash}`}>for another gate</span>`}</td>
			<td>${a.by || "–"}</td><td class="text">${a.reason}</td><td><${Time} at=${a.at} now=${now} /></td><td><${Time} at=${a.expires} now=${now} />${fits(a, gate, now) && html`<small><${Countdown} to=${new Date(a.expires)} now=${now} /></small>`}</td></tr>`)}</tbody></table></div>`;
}

const inputWords = { profile_id: "profile", profile_revision: "its revision", effective_capacity: "capacity", estimated_requests: "requests", environment_id: "environment", blast_radius_fingerprint: "blast radius" };

function Gate({ profile, gate, approvals, may, now, onApproved }) {
	return html`<section class="panel gate-panel" aria-labelledby="gate-title" data-class=${gate.class}><div class="panel-title"><h2 id="gate-title">The gate</h2><${Class} name=${gate.class} /></div>
		${gate.rewrites_cache && html`<div class="box warning"><strong>Every request is forced.</strong> <span>It rewrites the cache entries that everybody who looks at the dashboard reads.</span></div>`}
		<p>A run needs ${gate.needs.map((n, i) => html`${i > 0 && " and "}<code>${n}</code>`)}${gate.approval ? html`, and an approval that is bound to:` : ". No approval is needed here."}</p>
		${gate.approval && html`<dl class="digests">${Object.entries(inputWords).map(([key, name]) => html`<dt>${name}</dt><dd><code>${String(gate.inputs[key])}</code></dd>`)}<dt>gate hash</dt><dd><code data-gate-hash>${gate.gate_hash}</code></dd></dl>
			<${Approvals} list=${approvals} gate=${gate} now=${now} /><${Approve} profile=${profile} gate=${gate} may=${may} onDone=${onApproved} />`}</section>`;
}

// blocked says in words why a run cannot start; empty: it can.
function blocked({ preview, snapshot, may, approved, read }) {
	if (!may.load) return may.reason;
	if (!snapshot) return read ? "Look the dashboard up first: a run needs to know what it consists of." : "…";
	if (!preview) return "There is no preview.";
	if (preview.gate.class === "PROD" && !may.prod) return may.reason;
	if (preview.gate.approval && !approved) return "The environment is PROD: somebody has to approve the gate first.";
	return "";
}

function Start({ profile, preview, snapshot, approved, why, onAgain }) {
	const [asking, setAsking] = useState(false);
	const [state, set] = useState({ busy: false, error: null });
	// What was seen is what is started: the same preview is the same start, however often the button is pressed.
	const key = useMemo(newKey, [preview?.gate.gate_hash, approved?.id, state.error]);
	const start = async () => {
		setAsking(false);
		set({ busy: true, error: null });
		try {
			const body = { profile: profile.id, revision: preview.gate.inputs.profile_revision, fingerprint: preview.gate.inputs.blast_radius_fingerprint };
			if (approved) body.approval = approved.id;
			const run = await post("/v1/load/runs", body, { "Idempotency-Key": key });
			location.hash = runPage(run.id);
		} catch (error) {
			set({ busy: false, error });
		}
	};
	const again = () => {
		set({ busy: false, error: null });
		onAgain();
	};
	return html`<div class="start"><button type="button" class="primary" data-verb="start" disabled=${why !== "" || state.busy} aria-describedby="start-why" onClick=${() => setAsking(true)}>${state.busy ? "starting …" : preview ? `Start ${plural(preview.total_requests, "request")}` : "Start a run"}</button> <span id="start-why" class="muted">${why}</span></div>
		${state.error && html`<${Gated} error=${state.error} onAgain=${again} />`}
		${asking && html`<${Confirm} title="Start the run?" text=${`${plural(preview.total_requests, "request")} go to ${profile.environment} (${preview.gate.class === "PROD" ? "PROD" : "not PROD"}), at most ${preview.capacity.effective} at a time.${profile.force ? " Each rewrites the cache." : ""}`} verb="Start it" onYes=${start} onNo=${() => setAsking(false)} />`}`;
}

function Settings({ profile: p }) {
	const stages = (p.stages ?? []).map((s) => `${s.concurrency}${s.executions ? ` for ${count(s.executions)} executions` : s.lasts_ns ? ` for ${duration(s.lasts_ns / 1e9)}` : ""}`);
	const breaker = p.breaker ?? {};
	return html`<section class="panel" aria-labelledby="settings-title"><h2 id="settings-title">Settings</h2>
		<dl class="facts small"><${Fact} name="concurrency">${stages.length > 0 ? stages.join(", then ") : count(p.concurrency)}<//>${p.arrival && html`<${Fact} name="arrival">${p.arrival.per_second}/s <small>patience ${duration(p.arrival.patience_ns / 1e9)}</small><//>`}<${Fact} name="variations, at most">${count(p.cap)}<//><${Fact} name="warm-up">${count(p.warm_up ?? 0)}<//><${Fact} name="preflight">${p.preflight ? "yes" : "no"}<//><${Fact} name="deadline">${duration(p.deadline_ns / 1e9)}<//><${Fact} name="drain">${duration(p.drain_ns / 1e9)}<//>
			<${Fact} name="breaker">${breaker.disabled ? "off" : `${Math.round(100 * Number(breaker.error_rate))} % of ${count(breaker.window)}`}${breaker.absolute_p99_ms && html` <small>p99 ${breaker.absolute_p99_ms} ms</small>`}<//>${p.reference && html`<${Fact} name="reference"><a href=${runPage(p.reference)}>${p.reference}</a><//>`}<${Fact} name="thresholds">${count(p.thresholds?.length ?? 0)}<//></dl>
		<details><summary>Axes</summary><pre tabindex="0">${JSON.stringify(p.axes, null, 2)}</pre></details></section>`;
}

function Runs({ profile, now }) {
	const { data } = usePolled(`/v1/load/runs?limit=20&profile=${encodeURIComponent(profile.id)}`, 5000);
	const runs = data?.runs ?? [];
	if (runs.length === 0) return null;
	return html`<section class="panel" aria-labelledby="runs-title"><h2 id="runs-title">Runs</h2><ul class="plain">${runs.map(({ run }) => html`<li><a href=${runPage(run.id)}><code>${run.id}</code></a> <${RunState} run=${run} /> ${!running(run) && html`<${Verdict} verdict=${run.verdict} />`} <small><${Time} at=${run.created} now=${now} relative /></small></li>`)}</ul></section>`;
}

export function LoadProfile({ id, may }) {
	const { data: profile, error } = usePolled(profilePath(id), 5000);
	const revision = profile?.revision;
	const snapshot = useLooked(profilePath(id, "/snapshot"), revision);
	const preview = useLooked(profilePath(id, "/preview"), snapshot.data && `${revision} ${snapshot.data.id}`); // of what was not looked up there is none
	const approvals = usePolled(preview.data?.gate.approval ? "/v1/load/approvals" : null, 5000);
	const [given, setGiven] = useState(null);
	const [looking, setLooking] = useState({ busy: false, error: null });
	const now = useNow();
	const alive = useRef(true);
	useEffect(() => {
		document.title = profile ? `${profile.name || profile.id} · Braid` : "Load profile · Braid";
		return () => { alive.current = false; };
	}, [profile?.name]);
	if (!profile) {
		if (!error) return html`<h1>Load profile</h1><${Loading} what="Reading the profile" />`;
		return error instanceof Refused && error.status === 404 ? html`<h1>No such profile</h1><${Empty} title=${`There is no load profile ${id}.`}><p><a href="#/load/profiles">Look at the profiles</a></p><//>` : html`<h1>Load profile</h1><${ErrorBox} error=${error} doing=${`show the profile ${id}`} />`;
	}
	const again = async () => (await snapshot.again()) && preview.again();
	const lookUp = async () => {
		setLooking({ busy: true, error: null });
		try {
			await post(profilePath(profile.id, "/look-up"));
			await again();
			setLooking({ busy: false, error: null });
		} catch (failed) {
			setLooking({ busy: false, error: failed });
		}
	};
	const reread = async () => setGiven(await get("/v1/load/approvals").catch(() => null));
	const gate = preview.data?.gate;
	const newest = new Map([...(approvals.data?.approvals ?? []), ...(given?.approvals ?? [])].map((a) => [a.id, a]));
	for (const a of approvals.data?.approvals ?? []) if (a.used_by) newest.set(a.id, a);
	const list = [...newest.values()].filter((a) => a.inputs?.profile_id === profile.id).sort((a, b) => (a.at < b.at ? 1 : -1));
	const approved = gate?.approval ? list.find((a) => fits(a, gate, now)) : undefined;
	const prod = gate?.class === "PROD";
	const mayLook = may.load && (!prod || may.prod);
	const why = blocked({ preview: preview.data, snapshot: snapshot.data, may, approved, read: snapshot.read });
	return html`<article data-profile=${profile.id} data-revision=${profile.revision}><p class="crumbs"><a href="#/load/profiles">Load profiles</a></p>
		<div class="title"><h1>${profile.name || profile.id}</h1><div class="buttons actions"><button type="button" data-verb="look-up" disabled=${looking.busy || !mayLook} title=${mayLook ? "" : may.reason} onClick=${lookUp}>${looking.busy ? "looking up …" : snapshot.data ? "Look up again" : "Look up the dashboard"}</button></div></div>
		<p class="about">${profile.environment} · dashboard ${profile.dashboard}${profile.tab && ` · tab ${profile.tab}`} · revision ${profile.revision}${profile.owner && ` · ${profile.owner}`} · changed <${Time} at=${profile.updated} now=${now} />${snapshot.data && html` · looked up <${Time} at=${snapshot.data.taken} now=${now} />`}</p>
		<${ErrorBox} error=${told(error)} doing="keep the profile up to date" /><${ErrorBox} error=${looking.error} doing="look up the dashboard" />
		${snapshot.missing && html`<${Empty} title="The dashboard was not looked up for this revision."><p>A worker asks the environment which charts it has and what else reads their data. Nothing is run for that. From a terminal:</p><p><${Command} line=${`braid load look-up ${profile.id} --server ${location.origin}`} /></p><//>`}
		<${ErrorBox} error=${told(snapshot.error)} doing="show what the dashboard consists of" /><${ErrorBox} error=${snapshot.missing ? null : told(preview.error)} doing="show the preview" />
		${preview.data && html`<${Preview} preview=${preview.data} snapshot=${snapshot.data} /><${Gate} profile=${profile} gate=${gate} approvals=${list} may=${may} now=${now} onApproved=${reread} />`}
		<section class="panel" aria-label="Start"><${Start} profile=${profile} preview=${preview.data} snapshot=${snapshot.data} approved=${approved} why=${why} onAgain=${again} /></section>
		<${Settings} profile=${profile} /><${Runs} profile=${profile} now=${now} /></article>`;
}
