"use strict";

// Every ten seconds, what changed is replaced. Where the reader has scrolled to and what is unfolded stays as it is.
const EVERY = 10_000;

function path(element) {
  const named = element.closest("[id]");
  if (!named) return null;
  return named === element ? `#${CSS.escape(named.id)}` : `#${CSS.escape(named.id)} ${element.tagName}`;
}

function replace(old, fresh) {
  const open = [...old.querySelectorAll("details[open]")].map((z) => z.id);
  const left = [...old.querySelectorAll(".wide, pre")].map((z) => z.scrollLeft);
  const focus = old.contains(document.activeElement) ? path(document.activeElement) : null;
  old.replaceWith(fresh);
  for (const id of open) fresh.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  fresh.querySelectorAll(".wide, pre").forEach((z, i) => { z.scrollLeft = left[i] ?? 0; });
  if (focus) document.querySelector(focus)?.focus({ preventScroll: true });
}

function same(old, fresh) {
  const copy = old.cloneNode(true);
  copy.querySelectorAll("details[open]").forEach((z) => z.removeAttribute("open"));
  return copy.isEqualNode(fresh);
}

function update(page) {
  const parts = (root) => [...root.querySelectorAll("#head, main section, #foot")];
  const old = parts(document), fresh = parts(page);
  if (old.length !== fresh.length || old.some((z, i) => z.id !== fresh[i].id)) {
    replace(document.querySelector("main"), page.querySelector("main"));
    return;
  }
  old.forEach((z, i) => { if (!same(z, fresh[i])) replace(z, fresh[i]); });
}

async function refresh() {
  if (document.hidden) return;
  let fresh = false;
  try {
    const response = await fetch(location.pathname, { cache: "no-store" });
    if (response.ok) {
      update(new DOMParser().parseFromString(await response.text(), "text/html"));
      fresh = true;
    }
  } catch {
    // the server is gone: the line above all says so
  }
  document.getElementById("stale").hidden = fresh;
}

setInterval(refresh, EVERY);
