// Runs before anything is drawn, so that a remembered theme does not flash. "auto" follows the system.
(() => {
	let theme = "auto";
	try {
		theme = localStorage.getItem("braid-theme") ?? "auto";
	} catch {
		// storage is off: the system's theme is used
	}
	if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
