# Everything sets itself up: `make demo` and `make test` need only Python 3.11 or later, git and make.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help demo test docs lint browser torture bounds bench atari-study setup clean

help: ## Show what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# Set-up happens once, and again when what is installed has changed.
.venv/installed: pyproject.toml constraints.txt
	@echo "Setting up .venv (a few minutes, once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) install --quiet --upgrade 'pip>=25.1'
	@$(PIP) install --quiet --constraint constraints.txt --editable '.[all]' --group dev
	@touch $@

# Cached machine code does not notice when a function it took from another file changes.
.venv/compiled: $(shell find src -name '*.py')
	@find src -name '*.nb[ic]' -delete
	@touch $@

setup: .venv/installed .venv/compiled ## Set up .venv with everything development needs

demo: setup ## Train MFEC with mellowmax in FourRoom, and draw its learning curve
	@rm -rf runs/demo
	$(BIN)/memec train memec/FourRoom-v0 --explore mellowmax --steps 20000 --out runs/demo
	$(BIN)/memec evaluate runs/demo
	$(BIN)/memec report runs/demo

lint: setup ## Check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The pages are tested in a real browser: Debian's, where it may be installed.
browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  echo "Installing chromium to test the pages with" && apt-get -qq update && \
	  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y chromium >/dev/null; } || true

test: lint browser ## Check style and types, then run all tests
	$(BIN)/pytest -n 2

# What the site is made with is installed only for it.
.venv/docs: .venv/installed
	@$(PIP) install --quiet --constraint constraints.txt --group docs
	@touch $@

docs: setup .venv/docs ## Make a site of the pages and the API, to read without a network: docs/_build/index.html
	$(BIN)/python -m sphinx -q -W --keep-going -c docs . docs/_build
	$(BIN)/python docs/check_site.py docs/_build

torture: setup ## Kill runs, cut their power, let calls fail and files lie: hours, for all that docs/reliability.md says
	$(BIN)/python tests/train/torture.py
	$(BIN)/python -m tests.train.power
	$(BIN)/python -m tests.train.failing
	$(BIN)/python -m tests.train.hostile

# Compiled code checks no index; here it does, and every test that leads it outside of an array fails.
bounds: setup ## Run the tests of compiled code with every index checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.venv/bounds $(BIN)/pytest -n 2 --timeout 1200 \
	  tests/memory tests/graph tests/agents tests/explore tests/embed tests/train/test_stranger.py tests/train/test_hostile.py

bench: setup ## Measure speed, as ratios within one run; writes benchmarks/latest.json
	$(BIN)/python -m benchmarks

# The paper's Atari table takes days. It is made by the code of one commit, in a clone of its own, whatever this checkout
# has become meanwhile. Ctrl-C stops it; called again it goes on. Finished runs are exported to results/atari here.
ATARI_COMMIT := 77b77b182773601a79790a66d08fae0c06cd1e0f
ATARI_STUDY ?= $(HOME)/.local/share/memec/atari-study
ATARI_WORKERS ?= 1
ATARI_RUNS = nice -n 19 $(BIN)/memec reproduce atari --agents mfec --seeds 3 --workers $(ATARI_WORKERS) \
  --no-keep-checkpoints --out runs --results exported

$(ATARI_STUDY)/.venv/installed:
	@test -d $(ATARI_STUDY)/.git || git clone --quiet . $(ATARI_STUDY)
	@git -C $(ATARI_STUDY) checkout --quiet --detach $(ATARI_COMMIT)
	@$(MAKE) -C $(ATARI_STUDY) setup

# Records name the command that made them: by a link its results folder has the same name on every machine.
atari-study: $(ATARI_STUDY)/.venv/installed ## Do the paper's Atari table, or go on with it (days; ATARI_WORKERS=2)
	@ln -sfn $(CURDIR)/results $(ATARI_STUDY)/exported
	cd $(ATARI_STUDY) && $(ATARI_RUNS) --envs qbert,mspacman,spaceinvaders
	cd $(ATARI_STUDY) && $(ATARI_RUNS) --envs pong,bowling

clean: ## Remove the set-up and all caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
