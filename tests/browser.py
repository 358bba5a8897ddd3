"""A browser for tests of pages; what needs it is skipped where there is none."""

import shutil
from contextlib import contextmanager

import pytest

PATH = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NEEDED = pytest.mark.skipif(PATH is None, reason="no browser: chromium or google-chrome")
SETTINGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")

# What of all texts in charts leaves its chart, and which two of one chart overlap.
TEXTS = """() => [...document.querySelectorAll("svg.chart")].flatMap((chart) => {
  const all = chart.getBoundingClientRect();
  const boxes = [...chart.querySelectorAll("text")].map((z) => [z.textContent, z.getBoundingClientRect()]);
  const out = boxes.filter(([, b]) => b.left < all.left - 0.5 || b.right > all.right + 0.5
    || b.top < all.top - 0.5 || b.bottom > all.bottom + 0.5).map(([t]) => `${t} leaves ${chart.ariaLabel}`);
  boxes.forEach(([t, a], i) => boxes.slice(i + 1).forEach(([u, b]) => {
    if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom) out.push(`${t} on ${u}`);
  }));
  return out;
})"""


@contextmanager
def started():
    """A browser that ends with the block; skips where the package that drives it is not installed."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with driver.sync_playwright() as running:
        made = running.chromium.launch(executable_path=PATH, args=SETTINGS)
        yield made
        made.close()
