# Every target sets itself up in .venv; nothing else is written outside build/.
PYTHON ?= python3
CONFIG ?= small
BOARD ?= icebreaker
WORKERS ?= 2
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install -q --no-build-isolation -c constraints.txt

# Fails with one line that names what is missing and the command that installs it.
define require
command -v $(1) >/dev/null || { echo "error: $(1) is missing; install it, for example with: sudo apt-get install $(2)" >&2; exit 2; }
endef

.PHONY: help setup setup-fpga setup-test run test test-fast test-slow lint format bench gen bitstream clean distclean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

setup: .venv/run.stamp ## install what `make run` needs

setup-fpga: .venv/fpga.stamp ## install what bitstreams need as well

setup-test: .venv/test.stamp ## install what `make test` needs as well

run: setup ## run the digits network on simulated hardware, compared with the golden model
	@$(BIN)/plusb run digits --config $(CONFIG)

test: lint ## check everything, as CI does
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test-fast: setup-test ## only the tests that build no simulator
	$(BIN)/python -m pytest -m "not slow" -n $(WORKERS) --dist worksteal

test-slow: setup-test ## only the tests that do
	$(BIN)/python -m pytest -m slow -n $(WORKERS) --dist worksteal

lint: setup-test ## style, and the one-way imports between the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

format: setup-test ## apply the style
	$(BIN)/ruff format .

bench: setup ## measure cycles, utilization, generation and simulation speed
	@$(BIN)/plusb bench

gen: setup ## write the Verilog of CONFIG to build/
	@$(BIN)/plusb gen --config $(CONFIG) --out build

bitstream: setup-fpga ## build the bitstream of BOARD in build/fpga/
	@$(BIN)/plusb fpga build $(BOARD)

clean: ## remove what was built
	rm -rf build .pytest_cache .ruff_cache .hypothesis *.egg-info

distclean: clean ## remove the installation as well
	rm -rf .venv

.venv/run.stamp: pyproject.toml constraints.txt
	@$(call require,$(PYTHON),python3)
	@$(call require,g++,g++)
	@$(call require,perl,perl)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "error: Python 3.10 or newer is needed; name one with: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "error: python3-venv is missing; install it, for example with: sudo apt-get install python3-venv" >&2; exit 2; }
	@echo "installing into .venv"
	@$(BIN)/python -c 'import pip' 2>/dev/null || $(PYTHON) -m venv --clear .venv
	@$(INSTALL) setuptools
	@$(INSTALL) -e .
	@touch $@

.venv/fpga.stamp: .venv/run.stamp
	@echo "installing what bitstreams need into .venv"
	@$(INSTALL) -e ".[fpga]"
	@touch $@

.venv/test.stamp: .venv/run.stamp
	@echo "installing what the tests need into .venv"
	@$(INSTALL) -e ".[dev,fpga,models]"
	@touch $@
