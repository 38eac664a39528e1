// What came of a query: its table in every format, its first rows, and what each value gave.
import { html, useState } from "./dom.js";
import { get, queryPath, request } from "./api.js";
import { useRefreshed } from "./live.js";
import { count, plural } from "./format.js";
import { active } from "./states.js";
import { Empty, ErrorBox, Loading, told } from "./parts.js";

const formats = [
	["parquet", "for pandas, R, DuckDB, Spark"], ["csv", "for spreadsheets"], ["jsonl", "a JSON object a line"], ["arrow", "Arrow IPC"], ["geojson", "for QGIS and maps"],
];

const shownRows = 25;

export function Downloads({ query, progress }) {
	const complete = query.state === "complete";
	const [partial, setPartial] = useState(false);
	const [error, setError] = useState(null);
	const [busy, setBusy] = useState("");
	const missing = query.chunks - (progress?.completed ?? 0);
	const ready = complete || partial;
	const path = (format) => queryPath(query.id, `/results?format=${format}${complete ? "" : "&partial=true"}`);
	// A link whose answer is an error would leave a file that nobody can read, so a table is asked for one byte first. A table of a query that is
	// not complete would be built twice for it.
	const download = async (event, format) => {
		setError(null);
		if (!ready) {
			event.preventDefault();
			return;
		}
		if (!complete || event.currentTarget.dataset.checked) return;
		event.preventDefault();
		const link = event.currentTarget;
		setBusy(format);
		try {
			const response = await request(path(format), { headers: { Range: "bytes=0-0", Accept: "*/*" } });
			await response.body?.cancel();
			link.dataset.checked = "yes";
			link.click();
			delete link.dataset.checked;
		} catch (failed) {
			setError(failed);
		} finally {
			setBusy("");
		}
	};
	return html`<section class="panel" aria-labelledby="download-title"><h2 id="download-title">Download</h2>
		${!complete && html`<p>The query is not complete: ${missing > 0 ? `${count(missing)} of ${plural(query.chunks, "chunk")} ${missing === 1 ? "has" : "have"} no result.` : "it is about to be."}
			<label class="check"><input type="checkbox" checked=${partial} onChange=${(e) => setPartial(e.target.checked)} /> Download what there is</label></p>`}
		<ul class="downloads">${formats.map(([format, what]) => html`<li><a class="button ${ready ? "" : "off"}" href=${ready ? path(format) : undefined} role="link" aria-disabled=${!ready} download=${`${query.name}.${format}`} data-format=${format} onClick=${(e) => download(e, format)}>${busy === format ? "building …" : format}</a><small>${what}</small></li>`)}</ul>
		<${ErrorBox} error=${error} doing="download the table" />
		<p><a href=${queryPath(query.id, "/manifest")} target="_blank" rel="noopener">Manifest</a> <small class="muted">what was asked, every request that brought rows, and their digests: to cite and to check</small></p></section>`;
}

export function Preview({ query, progress, revision, turn }) {
	const [wanted, setWanted] = useState(10);
	const { data, error } = useRefreshed(queryPath(query.id, `/rows?limit=${wanted}`), revision, { every: 2000, turn });
	const rows = data?.rows ?? [];
	return html`<section class="panel" aria-labelledby="preview-title"><h2 id="preview-title">First rows</h2>
		<${ErrorBox} error=${told(error)} doing="show the first rows" />
		${!data && !error && html`<${Loading} what="Reading the first rows" />`}
		${data && rows.length === 0 && html`<${Empty} title=${query.state === "complete" ? "The table has no rows." : progress?.rows > 0 ? "The rows are being read." : "There are no rows yet."}><p>${query.state === "complete" ? "The service said that there is nothing for what was asked; the coverage below says so for each value." : progress?.completed > 0 ? "What is complete so far holds none that is shown yet." : active(query.state) ? "They show here as soon as a chunk is done." : "No chunk is done."}</p><//>`}
		${rows.length > 0 && html`<div class="scroll"><table class="preview"><caption class="hidden">First rows in the order of positions</caption>
			<thead><tr>${(data.columns ?? []).map((c) => html`<th scope="col">${c.name}<small>${[c.type, c.unit].filter(Boolean).join(" · ")}</small></th>`)}</tr></thead>
			<tbody>${rows.map((r) => html`<tr>${r.map((v) => (v === null ? html`<td class="null">null</td>` : html`<td>${v}</td>`))}</tr>`)}</tbody></table></div>
			<p class="muted">As they came, in the order of positions; duplicates are left out of the table that is downloaded. ${data.more && wanted < shownRows && html`<button type="button" onClick=${() => setWanted(shownRows)}>Show ${shownRows}</button>`}</p>`}</section>`;
}

const coverageWords = { rows: "with rows", empty: "said to be empty", partly: "fetched in part", not_fetched: "not fetched", unclear: "unclear" };
const mostListed = 200;

export function Coverage({ query }) {
	const [state, set] = useState({ data: null, error: null, busy: false });
	const [only, setOnly] = useState("");
	const load = async () => {
		set((before) => ({ ...before, busy: true, error: null }));
		try {
			set({ data: await get(queryPath(query.id, "/coverage")), error: null, busy: false });
		} catch (error) {
			set((before) => ({ ...before, error, busy: false }));
		}
	};
	const values = state.data?.values ?? [];
	const parameters = [...new Set(values.map((v) => v.parameter))];
	const shown = values.filter((v) => !only || v.state === only);
	return html`<section class="panel" aria-labelledby="coverage-title"><div class="panel-title"><h2 id="coverage-title">Coverage</h2><span class="buttons small"><button type="button" onClick=${load} disabled=${state.busy}>${state.busy ? "reading …" : state.data ? "Read again" : "What came of each value"}</button></span></div>
		<${ErrorBox} error=${state.error} doing="tell what came of each value" />
		${!state.data && !state.error && html`<p class="muted">Says of each value that was asked for whether it has rows, is empty, or was not fetched. All results are read for it.</p>`}
		${state.data && html`<div class="scroll"><table class="narrow"><caption class="hidden">Values by what came of them</caption><thead><tr><th scope="col">Parameter</th>${Object.values(coverageWords).map((w) => html`<th scope="col" class="number">${w}</th>`)}</tr></thead>
			<tbody>${parameters.map((p) => html`<tr><th scope="row">${p}</th>${Object.keys(coverageWords).map((s) => html`<td class="number">${count(values.filter((v) => v.parameter === p && v.state === s).length)}</td>`)}</tr>`)}</tbody></table></div>
			<form class="filters" onSubmit=${(e) => e.preventDefault()}><label>Show <select value=${only} onChange=${(e) => setOnly(e.target.value)}><option value="">all values</option>${Object.entries(coverageWords).map(([s, w]) => html`<option value=${s}>${w}</option>`)}</select></label></form>
			<div class="scroll tall" tabindex="0"><table><caption class="hidden">Values</caption><thead><tr><th scope="col">Value</th><th scope="col">Parameter</th><th scope="col">What came of it</th><th scope="col" class="number">Rows</th></tr></thead>
				<tbody>${shown.slice(0, mostListed).map((v) => html`<tr><th scope="row">${v.value}</th><td>${v.parameter}</td><td>${coverageWords[v.state] ?? v.state}</td><td class="number">${count(v.rows)}</td></tr>`)}</tbody></table></div>
			${shown.length > mostListed && html`<p class="muted">and ${count(shown.length - mostListed)} more; all of them are at <a href=${queryPath(query.id, "/coverage")}>${queryPath(query.id, "/coverage")}</a></p>`}`}</section>`;
}
