// How each service stands: gate, slots and their holders, quota pools, queries.
import { html, useEffect } from "./dom.js";
import { useNow, usePolled } from "./live.js";
import { count, duration, plural } from "./format.js";
import { Command, Countdown, Empty, ErrorBox, Fact, Loading, QuotaBar, State, Time, told } from "./parts.js";

const every = 2000;
const mostHolders = 48;

// spentPool finds the pool of which no account has a unit to spend, the one that is so for longest, and when that ends; null: none is.
// A time that is nearly there is the pace of requests, and no pause.
export function spentPool(pools, now) {
	const waits = new Map();
	for (const p of pools) {
		const named = [p.next, p.reset].filter(Boolean).map((at) => new Date(at)).find((at) => at > now);
		const empty = p.limit > 0 && p.left <= (p.hold_back ?? 0);
		const until = empty ? named ?? null : p.next && new Date(p.next) - now > 2000 ? new Date(p.next) : undefined;
		if (!waits.has(p.pool)) waits.set(p.pool, []);
		waits.get(p.pool).push(until);
	}
	let longest = null;
	for (const [pool, list] of waits) {
		if (list.includes(undefined)) continue; // an account of it may spend
		const ends = list.filter(Boolean);
		const until = ends.length > 0 ? new Date(Math.min(...ends)) : null;
		if (!longest || (until && (!longest.until || until > longest.until))) longest = { pool, until };
	}
	return longest;
}

function Gate({ gate, pools, now }) {
	const until = gate && new Date(gate.until);
	if (gate && until > now) return html`<span class="gate closed">‖ closed, opens <${Countdown} to=${until} now=${now} /></span>`;
	const spent = spentPool(pools, now);
	if (!spent) return html`<span class="gate open">● open</span>`;
	return html`<span class="gate closed" title=${`The gate is open, and nothing is left of ${spent.pool}.`}>‖ paused by its quota${spent.until && html` until <${Time} at=${spent.until} now=${now} /> (<${Countdown} to=${spent.until} now=${now} />)`}</span>`;
}

function Slots({ service, now }) {
	const slots = service.slots ?? 0;
	const holders = service.holders ?? [];
	if (!slots && holders.length === 0) return html`<p class="muted">No query has used it yet.</p>`;
	return html`<div class="slots"><p><strong>${count(holders.length)}</strong> of ${plural(slots, "slot")} taken <small>${[service.explicit && "set by a person", service.lease_ttl_ns > 0 && `a dead worker's slot is free again after ${duration(service.lease_ttl_ns / 1e9)}`].filter(Boolean).join(" · ")}</small></p>
		${holders.length > 0 && html`<details><summary>Who holds them</summary><table class="narrow"><caption class="hidden">Holders of slots</caption><thead><tr><th scope="col" class="number">Slot</th><th scope="col">Worker</th><th scope="col">For</th></tr></thead>
			<tbody>${holders.slice(0, mostHolders).map((h) => html`<tr><td class="number">${h.capacity && `${h.capacity} `}${h.slot}</td><td>${h.worker}</td><td>${duration(Math.max(0, now - new Date(h.since)) / 1000)}</td></tr>`)}</tbody></table>
			${holders.length > mostHolders && html`<p class="muted">and ${count(holders.length - mostHolders)} more</p>`}</details>`}</div>`;
}

function Pool({ pool, now }) {
	const next = pool.next && new Date(pool.next);
	const spent = pool.limit ? pool.limit - pool.left : null;
	return html`<li><div class="pool-name"><strong>${pool.pool}</strong> <small>${pool.owner}</small></div>
		${pool.limit ? html`<${QuotaBar} left=${pool.left} limit=${pool.limit} heldBack=${pool.hold_back ?? 0} label=${`Left of ${pool.pool}`} />` : ""}
		<span>${pool.limit ? html`<span class="number">${count(pool.left)}</span> of ${count(pool.limit)} ${pool.counts} left` : `the limit is not known; ${pool.counts} are counted`}${pool.hold_back > 0 && html`, ${count(pool.hold_back)} held back`}</span>
		<small>${pool.model} window of ${duration(pool.window_seconds)}${pool.observed && ", as the service says"}${pool.since && spent > 0 && pool.model === "rolling" && html`; the oldest returns <${Countdown} to=${new Date(new Date(pool.since).getTime() + pool.window_seconds * 1000)} now=${now} over="now" />`}</small>
		${next && next > now && html`<small class="warn">the next request is allowed <${Countdown} to=${next} now=${now} /></small>`}</li>`;
}

function Service({ service, now }) {
	const queries = service.queries ?? [];
	const pools = service.pools ?? [];
	const tripped = queries.filter((q) => q.tripped);
	const id = `service-${service.name}`;
	return html`<section class="panel service" aria-labelledby=${id} data-service=${service.name}><div class="panel-title"><h2 id=${id}>${service.name}</h2><${Gate} gate=${service.gate} pools=${pools} now=${now} /></div>
		<p class="about">${service.title}${service.unknown && html`<span class="warn">this coordinator has no definition of it</span>`}${service.docs && /^https?:/.test(service.docs) && html` · <a href=${service.docs} rel="noopener noreferrer" target="_blank">documentation</a>`}${service.url && html`<br /><code>${service.url}</code>`}</p>
		${service.gate && new Date(service.gate.until) > now && html`<div class="box warning"><strong>${service.gate.status ? `HTTP ${service.gate.status}` : "Closed"}.</strong> <span>${service.gate.reason}</span> <small>met by ${service.gate.worker} at <${Time} at=${service.gate.at} now=${now} /></small></div>`}
		${tripped.map((q) => html`<div class="box error"><strong>Breaker.</strong> <span><a href=${`#/queries/${encodeURIComponent(q.id)}`}>${q.name}</a>: ${count(q.tripped.failed)} of the last ${count(q.tripped.ended)} chunks failed, ${count(q.tripped.alike)} of them alike.</span></div>`)}
		<${Slots} service=${service} now=${now} />
		${pools.length > 0 && html`<h3>Quota</h3><ul class="pools">${pools.map((p) => html`<${Pool} pool=${p} now=${now} />`)}</ul>`}
		${queries.length > 0 && html`<h3>Queries</h3><ul class="plain">${queries.map((q) => html`<li><a href=${`#/queries/${encodeURIComponent(q.id)}`}>${q.name}</a> <${State} state=${q.state} /></li>`)}</ul>`}
		${service.collections?.length > 0 && html`<details><summary>${plural(service.collections.length, "collection")}</summary><p class="collections">${service.collections.map((c) => html`<code>${c}</code> `)}</p><p><${Command} line=${`braid services show ${service.name} --collection ${service.collections[0]}`} /></p></details>`}</section>`;
}

export function Services() {
	const { data, error } = usePolled("/v1/services", every);
	const now = useNow();
	useEffect(() => {
		document.title = "Services · Braid";
	}, []);
	const services = data?.services ?? [];
	const busy = (s) => (s.queries?.length > 0 || s.holders?.length > 0 || s.slots > 0 ? 0 : 1);
	return html`<h1>Services</h1><${ErrorBox} error=${data ? told(error) : error} doing="list the services" />
		${!data && !error && html`<${Loading} what="Reading the services" />`}
		${data && services.length === 0 && html`<${Empty} title="There are no services."><p>Give the coordinator a folder of definitions. To look at one:</p><p><${Command} line="braid services list" /></p><//>`}
		<div class="services">${[...services].sort((a, b) => busy(a) - busy(b)).map((s) => html`<${Service} key=${s.name} service=${s} now=${now} />`)}</div>`;
}

export function Workers() {
	const { data, error } = usePolled("/v1/workers", every);
	const now = useNow();
	useEffect(() => {
		document.title = "Workers · Braid";
	}, []);
	const workers = data?.workers ?? [];
	const clock = data ? new Date(data.now) : now;
	return html`<h1>Workers</h1><${ErrorBox} error=${data ? told(error) : error} doing="list the workers" />
		${!data && !error && html`<${Loading} what="Reading the workers" />`}
		${data && workers.length === 0 && html`<${Empty} title="No worker is there."><p>Queries wait until one is. Start it with the address of NATS:</p><p><${Command} line="worker --nats-url nats://HOST:4222" /></p><//>`}
		${workers.length > 0 && html`<p class="about">${plural(workers.length, "worker")}, ${count(workers.reduce((n, w) => n + w.running, 0))} of ${plural(workers.reduce((n, w) => n + w.concurrency, 0), "place")} in use</p>
		<table class="cards"><caption class="hidden">Workers in the order of their names</caption><thead><tr><th scope="col">Worker</th><th scope="col">Runs</th><th scope="col">Host</th><th scope="col">Version</th><th scope="col">Up for</th><th scope="col">Heard of</th></tr></thead>
			<tbody>${workers.map((w) => html`<tr key=${w.id + (w.instance ?? "")} data-worker=${w.id}><th scope="row">${w.id}</th><td data-label="Runs"><span class="number">${count(w.running)} of ${count(w.concurrency)}</span><${QuotaBar} left=${w.running} limit=${w.concurrency} label=${`Places in use at ${w.id}`} /></td>
				<td data-label="Host">${w.host}</td><td data-label="Version">${w.version}</td><td data-label="Up for">${duration((clock - new Date(w.started)) / 1000)}</td><td data-label="Heard of"><${Time} at=${w.seen} now=${clock} relative /></td></tr>`)}</tbody></table>`}`;
}
