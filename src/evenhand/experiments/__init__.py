"""Reproductions of published experiments, one module per paper; `evenhand reproduce NAME` runs them."""
