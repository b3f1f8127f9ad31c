# Everything that is done to this repository, one target each. `make help` lists them.
# The environment is .venv; what is already up to date is not made again.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first Python of a fitting version that really starts (a version manager's stand-in may not).
PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3.14 python3,$(shell \
  $(p) -c 'import sys; (3, 11) <= sys.version_info[:2] <= (3, 14) and print("$(p)")' 2>/dev/null)))
BIN := .venv/bin
RUN := $(BIN)/python -m
# Python that is linted and type-checked.
CODE := $(wildcard gradviz gradviz_pytest gradviz_run tests benchmarks conftest.py hatch_build.py notebooks/*.py)
LESSONS := $(wildcard notebooks/*.ipynb notebooks/howto/*.ipynb)
ANSWERS := $(wildcard notebooks/answers/*.ipynb)
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout 120 \
  --nbval-sanitize-with $(firstword $(wildcard gradviz/sanitize.cfg notebooks/sanitize.cfg))
# "there" when the front end can be built and tested.
NODE := $(shell node -e 'const [a, b] = process.versions.node.split("."); \
  process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null && command -v npm >/dev/null && echo there)
# What goes on to pytest and to JupyterLab, which wants to be told when root starts it.
# WORKERS processes share the tests file by file; 0 runs them in pytest's own process.
PYTEST_ARGS ?=
WORKERS ?= logical
SHARED := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# What goes on to bench, as in BENCH_ARGS="--only peers --page docs/large_models.md".
BENCH_ARGS ?= --plot build/growth.svg
# Pythons of test-versions, as in PYTHONS="3.13 3.14"; all if empty.
PYTHONS ?=
# What goes on to size (as in SIZE_ARGS=--lower) and to test-faults (as in FAULTS_ARGS="--only view").
SIZE_ARGS ?=
FAULTS_ARGS ?=
LAB_ARGS ?= $(if $(filter 0,$(shell id -u)),--allow-root)

export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PYTHONHASHSEED ?= 0
# Tests start more than a hundred processes: none of them compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

# ---------------------------------------------------------------- environment

.PHONY: env
env: .venv/.tests  ## make the environment .venv, with what the tests need

.venv/.created:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 to 3.14 found. Name one: make lab PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv || \
	  { echo "Python's venv module is not complete (on Debian: apt-get install python3-venv)."; exit 1; }
	@touch $@

# torch goes first and alone, and a torch that is already there stays, whatever its version.
.venv/constraints.txt: .venv/.created constraints.txt
	@$(BIN)/python -c 'import torch' 2>/dev/null || \
	  { echo "Installing PyTorch into .venv: with pip's default on Linux this is some gigabytes."; \
	    $(RUN) pip install -c constraints.txt torch; }
	grep -v '^torch==' constraints.txt > $@
	$(RUN) pip freeze | grep '^torch==' >> $@

# What a learner needs; the tests need more.
.venv/.installed: .venv/constraints.txt pyproject.toml hatch_build.py
	@echo "Installing gradviz and JupyterLab into .venv: a minute or two."
	$(RUN) pip install -q -c .venv/constraints.txt -e '.[lab]'
	@touch $@

.venv/.tests: .venv/.installed
	@echo "Installing what the tests need into .venv: a minute."
	$(RUN) pip install -q -c .venv/constraints.txt -e '.[tests]'
	@touch $@

# ------------------------------------------------------------------- learners

.PHONY: lab
lab: .venv/.installed  ## open JupyterLab on the lessons
	$(BIN)/gradviz lab $(if $(LAB_ARGS),-- $(LAB_ARGS))

# --------------------------------------------------------------------- checks

.PHONY: test
test: env node-if-there browser-if-there test-python test-lessons  ## run every test this machine can run

# A test that has not ended after five minutes says where it is, and fails; the others go on.
.PHONY: test-python
test-python: env
	$(RUN) pytest -rs --durations=10 -o faulthandler_timeout=300 $(SHARED) $(PYTEST_ARGS)

.PHONY: test-lessons
test-lessons: env  ## run the lessons and the how-to pages, and compare with their stored outputs
	$(RUN) pytest -rs $(SHARED) $(NBVAL) $(LESSONS)

# Programs do not run in the processes that drive Chromium for minutes. pytest ends with 5 where
# PYTEST_ARGS leaves no test of a kind.
IF_ANY := || [ $$? -eq 5 ]
EXHAUSTIVE := opdb_all or deepest or exhaustive
.PHONY: test-exhaustive
test-exhaustive: env  ## torch's whole operator database, the deepest graphs, more random programs, lessons built again, answers (minutes)
	$(RUN) pytest -rs -m "($(EXHAUSTIVE)) and not browser" --durations=20 $(SHARED) $(PYTEST_ARGS) $(IF_ANY)
	$(RUN) pytest -rs -m "($(EXHAUSTIVE)) and browser" --durations=20 $(SHARED) $(PYTEST_ARGS) $(IF_ANY)
	$(RUN) pytest -rs $(SHARED) $(NBVAL) $(ANSWERS) $(PYTEST_ARGS) $(IF_ANY)

.PHONY: test-played
test-played: env  ## every lesson played by a learner in Chromium: wrong answers, hints, right ones (minutes)
	$(RUN) pytest -rs -m played --durations=20 -n $(WORKERS) tests/browser/test_lessons_played.py tests/browser/test_inventory_played.py $(PYTEST_ARGS)

.PHONY: test-accelerator
test-accelerator: env  ## tests and lessons with tensors on CUDA: a GPU, or a stand-in that g++ compiles (minutes)
	$(RUN) tests.accelerator -n $(WORKERS) $(PYTEST_ARGS)

.PHONY: test-models
test-models: .venv-models/.installed  ## the gallery of models, those of transformers, peft and lightning too
	.venv-models/bin/python -m pytest -rs --durations=10 -m "" $(SHARED) tests/models $(PYTEST_ARGS) $(IF_ANY)

.PHONY: gallery
gallery: .venv-models/.installed  ## draw docs/gallery.md and its pictures again
	.venv-models/bin/python -m tests.models --write

# It also sees the packages of .venv, so that torch is there once; nothing goes into .venv.
.venv-models/.installed: .venv/.tests
	$(RUN) venv --without-pip --clear .venv-models
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > "$$(echo .venv-models/lib/python*/site-packages)/packages_of_venv.pth"
	.venv-models/bin/python -m pip install -q -c .venv/constraints.txt 'gradviz-kit[models]'
	@touch $@

.PHONY: test-versions
test-versions: env  ## every Python, oldest and newest torch, oldest versions of what else is needed (nightly)
	$(RUN) tests.versions $(PYTHONS)

.PHONY: test-faults
test-faults: env node-if-there  ## are faults that are put into gradviz noticed by its tests? (half an hour)
	$(RUN) tests.seeded_faults $(FAULTS_ARGS)

.PHONY: coverage
coverage: env node-if-there  ## what of gradviz do the tests reach? (twice the time of all tests)
	$(RUN) pip install -q -c .venv/constraints.txt 'gradviz-kit[coverage]'
	$(RUN) tests.covered $(PYTEST_ARGS)

.PHONY: test-nightly
test-nightly:  ## all tests, whole, one target after the other (hours)
	$(MAKE) --keep-going check test test-models test-exhaustive test-accelerator test-played test-faults test-versions

.PHONY: size
size: env  ## how large gradviz is, beside the last commit; tests/size.json only falls
	$(RUN) tests.size $(SIZE_ARGS)

.PHONY: check
check: env node-if-there  ## lint and check types, Python and TypeScript
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy $(CODE)
ifneq ($(NODE),)
	cd widgets && npm run --silent types && npm run --silent lint
else
	@echo "TypeScript is not checked: no npm with Node 20.19 or newer"
endif

# Other tools are in an environment of their own, which sees .venv: they bring packages of their own.
.venv-bench/.installed: .venv/.tests pyproject.toml
	$(RUN) venv .venv-bench
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  "$$(.venv-bench/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/gradviz-env.pth"
	.venv-bench/bin/python -m pip install -q $$($(BIN)/python -c 'import tomllib; \
	  print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"])') || \
	  echo "torchview and torchlens are left out: pip install failed"
	@touch $@

.PHONY: bench
bench: .venv-bench/.installed  ## measure against the bare walk, torchviz, torchview and torchlens
	.venv-bench/bin/python -m benchmarks $(BENCH_ARGS)

# ------------------------------------------------------- things that are made

.PHONY: build
build: widgets/node_modules/.installed  ## build the front end into gradviz/view/static
	cd widgets && npm run --silent build

widgets/node_modules/.installed: widgets/package.json
	cd widgets && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --no-package-lock --no-audit --no-fund
	@touch $@

.PHONY: node-if-there
ifneq ($(NODE),)
node-if-there:
	@$(MAKE) --no-print-directory widgets/node_modules/.installed || \
	  echo "Front-end tests are skipped: npm install failed"
else
node-if-there:
	@echo "Front-end tests are skipped: no npm with Node 20.19 or newer"
endif

.PHONY: lessons
lessons: env  ## run notebooks/source and write notebooks/*.ipynb
	$(BIN)/python notebooks/build.py

.PHONY: readme
readme: env  ## draw README.svg again
	$(RUN) tests.test_readme

# Chromium's headless shell, where Debian has it and we may install it.
.PHONY: browser-if-there
browser-if-there:
	@if ! command -v chromium >/dev/null; then echo "Browser tests are skipped: no Chromium"; \
	elif ! command -v chromium-headless-shell >/dev/null; then \
	  { [ "$$(id -u)" -eq 0 ] && command -v apt-get >/dev/null && \
	    timeout 120 apt-get install -q -y --no-install-recommends chromium-headless-shell >/dev/null; } || \
	  echo "Browser tests take a third longer: no chromium-headless-shell (a package of Debian's)"; fi

.PHONY: clean
clean:  ## remove the environment and everything that was made
	rm -rf .venv .venv-models .venv-bench build dist widgets/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
