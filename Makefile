# Each target sets up what it needs. A machine with Python 3.11+ and make is enough.
PYTHON  ?= python3
# Processes of pytest, for two cores: a quarter of the time, tests wait for programs and clocks.
WORKERS ?= 3
BIN     := .venv/bin
RUN     := $(BIN)/python -m

# Some container images set it. Every command that a test starts would compile Kubewright again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' $(MAKEFILE_LIST))

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

setup: .venv/.ready ## Make .venv with everything that is needed to work on Kubewright

.venv/.ready: requirements/dev.lock pyproject.toml src/kubewright/version.py
	@$(PYTHON) -c 'import sys; sys.exit("Kubewright needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(RUN) pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.lock
	$(RUN) pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## Run an operator on an embedded cluster and watch it work, until Ctrl-C; ONCE=1 ends when it is done
	@$(BIN)/python examples/foo/demo.py $(if $(ONCE),--once)

controlplane: setup ## Provide etcd, kube-apiserver, kube-controller-manager and kubectl (built on first use)
	$(BIN)/kubewright controlplane setup

kubectls: setup ## Build kubectl of other releases for their smoke tests; RELEASES="1.32 1.37" picks
	$(RUN) tests.cluster.clients.kubectl_versions $(RELEASES)

browser: ## Find a Chromium for the tests of the console, or install Debian's
	@tools/browser

# Files keep their order, so that fixtures shared by a folder start once and end with it.
PYTEST := $(RUN) pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: setup ## Run the tests that need only Python; WORKERS=0 runs them in one process
	$(PYTEST) -m "not control_plane and not browser and not postgres"

test-all: controlplane browser ## Run every test: also on a real control plane, in a browser, and with PostgreSQL
	$(PYTEST)

compat: setup ## Run the tests that depend on the API server on other versions, VERSIONS="1.34 1.35 1.37" (builds them, slow)
	$(RUN) tools.compat $(or $(VERSIONS),1.34 1.35 1.37) $(if $(TESTS),-- $(TESTS))

test-pythons: setup ## Run the tests that need only Python on every interpreter found, 3.11 to 3.14
	$(RUN) tools.pythons $(if $(TESTS),-- $(TESTS))

test-lowest: setup ## Run the tests that need only Python with the lowest versions of direct dependencies
	$(RUN) tools.pythons --lock requirements/lowest.lock --only $$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])') $(if $(TESTS),-- $(TESTS))

differential: controlplane ## Compare every generated request on both servers; UPDATE=1 shortens the list, KINDS="v1/pods" picks
	$(RUN) tests.cluster.differential.generated $(if $(UPDATE),--update) $(KINDS:%=--kind %) $(if $(REPORT),--report $(REPORT))

faults: controlplane ## Run the tests of faults, TIMES=10 times in a row; the first failure ends it
	for turn in $$(seq $(or $(TIMES),1)); do echo "turn $$turn"; $(RUN) pytest -q tests/faults || exit 1; done

explore: setup ## Explore each example for MINUTES=10
	for each in foo memcached network password testresource; do \
		$(RUN) kubewright explore examples/$$each/$$each.py --minutes $(or $(MINUTES),10) || exit 1; done
	cd examples/postgres && ../../$(BIN)/kubewright explore postgres_operator.operator \
		--samples manifests/minimal.yaml --minutes $(or $(MINUTES),10)

attacks: setup ## Run the attack suite with each attack COPIES=100 times at the same time (about an hour)
	KUBEWRIGHT_ATTACKS=$(or $(COPIES),100) $(RUN) pytest -q tests/attacks --timeout 1800

fuzz: .venv-fuzz/.ready ## Fuzz all targets for MINUTES=10 together; TARGET=yaml picks one; findings go to tests/fuzz/corpus
	.venv-fuzz/bin/python -m tools.fuzz --minutes $(or $(MINUTES),10) $(if $(TARGET),--target $(TARGET))

.venv-fuzz/.ready: requirements/fuzz.lock pyproject.toml
	$(PYTHON) -m venv .venv-fuzz
	.venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/fuzz.lock
	.venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

search: setup ## Run the property tests with new random examples; a failure prints its example
	$(PYTEST) -m "hypothesis and not control_plane and not browser and not postgres" --hypothesis-profile search

soak: controlplane ## Run an operator under load and faults for MINUTES=60, and print what it needs each minute
	$(RUN) tools.soak --minutes $(or $(MINUTES),60)

check: setup ## Lint, format check, strict types, generated code up to date, known vulnerabilities
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(RUN) tools.generate_api --check
	$(RUN) tools.generate_schemas --check
	$(RUN) tools.unsupported --check
	$(RUN) tools.promises --check
	$(RUN) tools.diagrams --check
	$(RUN) tools.recording --check
	$(RUN) tools.reference --check
	$(RUN) tools.public_api
	$(RUN) tools.words
	$(RUN) tools.prose
	$(RUN) tools.collected
	$(RUN) tools.audit $(filter-out requirements/lowest.lock,$(wildcard requirements/*.lock))

sbom: setup ## Write a bill of materials of the runtime dependencies (CycloneDX) to build/kubewright.cdx.json
	$(RUN) tools.sbom build/kubewright.cdx.json

release: setup ## Build sdist and wheel of the last commit, install and try each extra, write SBOM, notes and checksums to dist/
	$(RUN) tools.release

format: setup ## Format the code and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

generate: setup ## Generate the built-in kinds from Kubernetes' OpenAPI document
	$(RUN) tools.generate_api
	$(RUN) tools.generate_schemas
	$(RUN) tools.generate_cluster

scaffold: setup ## Record the templates of init and create as a new version; AMEND=1: as the last, not released yet
	$(RUN) tools.scaffold_version $(if $(AMEND),--amend)

bench: .venv-bench/.ready ## Compare with the peers; FULL=1 adds 50,000 objects, BENCH="listing --rounds 1" picks
	.venv-bench/bin/kubewright controlplane setup
	.venv-bench/bin/python -m compileall -q src benchmarks  # as the peers were when they were installed
	.venv-bench/bin/python -m benchmarks $(if $(FULL),--many 50000) $(BENCH)

# Apart from .venv: the peers bring dependencies that nothing else here may come to rely on.
.venv-bench/.ready: requirements/bench.lock pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/bench.lock
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

docs: setup ## Build the documentation as a site; a broken link fails it
	$(RUN) sphinx -W --keep-going -n -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

lock: setup ## Resolve requirements/*.lock from pyproject.toml
	$(RUN) pip install --quiet uv
	$(RUN) uv pip compile pyproject.toml --group dev   --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q -U -o requirements/dev.lock
	$(RUN) uv pip compile pyproject.toml --group dev --group bench --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q -U -o requirements/bench.lock
	$(RUN) uv pip compile pyproject.toml --all-extras --group dev --resolution lowest-direct --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q -U -o requirements/lowest.lock
	$(RUN) uv pip compile pyproject.toml --group fuzz  --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q -U -o requirements/fuzz.lock
	printf 'kopf\nkubernetes\n' | $(RUN) uv pip compile - --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q -U -o requirements/migration.lock

clean: ## Remove what the targets above made
	rm -rf .venv .venvs .venv-bench .venv-fuzz .fuzz benchmarks/results build dist docs/_build docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis
