// The grid of positions on a canvas: each cell is one position, or a bin of neighbouring ones. What is drawn is bounded by the room that
// there is, whatever the size of the plan.
import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from "./dom.js";
import { queryPath } from "./api.js";
import { count } from "./format.js";
import { useRefreshed } from "./live.js";
import { chunkStates } from "./states.js";

const gap = 1; // CSS pixels, of each cell's own
const mostHeight = 242;
const mostBins = 4096; // of the API

// layoutOf says how many cells there is room for, and how large they are in CSS pixels, their gaps included: the fewer the larger.
function layoutOf(width, positions) {
	const of = (cell) => {
		const columns = Math.max(8, Math.floor(width / cell));
		const rows = Math.max(1, Math.min(Math.floor(mostHeight / cell), Math.ceil(positions / columns)));
		return { cell, columns, rows, bins: Math.min(mostBins, columns * rows) };
	};
	return [22, 16].map(of).find((l) => l.bins >= positions) ?? of(11);
}

// fewest is how many positions are shown when one has come as near as one can.
const fewest = (width, chunks) => Math.min(chunks, Math.max(8, Math.floor(width / 22)) * 8);

// counts of bin i, pending included.
export function binAt(grid, i) {
	const from = grid.from + i * grid.width;
	const to = Math.min(grid.to, from + grid.width);
	const counts = { pending: to - from };
	for (const { name, list } of chunkStates) {
		if (!list) continue;
		counts[name] = grid[list]?.[i] ?? 0;
		counts.pending -= counts[name];
	}
	counts.pending = Math.max(0, counts.pending);
	return { from, to, counts };
}

const binsOf = (grid) => Math.ceil((grid.to - grid.from) / grid.width);

// totals over what is shown.
function totals(grid) {
	const sum = Object.fromEntries(chunkStates.map((s) => [s.name, 0]));
	for (let i = 0, n = binsOf(grid); i < n; i++) {
		const { counts } = binAt(grid, i);
		for (const name in sum) sum[name] += counts[name];
	}
	return sum;
}

function colours(element) {
	const style = getComputedStyle(element);
	return Object.fromEntries([...chunkStates.map((s) => s.name), "ink", "outline", "cursor"].map((name) => [name, style.getPropertyValue(`--chunk-${name.replace("_", "-")}`).trim()]));
}

// draw fills the canvas and gives the number of rectangles and marks that it took.
function draw(canvas, grid, layout, cursor) {
	const scale = window.devicePixelRatio || 1;
	const { cell } = layout;
	const width = layout.columns * cell;
	const height = layout.rows * cell;
	if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
	}
	const c = canvas.getContext("2d");
	c.setTransform(scale, 0, 0, scale, 0, 0);
	c.clearRect(0, 0, width, height);
	const colour = colours(canvas);
	const size = cell - gap;
	let drawn = 0;
	for (let i = 0, n = Math.min(binsOf(grid), layout.columns * layout.rows); i < n; i++) {
		const x = (i % layout.columns) * cell;
		const y = Math.floor(i / layout.columns) * cell;
		const { from, to, counts } = binAt(grid, i);
		let filled = 0;
		for (const { name } of chunkStates) {
			if (!counts[name]) continue;
			// A single failure among thousands still shows: it gets a third of the cell at least, and each other state a sixth.
			const part = Math.min(size - filled, Math.max(size / (name === "failed" ? 3 : 6), (size * counts[name]) / (to - from)));
			if (part <= 0) break;
			c.fillStyle = colour[name];
			c.fillRect(x, y + filled, size, part);
			drawn++;
			if (part > size * 0.6) drawn += mark(c, name, x, y + filled, size, part, colour.ink);
			filled += part;
		}
		if (counts.pending === to - from) {
			c.strokeStyle = colour.outline;
			c.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
			drawn++;
		}
	}
	if (cursor !== null) {
		const i = Math.floor((cursor - grid.from) / grid.width);
		c.strokeStyle = colour.cursor;
		c.lineWidth = 2;
		c.strokeRect((i % layout.columns) * cell, Math.floor(i / layout.columns) * cell, size, size);
		c.lineWidth = 1;
		drawn++;
	}
	return drawn;
}

// mark tells states apart without colour: a cross, a bar, a plus, a ring. Done is plain, pending hollow.
function mark(c, name, x, y, size, height, ink) {
	const mx = x + size / 2;
	const my = y + height / 2;
	const r = Math.min(size, height) * 0.3;
	c.strokeStyle = c.fillStyle = ink;
	c.lineWidth = 1.5;
	c.beginPath();
	switch (name) {
	case "failed":
		c.moveTo(mx - r, my - r);
		c.lineTo(mx + r, my + r);
		c.moveTo(mx + r, my - r);
		c.lineTo(mx - r, my + r);
		break;
	case "in_flight":
		c.moveTo(mx - r, my + r);
		c.lineTo(mx + r, my - r);
		break;
	case "split":
		c.moveTo(mx, my - r * 1.2);
		c.lineTo(mx, my + r * 1.2);
		break;
	case "empty":
		c.arc(mx, my, r * 0.75, 0, 2 * Math.PI);
		break;
	default:
		c.lineWidth = 1;
		return 0;
	}
	c.stroke();
	c.lineWidth = 1;
	return 1;
}

const words = (counts) => chunkStates.filter((s) => counts[s.name] > 0).map((s) => `${count(counts[s.name])} ${s.word}`).join(", ");
const rangeWords = (bin) => (bin.to - bin.from === 1 ? `position ${count(bin.from)}` : `positions ${count(bin.from)} to ${count(bin.to - 1)}`);

// Legend shows each state as it is drawn, with how many there are of it in sight.
function Legend({ sums }) {
	return html`<ul class="legend" aria-label="Legend">${chunkStates.map((s) => html`<li><${Swatch} name=${s.name} /> ${s.word} <span class="number">${sums ? count(sums[s.name]) : ""}</span></li>`)}</ul>`;
}

function Swatch({ name }) {
	const canvas = useRef(null);
	useLayoutEffect(() => {
		const one = { from: 0, to: 1, width: 1, [chunkStates.find((s) => s.name === name).list ?? "done"]: [name === "pending" ? 0 : 1] };
		const paint = () => draw(canvas.current, one, { cell: 11, columns: 1, rows: 1, bins: 1 }, null);
		paint();
		return onTheme(paint);
	}, [name]);
	return html`<canvas ref=${canvas} class="swatch" aria-hidden="true"></canvas>`;
}

// onTheme calls back when the page's colours change.
export function onTheme(callback) {
	const media = matchMedia("(prefers-color-scheme: dark)");
	media.addEventListener("change", callback);
	window.addEventListener("braid-theme", callback);
	return () => {
		media.removeEventListener("change", callback);
		window.removeEventListener("braid-theme", callback);
	};
}

// clampView keeps a view inside the plan, and no smaller than least; null is the whole plan.
function clampView(from, to, chunks, least) {
	const span = Math.min(chunks, Math.max(least, Math.round(to - from)));
	const start = Math.max(0, Math.min(chunks - span, Math.round(from)));
	return span >= chunks ? null : { from: start, to: start + span };
}

export function Grid({ id, chunks, revision, turn, onOpen }) {
	const box = useRef(null);
	const canvas = useRef(null);
	const [width, setWidth] = useState(0);
	const [view, setView] = useState(null); // null: the whole plan
	const [cursor, setCursor] = useState(null); // a position, while the grid has the focus
	const [hover, setHover] = useState(null);
	const drag = useRef(null);
	useLayoutEffect(() => {
		const measure = () => setWidth(box.current.clientWidth);
		measure();
		const observer = new ResizeObserver(measure);
		observer.observe(box.current);
		return () => observer.disconnect();
	}, []);
	const span = view ? view.to - view.from : chunks;
	const layout = layoutOf(width || 320, span);
	const least = fewest(width || 320, chunks);
	const range = view ? `&from=${view.from}&to=${view.to}` : "";
	const { data: grid, error } = useRefreshed(width ? queryPath(id, `/grid?bins=${layout.bins}${range}`) : null, revision, { turn });
	const shown = grid && layoutOf(width || 320, grid.to - grid.from);
	const paint = useCallback(() => {
		if (!grid || !canvas.current) return;
		const at = cursor !== null && cursor >= grid.from && cursor < grid.to ? cursor : null;
		canvas.current.dataset.rects = draw(canvas.current, grid, fitting(shown, grid), at);
		canvas.current.dataset.bins = binsOf(grid);
	}, [grid, cursor, width]);
	useLayoutEffect(paint, [paint]);
	useEffect(() => onTheme(paint), [paint]);

	const zoom = useCallback((factor, around) => {
		setView((before) => {
			const now = before ?? { from: 0, to: chunks };
			const at = Math.max(now.from, Math.min(now.to - 1, around ?? (now.from + now.to) / 2));
			const size = (now.to - now.from) * factor;
			return clampView(at - (at - now.from) * factor, at - (at - now.from) * factor + size, chunks, least);
		});
	}, [chunks, least]);
	const pan = useCallback((by) => setView((now) => now && clampView(now.from + by, now.to + by, chunks, least)), [chunks, least]);

	const binUnder = (event) => {
		if (!grid) return null;
		const at = canvas.current.getBoundingClientRect();
		const column = Math.floor((event.clientX - at.left) / shown.cell);
		const row = Math.floor((event.clientY - at.top) / shown.cell);
		const i = row * shown.columns + column;
		return column < 0 || column >= shown.columns || row < 0 || i >= binsOf(grid) ? null : { ...binAt(grid, i), x: event.clientX - at.left, y: event.clientY - at.top };
	};
	const open = (bin) => {
		if (!bin) return;
		if (bin.to - bin.from === 1) onOpen(String(bin.from));
		else zoom(1 / 12, bin.from);
	};
	// A wheel listener that may keep the page from scrolling must say so; only with a key held does it zoom, so that the page scrolls on.
	useEffect(() => {
		const element = canvas.current;
		const onWheel = (event) => {
			if (!event.ctrlKey && !event.metaKey && !event.shiftKey && document.activeElement !== element) return;
			event.preventDefault();
			zoom((event.deltaY || event.deltaX) > 0 ? 1.4 : 1 / 1.4, binUnder(event)?.from);
		};
		element.addEventListener("wheel", onWheel, { passive: false });
		return () => element.removeEventListener("wheel", onWheel);
	});
	const onPointerDown = (event) => {
		drag.current = { x: event.clientX, y: event.clientY, moved: false };
		canvas.current.setPointerCapture(event.pointerId);
	};
	const onPointerMove = (event) => {
		const from = drag.current;
		if (!from || !grid) {
			setHover(binUnder(event));
			return;
		}
		const cells = Math.round((from.x - event.clientX) / shown.cell) + Math.round((from.y - event.clientY) / shown.cell) * shown.columns;
		if (cells === 0) return;
		from.moved = true;
		[from.x, from.y] = [event.clientX, event.clientY];
		pan(cells * grid.width);
	};
	const onPointerUp = (event) => {
		const moved = drag.current?.moved;
		drag.current = null;
		if (!moved) open(binUnder(event));
	};
	const onKey = (event) => {
		if (!grid) return;
		const step = grid.width;
		const at = cursor ?? grid.from;
		const move = (to) => {
			const position = Math.max(0, Math.min(chunks - 1, to));
			setCursor(position);
			if (view && (position < view.from || position >= view.to)) pan(position < view.from ? position - view.from : position - view.to + step);
		};
		const actions = {
			ArrowLeft: () => move(at - step), ArrowRight: () => move(at + step),
			ArrowUp: () => move(at - step * shown.columns), ArrowDown: () => move(at + step * shown.columns),
			Home: () => move(0), End: () => move(chunks - 1),
			PageUp: () => { pan(-span); move(at - span); }, PageDown: () => { pan(span); move(at + span); },
			"+": () => zoom(0.5, at), "=": () => zoom(0.5, at), "-": () => zoom(2, at), 0: () => setView(null),
			Enter: () => open(binAt(grid, Math.floor((at - grid.from) / step))), " ": () => open(binAt(grid, Math.floor((at - grid.from) / step))),
		};
		if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
		event.preventDefault();
		actions[event.key]();
	};
	const told = cursor !== null && grid && cursor >= grid.from && cursor < grid.to ? binAt(grid, Math.floor((cursor - grid.from) / grid.width)) : null;
	const sums = grid && totals(grid);
	return html`<section class="panel grid" aria-labelledby="grid-title">
		<div class="panel-title"><h2 id="grid-title">Positions</h2><span class="muted">${grid ? (grid.width > 1 ? `${count(grid.width)} to a cell` : "one to a cell") : ""}${grid?.reading ? ", still being read" : ""}</span>
			<span class="buttons small"><button type="button" onClick=${() => zoom(0.5)} aria-label="Zoom in" disabled=${!grid || span <= least}>+</button>
			<button type="button" onClick=${() => zoom(2)} aria-label="Zoom out" disabled=${!view}>−</button>
			<button type="button" onClick=${() => setView(null)} disabled=${!view}>All</button></span></div>
		<div class="grid-box" ref=${box} style=${{ minHeight: error && !grid ? "0" : `${heightOf(layoutOf(width || 320, chunks))}px` }}>
			<canvas ref=${canvas} tabindex="0" role="application" aria-roledescription="grid of positions" aria-describedby="grid-help"
				aria-label=${grid ? `${count(chunks)} positions; in view ${count(grid.from)} to ${count(grid.to - 1)}: ${words(sums)}` : "Positions"}
				style=${{ width: `${(shown ?? layout).columns * (shown ?? layout).cell}px`, height: `${heightOf(grid ? fitting(shown, grid) : layout)}px` }}
				class=${view ? "zoomed" : ""} onPointerDown=${onPointerDown} onPointerMove=${onPointerMove} onPointerUp=${onPointerUp}
				onPointerCancel=${() => (drag.current = null)} onPointerLeave=${() => setHover(null)} onKeyDown=${onKey}
				onFocus=${() => cursor === null && grid && canvas.current.matches(":focus-visible") && setCursor(grid.from)} onBlur=${() => setCursor(null)}></canvas>
			${hover && html`<div class="tip" style=${{ left: `${Math.min(hover.x + 14, Math.max(0, width - 220))}px`, top: `${hover.y + 16}px` }}><strong>${rangeWords(hover)}</strong><br />${words(hover.counts)}</div>`}
		</div>
		<p class="told" role="status">${told ? `${rangeWords(told)}: ${words(told.counts)}` : view ? `Positions ${count(view.from)} to ${count(view.to - 1)} of ${count(chunks)}` : `All ${count(chunks)} positions`}</p>
		<${Legend} sums=${sums} />
		<p class="muted help" id="grid-help">Click a cell, or press Enter, to see its chunk${least < chunks ? "; of several it zooms in. + and −, or the wheel with Shift, zoom; a drag moves; 0 shows all" : ""}.</p>
		${error && !grid && html`<p class="muted" role="status">The positions cannot be shown: ${error.message}</p>`}
	</section>`;
}

const heightOf = (layout) => layout.rows * layout.cell;

// fitting gives the rows that a grid needs, which the server may have divided otherwise than was asked.
function fitting(layout, grid) {
	return { ...layout, rows: Math.max(1, Math.ceil(binsOf(grid) / layout.columns)) };
}
