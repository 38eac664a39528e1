// What load runs, their outcomes and the server's cache states are called, and how they look.
import { html } from "../dom.js";
import { count } from "../format.js";

const part = encodeURIComponent;

export const runPath = (id, rest = "") => `/v1/load/runs/${part(id)}${rest}`;
export const profilePath = (id, rest = "") => `/v1/load/profiles/${part(id)}${rest}`;
export const runPage = (id) => `#/load/runs/${part(id)}`;
export const profilePage = (id) => `#/load/profiles/${part(id)}`;
export const comparePage = (base, run) => `#/load/compare/${part(base)}/${part(run)}`;

export const running = (run) => run.state !== "ended";

// In a run's word its ending stands for the state that it has ended in. The mark keeps colour from being all that tells words apart.
const states = {
	preparing: ["▶", "running"], running: ["▶", "running"], draining: ["■", "stopping"], completed: ["✓", "complete"], stopped: ["⊘", ""],
	tripped: ["✕", "failed"], preflight_failed: ["✕", "failed"], failed: ["✕", "failed"],
};

export const runWord = (run) => (running(run) ? run.state : run.ending || run.state).replaceAll("_", " ");

export function RunState({ run }) {
	const [mark, look] = states[running(run) ? run.state : run.ending] ?? ["?", ""];
	return html`<span class="state ${look}"><span aria-hidden="true">${mark}</span> ${runWord(run)}</span>`;
}

const verdicts = { passed: ["✓", "passed", "complete"], failed: ["✕", "failed", "failed"], none: ["○", "no thresholds", ""], pending: ["…", "not over yet", ""] };

export function Verdict({ verdict }) {
	const [mark, word, look] = verdicts[verdict] ?? ["…", verdict || "not over yet", ""];
	return html`<span class="state ${look}"><span aria-hidden="true">${mark}</span> ${word}</span>`;
}

export const Class = ({ name }) => html`<span class="class ${name === "PROD" ? "prod" : ""}">${name === "NON_PROD" ? "not PROD" : name}</span>`;

export const cacheStates = ["hit", "miss", "bypassed", "disabled", "mixed", "unknown"];

export const CacheState = ({ state }) => (state ? html`<span class="cache ${state}">${state}</span>` : html`<span class="muted">–</span>`);

export const outcomes = ["success", "error", "timeout", "cancelled", "not_started"];

export const words = (text) => (text ?? "").replaceAll("_", " ");

export function Outcome({ outcome, kind, status }) {
	const look = { success: "good", error: "bad", timeout: "bad" }[outcome] ?? "muted";
	const mark = { success: "✓", error: "✕", timeout: "✕" }[outcome] ?? "⊘";
	return html`<span class=${look}><span aria-hidden="true">${mark}</span> ${words(outcome)}</span>${(kind || status > 0) && html` <small>${[words(kind), status > 0 && outcome !== "success" && `HTTP ${status}`].filter(Boolean).join(" · ")}</small>`}`;
}

const precise = new Intl.NumberFormat("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

// inMs writes milliseconds without their unit, as columns have them.
export function inMs(ms) {
	if (ms === undefined || ms === null) return "–";
	return ms >= 100 ? count(ms) : ms >= 1 ? precise.format(ms) : fine.format(ms);
}

export const nsInMs = (ns) => (ns === undefined || ns === null ? null : ns / 1e6);

const share = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

// rate writes an exact fraction as a percentage: few are never none, and nearly all never all.
export function rate(r) {
	if (!r || !r.den) return "–";
	const p = (100 * r.num) / r.den;
	if (r.num > 0 && p < 0.01) return "< 0.01 %";
	return r.num < r.den && p > 99.99 ? "> 99.99 %" : `${share.format(p)} %`;
}

export const termWords = { requested: "what the profile asks for", env_max: "the environment's limit", pool_room: "the room in the environment's pool", ceiling: "the ceiling of Braid" };

// binding says which terms a capacity follows from.
export const binding = (terms) => (terms?.binding ?? []).map((t) => termWords[t] ?? t).join(" and ");
