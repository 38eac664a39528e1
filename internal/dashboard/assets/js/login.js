// The form that asks who somebody is. The token goes to the server once and is kept nowhere in the page.
import { html, useLayoutEffect, useRef, useState } from "./dom.js";
import { reached } from "./api.js";

export function Login({ onDone }) {
	const [error, setError] = useState("");
	const [busy, setBusy] = useState(false);
	const input = useRef(null);
	useLayoutEffect(() => { // at once: somebody may be typing already
		document.title = "Log in · Braid";
		input.current.focus();
	}, []);
	const submit = async (event) => {
		event.preventDefault();
		setBusy(true);
		setError("");
		try {
			const response = await fetch("/login", { method: "POST", body: new URLSearchParams({ token: input.current.value.trim() }), credentials: "same-origin", headers: { Accept: "application/json" } });
			reached(true);
			if (response.ok) {
				input.current.value = "";
				onDone();
				return;
			}
			const problem = await response.json().catch(() => ({}));
			setError(refusal(response.status, problem.detail));
		} catch {
			reached(false);
			setError("The server does not answer.");
		} finally {
			setBusy(false);
			input.current?.select();
		}
	};
	return html`<section class="panel login"><h1>Log in</h1><p>This server answers only those whom it knows. Paste the token that you were given.</p>
		<form onSubmit=${submit}><label>Token <input ref=${input} type="password" name="token" autocomplete="current-password" required aria-invalid=${error ? "true" : "false"} aria-describedby="login-error" /></label>
		<button type="submit" class="primary" disabled=${busy}>${busy ? "…" : "Log in"}</button></form>
		<div id="login-error" role="alert">${error && html`<div class="box error">${error}</div>`}</div></section>`;
}

// refusal says why nobody was let in. A token that has expired is one that the server knows.
function refusal(status, detail = "") {
	const why = detail.replace(/^not authenticated: /, "");
	if (status !== 401) {
		return detail || `The server answered ${status}.`;
	}
	return /expired/.test(why) ? `${why.charAt(0).toUpperCase()}${why.slice(1)}. Ask for a new one.` : `The server does not know this token. ${why}`;
}
