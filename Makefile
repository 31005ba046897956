PYTHON ?= python3
LOOPS := $(wildcard arml_core/*/*_kernels.py arml_core/certificates/box.py arml_core/numerics/*.py)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
export STREAMLIT_BROWSER_GATHER_USAGE_STATS := false

.PHONY: app test test-more release-check lint reproduce reproduce-euclidean bench campaign ui-bench fuzz soak clean

app: .venv/compiled.done
	$(BIN)/python -m streamlit run app.py

test: .venv/test.done .venv/compiled.done lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not more and not browser and not release" -n 2 --dist worksteal
	$(BIN)/python -m pytest tests/browser -m smoke

test-more: .venv/test.done
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "(more or hypothesis) and not browser" --hypothesis-profile=wide \
	  -n 2 --dist worksteal
	$(BIN)/python -m pytest tests/browser -m more -n 2 --dist worksteal

release-check: .venv/test.done
	$(BIN)/python -m pytest -m release

lint: .venv/test.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

reproduce: .venv/app.done
	for what in table1 table2 figure1 figure2 sensitivity runtime datasets report; do \
	  $(BIN)/python -m arml_core reproduce $$what || exit 1; done

reproduce-euclidean: .venv/app.done
	$(BIN)/python -m benchmarks.euclidean_tables

bench: .venv/app.done
	$(BIN)/python -m arml_core bench certify

campaign: .venv/test.done
	$(BIN)/python -m benchmarks.campaign --paper $(CAMPAIGN)

ui-bench: .venv/test.done
	$(BIN)/python -m benchmarks.ui_bench

fuzz: .venv/test.done
	$(BIN)/python -m tests.fuzz

soak: .venv/test.done
	$(BIN)/python -m benchmarks.soak

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/app.done: requirements.txt | .venv/bin/python
	$(PIP) -r requirements.txt
	touch $@

.venv/compiled.done: arml_core/certificates/branch_kernels.py .venv/app.done $(LOOPS)
	$(BIN)/python -m arml_core.warm_up
	touch $@

.venv/test.done: requirements-dev.txt .venv/app.done
	$(PIP) -r requirements-dev.txt
	touch $@

clean:
	rm -rf .venv .scratch .mypy_cache .ruff_cache .pytest_cache .hypothesis
