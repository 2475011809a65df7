# Every target sets itself up: `make demo` and `make test` work on a fresh clone with nothing but Python >= 3.11.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# Two busy thread pools on a small machine are many times slower than one.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= $(OMP_NUM_THREADS)
export MKL_NUM_THREADS ?= $(OMP_NUM_THREADS)

.PHONY: demo test lint bench bench-core bench-graph bench-neural bench-certificate bench-elsewhere readme clean

$(PY):
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check -e ".[cli,plot]"
	touch $@

$(VENV)/.dev: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(PY) -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

$(VENV)/.bench: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $@

demo: $(VENV)/.demo
	$(PY) -m stableselect demo

test: $(VENV)/.dev
	$(PY) -m pytest

lint: $(VENV)/.dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/codespell

# Benchmarks read data from $$STABLESELECT_DATA and write benchmarks/results; `make bench` prints them.
bench-core: export OMP_NUM_THREADS := 2
bench-core: export OPENBLAS_NUM_THREADS := 2
bench-core: export MKL_NUM_THREADS := 2
bench-core: $(VENV)/.bench
	$(PY) benchmarks/core_scale.py
	$(PY) benchmarks/core_speed.py

bench-graph: $(VENV)/.bench
	$(PY) benchmarks/graph.py

bench-neural: $(VENV)/.bench
	$(PY) -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(PY) benchmarks/neural_speed.py

bench-certificate: $(VENV)/.bench
	$(PY) benchmarks/certificate.py

bench-elsewhere: $(VENV)/.bench
	$(PY) benchmarks/elsewhere.py

bench: $(VENV)/.bench
	$(PY) benchmarks/show.py

# The results table of the README, from the stored runs of docs/results.
readme: $(VENV)/.demo
	$(PY) -m stableselect paper readme --write

clean:
	rm -rf $(VENV) build dist
