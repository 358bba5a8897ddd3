# A newcomer needs `make demo` and `make test`; each installs what it needs first, with uv where it is there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers

UV := $(shell command -v uv 2> /dev/null)
# What is installed is compiled by the first import that needs it, as most of it is never imported.
WITH_PIP := -m pip install --quiet --disable-pip-version-check --no-compile
INSTALL = $(if $(UV),$(UV) pip install --quiet --python $(1),$(1) $(WITH_PIP))
INSTALLER := $(if $(UV),python,pip)

PYTEST := -m pytest -n 2 --dist worksteal
# Tests start many processes, each of which would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check lint docs packages bench bench-peers clean

demo: $(VENV)/.plot
	$(BIN)/evenhand demo --out out/demo

test: $(VENV)/.test
	$(BIN)/python $(PYTEST) -m "not slow" --budgets

# Everything, and nothing is skipped for want of a package. Two cores are busy while a third test waits for a server.
check: $(VENV)/.dev
	EVENHAND_EXTRAS=all $(BIN)/python $(PYTEST) -n 3 --durations 40 --durations-min 5

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -W error -m mkdocs build

packages:
	./.ci/packages

bench: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m benchmarks.run

bench-peers: $(PEERS)/.peers
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(PEERS)/bin/python -m benchmarks.peers

# An extra of pyproject.toml: what is there already is kept.
$(VENV)/.%: pyproject.toml | $(BIN)/$(INSTALLER)
	$(call INSTALL,$(BIN)/python) --editable '.[$*]'
	touch $@

$(PEERS)/.peers: pyproject.toml benchmarks/peers.txt | $(PEERS)/bin/$(INSTALLER)
	$(call INSTALL,$(PEERS)/bin/python) --editable . --requirement benchmarks/peers.txt
	touch $@

$(BIN)/$(INSTALLER) $(PEERS)/bin/$(INSTALLER):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evenhand needs Python >= 3.11; set PYTHON=...")'
	$(PYTHON) -m venv $(if $(UV),--without-pip) $(@:/bin/$(INSTALLER)=)

clean:
	rm -rf $(VENV) $(PEERS) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -exec rm -rf {} +
