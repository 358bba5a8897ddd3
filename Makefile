# A newcomer needs `make demo` and `make test`; both set everything up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := .venv-peers
PEERS_READY := $(PEERS)/.ready

PYTEST := -m pytest -n 2 --dist worksteal
# Tests start many processes, each of which would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

PARTS := choices goals models numerics planning problem sets welfare

.PHONY: demo test slow fast lint docs bench bench-peers clean

demo: $(READY)
	$(BIN)/evenhand demo --out out/demo

test: $(READY)
	$(BIN)/python $(PYTEST) -m "not slow"

slow: $(READY)
	$(BIN)/python $(PYTEST) -m slow

fast: $(READY)
	$(BIN)/python $(PYTEST) -m "not slow" $(PARTS:%=tests/%)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -W error -m mkdocs build

bench: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m benchmarks.run

bench-peers: $(PEERS_READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(PEERS)/bin/python -m benchmarks.peers

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evenhand needs Python >= 3.11; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

$(PEERS_READY): pyproject.toml benchmarks/peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable . --requirement benchmarks/peers.txt
	touch $@

clean:
	rm -rf $(VENV) $(PEERS) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -exec rm -rf {} +
