# Everything runs in .venv, which is made on first use.  Another interpreter: make test PYTHON=python3.13
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# The extra that `make test` installs; test-cuda adds NVIDIA's compiler (0.5 GB), so that kernels are compiled for real.
EXTRA ?= test
WORKERS ?= 2
DEMO ?= --out demo.png
# Kernels compiled by tests stay below build/: a fresh clone starts cold, and no user's cache is touched.
TEST_CACHE := $(CURDIR)/build/test-cache

.DEFAULT_GOAL := help
.PHONY: help demo test test-cuda bench bench-cuda lint stubs docs clean same-python

help:  ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-18s%s\n", $$1, $$2 }'

demo: $(VENV)/.installed-plot  ## train on handwritten digits, print the test accuracy, save demo.png
	$(RUN) -m lucid_nb demo $(DEMO)

test: $(VENV)/.installed-$(EXTRA)  ## run the whole test suite
	LUCID_NB_CACHE_DIR="$(TEST_CACHE)" $(RUN) tests/lanes.py --workers $(WORKERS)

test-cuda: $(VENV)/.installed-test-cuda  ## CUDA kernels without a GPU: simulated, then compiled for three of them
	LUCID_NB_CACHE_DIR="$(TEST_CACHE)" $(RUN) tests/lanes.py --lane simulator
	LUCID_NB_CACHE_DIR="$(TEST_CACHE)" $(RUN) bench/cuda_registers.py

# NPBENCH: a checkout of NPBench, for its programs.
# LUCID_PYTHON: an interpreter that has lucid-dl 2.10, for its column (bench/lucid_dl.py says how to make one).
bench: $(VENV)/.installed-bench  ## time beside PyTorch (installs it: large), measure errors, write bench/results
	$(RUN) bench/network.py $(if $(LUCID_PYTHON),--lucid-python $(LUCID_PYTHON))
	$(RUN) bench/network.py --threads 2
	$(RUN) bench/memory.py
	$(RUN) bench/loading.py --anyway
	$(RUN) bench/pretrained.py --anyway
	$(RUN) bench/loader.py
	$(RUN) bench/differentiation.py
	$(RUN) bench/against_torch.py
	$(RUN) bench/ops.py
	OMP_NUM_THREADS=1 $(RUN) bench/drop_in.py $(if $(NPBENCH),--npbench $(NPBENCH))
	$(RUN) bench/ulp.py
	$(RUN) bench/reports.py

bench-cuda: $(VENV)/.installed-bench-cuda  ## on a GPU: its tests, its times beside PyTorch's (if .venv has it for CUDA)
	$(RUN) bench/gpu.py

lint: $(VENV)/.installed-lint  ## check style and types
	$(RUN) -m ruff check .
	$(RUN) -m mypy

stubs: $(VENV)/.installed-lint  ## write the type stubs anew, after adding or changing ops
	$(RUN) docs/stubs.py

docs: $(VENV)/.installed-docs  ## build the documentation into docs/_build/html
	$(RUN) -m sphinx -W -b html docs docs/_build/html

clean:  ## remove .venv, caches and everything that was built
	rm -rf $(VENV) build dist docs/_build demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The mark comes last, so that an environment whose making was interrupted is made anew.
$(VENV)/.made: | same-python
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else \
		"lucid_nb needs Python 3.11 to 3.13; $(PYTHON) is %d.%d. Name another: make PYTHON=python3.12 ..." % v)'
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# The interpreter must run; where it was named, .venv must be made of it.
same-python:
	@$(PYTHON) -V >/dev/null || { echo "$(PYTHON) does not run. Name an interpreter: make PYTHON=python3.12 ..."; exit 1; }
	@test "$(origin PYTHON)" = file || test ! -e $(VENV)/.made || test "$$($(PYTHON) -V)" = "$$($(RUN) -V)" || \
		{ echo "$(VENV) is $$($(RUN) -V), $(PYTHON) is $$($(PYTHON) -V). To change over: make clean"; exit 1; }

$(VENV)/.installed-%: setup.cfg pyproject.toml $(VENV)/.made
	@echo "Installing lucid_nb[$*] into $(VENV) (once; a few minutes on a slow line) ..."
	$(RUN) -m pip install --disable-pip-version-check --config-settings editable_mode=compat --editable ".[$*]"
	@touch $@
