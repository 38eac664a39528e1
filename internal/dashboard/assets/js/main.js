// The frame of the page: who is there, where they are, and whether the server answers.
import { html, render, useEffect, useMemo, useRef, useState } from "./dom.js";
import { get, onReach, onUnauthenticated, Refused } from "./api.js";
import { useNow } from "./live.js";
import { duration } from "./format.js";
import { Time } from "./parts.js";
import { List } from "./list.js";
import { LoadCompare } from "./load/compare.js";
import { LoadRuns } from "./load/list.js";
import { LoadProfile } from "./load/profile.js";
import { LoadProfiles } from "./load/profiles.js";
import { LoadRun } from "./load/run.js";
import { Login } from "./login.js";
import { Query } from "./query.js";
import { Services, Workers } from "./services.js";
import { Submit } from "./submit.js";

const pages = [["#/", "Queries"], ["#/load", "Load"], ["#/services", "Services"], ["#/workers", "Workers"]];

// route reads the address; decodeURIComponent throws on what no link of ours holds.
function route(hash) {
	const parts = hash.replace(/^#\/?/, "").split("/").filter(Boolean);
	try {
		return parts.map(decodeURIComponent);
	} catch {
		return ["nowhere"];
	}
}

function useRoute() {
	const [parts, set] = useState(() => route(location.hash));
	useEffect(() => {
		const onHash = () => set(route(location.hash));
		window.addEventListener("hashchange", onHash);
		return () => window.removeEventListener("hashchange", onHash);
	}, []);
	return parts;
}

// permissions says what the person may do; a server that knows no tokens lets everybody do all.
function permissions(who) {
	const open = !who || who.auth === false;
	const has = (name) => open || who.permissions?.includes(name);
	return {
		submit: has("queries:submit"),
		load: has("load:run"),
		prod: has("load:prod"),
		control: (query) => has("queries:control") || (has("queries:control-own") && query.owner === who.name),
		reason: who?.name ? `${who.name} (${who.role}) may not do this: the token lacks the permission.` : "The token lacks the permission.",
	};
}

function useWho() {
	const [state, set] = useState({ who: null, known: false, refused: false });
	const asking = useRef(false);
	const ask = async () => {
		asking.current = true;
		try {
			const who = await get("/v1/whoami");
			set({ who, known: true, refused: false });
		} catch (error) {
			// Only a refusal asks for a login: a server without the route knows no tokens, and one that is away says so by itself.
			set((before) => ({ ...before, known: true, refused: error instanceof Refused && error.status === 401 }));
		}
		asking.current = false;
	};
	useEffect(() => {
		ask();
		// What was refused may have been asked before a login that has come since.
		return onUnauthenticated(() => asking.current || ask());
	}, []);
	return { ...state, ask };
}

function ThemeButton() {
	const [theme, set] = useState(() => document.documentElement.dataset.theme ?? "auto");
	const next = { auto: "light", light: "dark", dark: "auto" };
	const change = () => {
		const to = next[theme];
		set(to);
		if (to === "auto") delete document.documentElement.dataset.theme;
		else document.documentElement.dataset.theme = to;
		try {
			localStorage.setItem("braid-theme", to);
		} catch {
			// it is remembered as long as the page is open
		}
		window.dispatchEvent(new Event("braid-theme"));
	};
	return html`<button type="button" class="quiet theme" onClick=${change} title="Colours: auto, light or dark"><span aria-hidden="true">${{ auto: "◐", light: "☀", dark: "☾" }[theme]}</span> ${theme}</button>`;
}

// Banner says that the server is away, and since when; what stands below is what was known then.
function Banner() {
	const [since, set] = useState(null);
	useEffect(() => onReach(set), []);
	const now = useNow(since !== null);
	return html`<div role="status" class="banner-place">${since && html`<div class="banner"><strong>The server does not answer</strong> since <${Time} at=${since} now=${now} /> (${duration((now - since) / 1000)}). What you see is what was known then; the page connects again by itself.</div>`}</div>`;
}

function Nowhere() {
	return html`<h1>There is no such page</h1><p><a href="#/">Look at the queries</a></p>`;
}

function Load({ parts, may }) {
	const [what, id, below, number] = parts;
	if (what === undefined) return html`<${LoadRuns} />`;
	if (what === "profiles" && !id) return html`<${LoadProfiles} may=${may} />`;
	if (what === "profiles" && !below) return html`<${LoadProfile} key=${id} id=${id} may=${may} />`;
	if (what === "compare" && id && below && !number) return html`<${LoadCompare} key=${`${id} ${below}`} base=${id} run=${below} />`;
	if (what === "runs" && id && (!below || (below === "executions" && /^\d{1,7}$/.test(number)))) return html`<${LoadRun} key=${id} id=${id} number=${number} may=${may} />`;
	return html`<${Nowhere} />`;
}

function Page({ parts, may }) {
	const [first, second, third, fourth] = parts;
	if (first === "load") return html`<${Load} parts=${parts.slice(1)} may=${may} />`;
	if (first === undefined) return html`<${List} />`;
	if (first === "submit" && !second) return html`<${Submit} may=${may} />`;
	if (first === "services" && !second) return html`<${Services} />`;
	if (first === "workers" && !second) return html`<${Workers} />`;
	if (first === "queries" && second && (!third || (third === "chunks" && fourth))) return html`<${Query} key=${second} id=${second} chunk=${fourth} may=${may} />`;
	return html`<${Nowhere} />`;
}

function App() {
	const parts = useRoute();
	const { who, known, refused, ask } = useWho();
	const may = useMemo(() => permissions(who), [who]);
	const main = useRef(null);
	const place = parts.slice(0, parts[0] !== "load" ? 2 : parts[1] === "compare" ? 4 : 3).join("/");
	const firstPlace = useRef(place);
	useEffect(() => {
		if (firstPlace.current === place) return;
		firstPlace.current = place;
		main.current.focus({ preventScroll: true });
		scrollTo(0, 0);
	}, [place]);
	const logout = async () => {
		await fetch("/logout", { method: "POST", credentials: "same-origin" }).catch(() => {});
		location.reload();
	};
	const here = parts[0] === undefined || parts[0] === "queries" || parts[0] === "submit" ? "#/" : `#/${parts[0]}`;
	return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); main.current.focus(); }}>Skip to the content</a>
		<header><a class="brand" href="#/"><img src="/assets/icon.svg" alt="" width="24" height="24" /> Braid</a>
			<nav aria-label="Pages">${pages.map(([to, name]) => html`<a href=${to} aria-current=${to === here ? "page" : undefined}>${name}</a>`)}</nav>
			<span class="who">${who?.name && html`<span title=${[who.role, who.team].filter(Boolean).join(" · ")}>${who.name}</span>`}${who?.auth && html`<button type="button" class="quiet" onClick=${logout}>Log out</button>`}<${ThemeButton} /></span></header>
		<${Banner} />
		<main id="main" tabindex="-1" ref=${main}>${refused ? html`<${Login} onDone=${ask} />` : known && html`<${Page} parts=${parts} may=${may} />`}</main>
		<footer><a href="/docs">API</a> <span class="muted">Ids, times and words are those of the command line.</span></footer>`;
}

const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
