"use strict";

// Every ten seconds, what the page says is replaced; where the reader has scrolled to stays.
async function refresh() {
  if (document.hidden) return;
  let fresh = false;
  try {
    const said = await fetch("/", { cache: "no-store" });
    if (said.ok) {
      const page = new DOMParser().parseFromString(await said.text(), "text/html");
      document.querySelector("main").replaceWith(page.querySelector("main"));
      fresh = true;
    }
  } catch {
    // the server is gone: the line below says so
  }
  document.getElementById("stale").hidden = fresh;
}

setInterval(refresh, 10_000);
