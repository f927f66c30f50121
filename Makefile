# Every target works as the first command on a machine with python3 (3.11 or newer), pip and make.

PYTHON3 ?= python3
VENV := .venv
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready

.PHONY: help setup demo test lint peers bench bench-quick growth accuracy leave-one-out paper scale

help:
	@echo 'make setup   an environment in $(VENV) with everything that is needed'
	@echo 'make demo    fit, predict and compare the three algorithms on the breast cancer data'
	@echo 'make test    lint, types and all tests'
	@echo 'make bench-quick | bench | growth | accuracy   lazyforest beside other forests (minutes | hours | hours | minutes)'
	@echo 'make paper   the experiments of the paper, beside its numbers (under an hour)'
	@echo 'make scale   a table of 5 x 10^7 rows on disk, over a local Dask cluster (an hour and a half)'

setup: $(READY)

# Made again when what is to be installed changes. pip comes from outside, so ensurepip is not needed.
$(READY): pyproject.toml constraints.txt
	$(PYTHON3) -m venv --without-pip $(VENV)
	$(PYTHON3) -m pip --python $(PYTHON) install --quiet --constraint constraints.txt --editable '.[dev,cli,plot,dask]'
	@touch $@

demo: $(READY)
	$(PYTHON) -m lazyforest demo

lint: $(READY)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

# A file stays with one worker: tests of a file share what numba compiles beyond the large kernels.
test: lint
	$(PYTHON) -m tests.kernels
	$(PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

paper: $(READY)
	$(PYTHON) -m lazyforest paper

# The other forests, beside which lazyforest is measured.
peers: $(READY)
	$(PYTHON3) -m pip --python $(PYTHON) install --quiet --constraint constraints.txt --editable '.[bench]'

bench-quick: peers
	$(PYTHON) -m benchmarks.peers --quick

bench: peers
	$(PYTHON) -m benchmarks.peers

growth: peers
	$(PYTHON) -m benchmarks.growth

accuracy: peers
	$(PYTHON) -m benchmarks.accuracy

leave-one-out: peers
	$(PYTHON) -m benchmarks.leave_one_out

# A table on disk, over a local Dask cluster, within 4 GB; then 10^6 rows against one machine.
scale: $(READY)
	$(PYTHON) -m benchmarks.scale
	$(PYTHON) -m benchmarks.scale --equal
