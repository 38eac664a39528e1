// The form that submits a query: a query file as the command line reads it, or its JSON.
import { html, useEffect, useMemo, useRef, useState } from "./dom.js";
import { post } from "./api.js";
import { bytes, count, duration, plural } from "./format.js";
import { Command, ErrorBox, Fact, QuotaBar, Time } from "./parts.js";

const example = `# Mean daily discharge of eight rivers over one water year.
schema: query/v1
service: usgs-waterdata
collection: daily
where:
  monitoring_location_id:
    - USGS-01013500
    - USGS-01022500
    - USGS-01030500
    - USGS-01031500
    - USGS-01047000
    - USGS-01052500
    - USGS-01054200
    - USGS-01055000
  parameter_code: '00060' # discharge; codes are text, so quote them
  statistic_id: '00003' # mean
  time: {from: 2023-10-01, to: 2024-09-30}
run:
  on_quota: {wait_up_to: 2h} # when the quota is used up, go on by itself
max_chunks: 8 # one site a request
`;

const isJSON = (text) => text.trimStart().startsWith("{");

// newKey makes a key that tells one submission from another, so that a click that is repeated submits once.
function newKey() {
	return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

// lineOf finds where a field of the query stands, for problems that name no line.
export function lineOf(text, location) {
	if (!location) return 0;
	const parts = location.replace(/^(values|where|body)\./, "").split(/[.[\]]+/).filter((p) => p && !/^\d+$/.test(p));
	const lines = text.split("\n");
	for (const name of parts.reverse()) {
		const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
		const at = lines.findIndex((l) => new RegExp(`^\\s*["']?${escaped}["']?\\s*:|[{,]\\s*["']?${escaped}["']?\\s*:`).test(l));
		if (at >= 0) return at + 1;
	}
	return 0;
}

// readSpec gives the JSON of the query that the text holds, and what a person should know of.
async function readSpec(text, name, files) {
	if (!isJSON(text)) return post("/v1/query-file", { name, text, files });
	let parsed;
	try {
		parsed = JSON.parse(text);
	} catch (error) {
		const at = /line (\d+)/.exec(error.message);
		throw Object.assign(new Error(`The text begins with { and is no JSON: ${error.message}`), { fields: at ? [{ line: Number(at[1]), message: error.message }] : [] });
	}
	return { spec: parsed, notes: [] };
}

function Plan({ plan }) {
	return html`<section class="panel plan" aria-labelledby="plan-title"><h2 id="plan-title">What it would cost</h2><p class="muted">Nothing was sent and nothing is stored.</p>
		<dl class="facts"><${Fact} name="chunks">${count(plan.chunks)}<//>
			<${Fact} name="requests">${plan.expected_requests ? count(plan.expected_requests) : "≥ " + count(plan.least_requests)}${plan.most_requests > 0 && html` <small>at most ${count(plan.most_requests)}</small>`}<//>
			<${Fact} name="rows">${plan.estimated_rows ? "about " + count(plan.estimated_rows) : "not known"}<//>
			${plan.eta_seconds > 0 && html`<${Fact} name="time">about ${duration(plan.eta_seconds)}${plan.wait_seconds > 0 && html` <small>${duration(plan.wait_seconds)} of it for quota</small>`}<//>`}
			<${Fact} name="in flight">${count(plan.in_flight)}<//><${Fact} name="longest URL">${bytes(plan.longest_url_bytes)}${plan.url_limit > 0 && html` <small>of ${bytes(plan.url_limit)}</small>`}<//></dl>
		${(plan.expected_requests_unknown || plan.estimated_rows_unknown) && html`<p class="muted">${[plan.expected_requests_unknown, plan.estimated_rows_unknown].filter(Boolean).join("; ")}</p>`}
		${plan.quotas?.length > 0 && html`<h3>Quotas</h3><ul class="pools">${plan.quotas.map((q) => html`<li><strong>${q.pool}</strong> ${q.left !== undefined ? `${count(q.left)} of ${count(q.limit)} ${q.counts} left` : q.limit ? `${count(q.limit)} ${q.counts} in ${duration(q.window_seconds)}` : "the limit is not known"}${q.hold_back > 0 && `, ${count(q.hold_back)} held back`}
			${q.left !== undefined && html`<${QuotaBar} left=${q.left} limit=${q.limit} heldBack=${q.hold_back} label=${`Left of ${q.pool}`} />`}
			<small>${q.windows === 1 ? "the plan fits into one window" : q.windows > 1 ? `the plan takes ${plural(q.windows, "window")} of ${duration(q.window_seconds)}` : q.windows_unknown}${q.key === "missing" && "; there is no key for it"}${q.back && html`; units are back at <${Time} at=${q.back} />`}</small></li>`)}</ul>`}
		${plan.first_url && html`<h3>First request</h3><pre class="url" tabindex="0">${plan.method ? plan.method + " " : ""}${plan.first_url}</pre>`}</section>`;
}

// quoted is one word of a shell.
const quoted = (word) => (/^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

const blank = { text: "", name: "query.yaml", files: {} };

// draft outlives the form, not the page: what was written is there again behind a login, or a look elsewhere.
let draft = blank;

export function Submit({ may }) {
	const [text, setText] = useState(draft.text);
	const [name, setName] = useState(draft.name);
	const [files, setFiles] = useState(draft.files);
	const [plan, setPlan] = useState(null);
	const [notes, setNotes] = useState([]);
	const [error, setError] = useState(null);
	const [busy, setBusy] = useState("");
	const area = useRef(null);
	// The same text is the same submission, whatever happens on the way.
	const key = useMemo(newKey, [text, name, files]);
	useEffect(() => {
		draft = { text, name, files };
	}, [text, name, files]);
	useEffect(() => {
		document.title = "Submit a query · Braid";
	}, []);
	const change = (to) => {
		setText(to);
		setPlan(null);
		setError(null);
		setNotes([]);
	};
	const take = async (list) => {
		const values = { ...files };
		for (const file of list) {
			const content = await file.text();
			if (/\.(ya?ml|json)$/i.test(file.name)) {
				change(content);
				setName(file.name);
			} else {
				values[file.name] = content;
			}
		}
		setFiles(values);
	};
	const act = async (what) => {
		setBusy(what);
		setError(null);
		try {
			const read = await readSpec(text, name, files);
			setNotes(read.notes ?? []);
			const spec = JSON.stringify(read.spec);
			if (what === "plan") {
				setPlan(await post("/v1/plan", spec));
			} else {
				const query = await post("/v1/queries", spec, { "Idempotency-Key": key });
				draft = blank;
				location.hash = `#/queries/${encodeURIComponent(query.id)}`;
			}
		} catch (failed) {
			setError({ what, failed });
			setPlan(null);
			area.current?.focus();
		} finally {
			setBusy("");
		}
	};
	const select = (line) => {
		const lines = text.split("\n");
		const start = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
		area.current.focus();
		area.current.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
		area.current.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(area.current).lineHeight));
	};
	const fields = (error?.failed.fields ?? []).map((f) => ({ ...f, line: f.line || lineOf(text, f.location) }));
	const ready = text.trim() !== "" && busy === "";
	return html`<p class="crumbs"><a href="#/">Queries</a></p><h1>Submit a query</h1>
		<form class="submit" onSubmit=${(e) => { e.preventDefault(); if (ready && may.submit) act("submit"); }}>
			<div class="panel"><div class="panel-title"><label for="query-text"><h2>Query file</h2></label><span class="buttons small">
				<button type="button" onClick=${() => { change(example); setName("daily-flow.yaml"); }}>Insert the example</button>
				<label class="button">Open files …<input type="file" class="hidden" multiple accept=".yaml,.yml,.json,.csv,.tsv,.txt,.rdb" onChange=${(e) => { take(e.target.files); e.target.value = ""; }} /></label></span></div>
			<p class="muted" id="query-help">YAML, as <code>braid run</code> takes it, or the JSON of the API. Open the files of values that it names together with it.</p>
			<textarea id="query-text" ref=${area} value=${text} onInput=${(e) => change(e.target.value)} rows="20" spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off" aria-describedby="query-help query-errors" aria-invalid=${error ? "true" : "false"} placeholder="schema: query/v1"></textarea>
			<div class="row"><label>Name of the file <input value=${name} onInput=${(e) => setName(e.target.value)} maxlength="200" /></label>
				${Object.keys(files).length > 0 && html`<span>with ${Object.keys(files).map((f) => html`<code>${f}</code> <button type="button" class="quiet" aria-label=${`Leave ${f} out`} onClick=${() => setFiles(Object.fromEntries(Object.entries(files).filter(([n]) => n !== f)))}>✕</button> `)}</span>`}</div></div>
			<div id="query-errors">${error && html`<${ErrorBox} error=${error.failed} doing=${error.what === "plan" ? "plan the query" : "submit the query"}>${fields.length > 0 && html`<ul class="field-errors">${fields.map((f) => html`<li>${f.line > 0 && html`<button type="button" class="link" onClick=${() => select(f.line)}>line ${f.line}</button> `}${f.location && html`<code>${f.location}</code>: `}${f.message}</li>`)}</ul>`}<//>`}</div>
			${notes.length > 0 && html`<div class="box notes"><strong>Note</strong><ul>${notes.map((n) => html`<li>${n}</li>`)}</ul></div>`}
			<div class="buttons below"><button type="button" disabled=${!ready || !may.submit} onClick=${() => act("plan")}>${busy === "plan" ? "planning …" : "Show what it would cost"}</button>
				<button type="submit" class="primary" disabled=${!ready || !may.submit} title=${may.submit ? "" : may.reason}>${busy === "submit" ? "submitting …" : "Submit"}</button></div>
			${!may.submit && html`<p class="muted">${may.reason}</p>`}
		</form>
		${plan && html`<${Plan} plan=${plan} />`}
		<p class="muted">From a terminal: <${Command} line=${`braid run ${quoted(name || blank.name)} --server ${location.origin}`} /></p>`;
}
