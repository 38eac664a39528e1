// Copies the libraries of the dashboard from node_modules into internal/dashboard/assets/vendor, with their licences and a manifest
// that says where each file came from. Equal locks give equal bytes. Run it by `make web`.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../internal/dashboard/assets/vendor");
const lock = JSON.parse(readFileSync(join(here, "package-lock.json"), "utf8"));

// A browser finds no package by its bare name, and the page has no import map: one would be an inline script. Source maps stay away.
const plain = (text) => text.replace(/\n?\/\/# sourceMappingURL=.*\n?$/, "\n");
const beside = (text) => plain(text).replaceAll('from"preact"', 'from"./preact.js"');
const module = (text) => plain(text) + "export default uPlot;\n";

const files = [
	["preact", "dist/preact.module.js", "preact.js", plain, "without the comment that names its source map"],
	["preact", "hooks/dist/hooks.module.js", "preact-hooks.js", beside, "imports ./preact.js; without the comment that names its source map"],
	["htm", "dist/htm.module.js", "htm.js", plain, "none"],
	["uplot", "dist/uPlot.iife.min.js", "uplot.js", module, "exports uPlot"],
	["uplot", "dist/uPlot.min.css", "uplot.css", (text) => text, "none"],
	["preact", "LICENSE", "LICENSE.preact", (text) => text, "none"],
	["htm", "LICENSE", "LICENSE.htm", (text) => text, "none"],
	["uplot", "LICENSE", "LICENSE.uplot", (text) => text, "none"],
];

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const manifest = files.map(([name, source, file, change, changed]) => {
	const text = change(readFileSync(join(here, "node_modules", name, source), "utf8"));
	writeFileSync(join(target, file), text);
	const { version, integrity, license } = lock.packages[`node_modules/${name}`];
	return { file, package: name, version, license, integrity, source, changed, sha256: createHash("sha256").update(text).digest("hex") };
});
writeFileSync(join(target, "manifest.json"), JSON.stringify(manifest, null, "\t") + "\n");
