// The profiles that load runs are started from, and the environments that they go to.
import { html, useEffect, useRef, useState } from "../dom.js";
import { request } from "../api.js";
import { useNow, usePolled } from "../live.js";
import { count } from "../format.js";
import { Command, Empty, ErrorBox, Fact, Loading, Time, told } from "../parts.js";
import { Tabs } from "./list.js";
import { binding, Class, profilePage, profilePath, runPage } from "./words.js";

const every = 3000;

const example = `schema: load/v1
name: Release checks
environment: superset-dev # a service with the block environment
dashboard: sales # id or slug
concurrency: 5
axes:
  filters:
    - []
    - [{col: region, op: IN, val: [EU]}]
    - [{col: region, op: IN, val: [APAC]}]
  time_range: [Last week, Last month]
cap: 500
thresholds:
  - {metric: upstream_latency_ms.p95, cache: miss, max: '2000'}
  - {metric: error_rate, max: '0.01'}
`;

function Environment({ e }) {
	const id = `environment-${e.name}`;
	return html`<section class="panel service" aria-labelledby=${id} data-environment=${e.name}><div class="panel-title"><h2 id=${id}>${e.name}</h2><span>${e.class && html`<${Class} name=${e.class} />`}${e.stage && html` <small>${e.stage}</small>`}</span></div>
		<p class="about"><code>${e.base_url}</code></p>
		${e.problem ? html`<div class="box error"><strong>Nothing can be run there.</strong> <span>${e.problem}</span></div>` : html`<dl class="facts small"><${Fact} name="load in flight at most" note=${`bound by ${binding(e.capacity)}`}>${count(e.capacity?.env_load_limit)}<//><${Fact} name="roles">${e.roles?.join(", ") || "–"}<//>${e.async && html`<${Fact} name="answers">asynchronous ones are followed<//>`}</dl>`}
		${e.active?.length > 0 && html`<p>Active: ${e.active.map((r) => html`<a href=${runPage(r)}>${r}</a> `)}</p>`}</section>`;
}

// Apply stores a profile file. What the server reads of it is stored as it is: its seed may be more than a number here holds.
function Apply({ may }) {
	const [text, setText] = useState("");
	const [state, set] = useState({ busy: false, error: null });
	const [name, setName] = useState("profile.yaml");
	const area = useRef(null);
	const save = async (event) => {
		event.preventDefault();
		set({ busy: true, error: null });
		try {
			const post = (path, method, body) => request(path, { method, body, headers: { "Content-Type": "application/json" } });
			const read = await (await post("/v1/load/profile-file", "POST", JSON.stringify({ name, text }))).text();
			const { id } = JSON.parse(read);
			await post(profilePath(id), "PUT", read);
			location.hash = profilePage(id);
		} catch (error) {
			set({ busy: false, error });
			area.current?.focus();
		}
	};
	const take = async (file) => {
		if (!file) return;
		setText(await file.text());
		setName(file.name);
	};
	return html`<details class="panel apply"><summary><h2>Store a profile file</h2></summary><form class="submit" onSubmit=${save}>
		<p class="muted" id="profile-help">YAML as <code>braid load apply</code> takes it. Without an <code>id</code> the name of the file is the profile's id; a profile that is there gets another revision.</p>
		<textarea ref=${area} aria-label="Profile file" aria-describedby="profile-help" value=${text} onInput=${(e) => setText(e.target.value)} rows="16" spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off" placeholder="schema: load/v1"></textarea>
		<div class="row"><label>Name of the file <input value=${name} onInput=${(e) => setName(e.target.value)} maxlength="200" /></label><span class="buttons small"><button type="button" onClick=${() => { setText(example); setName("release-checks.yaml"); }}>Insert an example</button><label class="button">Open a file …<input type="file" class="hidden" accept=".yaml,.yml,.json" onChange=${(e) => take(e.target.files[0])} /></label></span></div>
		<${ErrorBox} error=${state.error} doing="store the profile" />
		<div class="buttons"><button type="submit" class="primary" disabled=${state.busy || !may.load || text.trim() === ""} title=${may.load ? "" : may.reason}>${state.busy ? "…" : "Store it"}</button>${!may.load && html`<span class="muted">${may.reason}</span>`}</div></form></details>`;
}

export function LoadProfiles({ may }) {
	const { data, error } = usePolled("/v1/load/profiles", every);
	const environments = usePolled("/v1/load/environments", every);
	const now = useNow();
	useEffect(() => {
		document.title = "Load profiles · Braid";
	}, []);
	const classes = new Map((environments.data?.environments ?? []).map((e) => [e.name, e.class]));
	const profiles = data?.profiles ?? [];
	return html`<h1>Load profiles</h1><${Tabs} at="#/load/profiles" />
		<${ErrorBox} error=${data ? told(error) : error} doing="list the profiles" />
		${!data && !error && html`<${Loading} what="Reading the profiles" />`}
		${data && profiles.length === 0 && html`<${Empty} title="There are no profiles yet."><p>A profile says which dashboard is to be loaded, how, and what is demanded of it. Store one below, or from a terminal:</p><p><${Command} line=${`braid load apply profile.yaml --server ${location.origin}`} /></p><//>`}
		${profiles.length > 0 && html`<table class="cards queries"><caption class="hidden">Load profiles</caption><thead><tr><th scope="col">Profile</th><th scope="col">Environment</th><th scope="col">Dashboard</th><th scope="col" class="number">Concurrency</th><th scope="col" class="number">Variations, at most</th><th scope="col" class="number">Revision</th><th scope="col">Changed</th></tr></thead>
			<tbody>${profiles.map((p) => html`<tr key=${p.id} data-profile=${p.id}><th scope="row" class="name"><a href=${profilePage(p.id)}>${p.name || p.id}</a><small>${p.id}</small></th><td data-label="Environment">${p.environment} ${classes.get(p.environment) && html`<${Class} name=${classes.get(p.environment)} />`}</td><td data-label="Dashboard">${p.dashboard}</td><td data-label="Concurrency" class="number">${count(p.concurrency)}</td>
				<td data-label="Variations, at most" class="number">${count(p.cap)}</td><td data-label="Revision" class="number">${count(p.revision)}</td><td data-label="Changed"><${Time} at=${p.updated} now=${now} relative />${p.owner && html`<small>${p.owner}</small>`}</td></tr>`)}</tbody></table>`}
		<div class="after-table"><${Apply} may=${may} /></div>
		<h2 class="heading">Environments</h2><${ErrorBox} error=${environments.data ? told(environments.error) : environments.error} doing="list the environments" />
		${environments.data?.environments?.length === 0 && html`<${Empty} title="There are no environments."><p>One is a service definition with the block <code>environment:</code>.</p><//>`}
		<div class="services">${(environments.data?.environments ?? []).map((e) => html`<${Environment} key=${e.name} e=${e} />`)}</div>`;
}
