# Causeway: `make run` starts everything, `make test` proves it. Nothing is done twice.

PYTHON ?= python3
BIN := .venv/bin
# `make test` runs all lanes but the longest under this, at a lower priority.
BESIDE :=
# `make test` leaves to others what needs an environment of its own, and variants of its tests.
CORE := not clients and not long
# Where the tests on the real stack are. To collect all others takes ten seconds of a processor.
E2E := tests/e2e tests/dialect/test_spark_lexer.py tests/dialect/test_spark_tables.py tests/cli/stack/test_local_metastore.py
STAMP := .venv/.installed
GUARD := guard/target/causeway-guard.jar
STAMP4 := .venv4/.installed
GUARD4 := guard/target/spark4/causeway-guard-spark4.jar
# What the lanes of `make test` need that start many JVMs; the others begin before it is there.
JAVA := $(GUARD) $(GUARD4) build/spark.jsa
PIP := -m pip install --quiet --disable-pip-version-check
HASHED := $(PIP) --require-hashes
LOCKED := pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade --no-header --no-annotate

.DEFAULT_GOAL := help

# Containers often forbid Python to keep compiled modules: each of the lanes would compile them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install run test test-clients shared apart feeds serverless pipelines guarded spark4 check quick-proxy quick-pipelines quick-tools quick-rest lint slow e2e long bench lifecycle-demo oracle spark-inputs on-demand reads-survive generated fuzz golden chart guard wheel lock sbom audit clean

help: ## what can be made
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

install: $(STAMP) ## .venv with everything pinned, and a Java where there is none

$(STAMP): requirements.lock requirements/build.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv
	$(BIN)/python $(HASHED) -r requirements/build.lock
	$(BIN)/python $(HASHED) --no-build-isolation -r requirements.lock
	$(BIN)/python $(PIP) --no-build-isolation --no-deps --editable .
	@$(BIN)/python -m cli.stack.java 2>/dev/null || \
	{ echo "no Java 17 or 11 here: fetching one"; $(BIN)/python $(HASHED) -r requirements/java.lock; }
	@touch $@

# The packages of .venv, with pyspark 4 before its pyspark.
$(STAMP4): requirements/spark4.lock $(STAMP)
	$(BIN)/python -m venv .venv4
	.venv4/bin/python $(HASHED) -r requirements/build.lock
	.venv4/bin/python $(HASHED) --no-build-isolation -r requirements/spark4.lock
	@$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  >"$$(.venv4/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/venv.pth"
	@touch $@

ifeq ($(SPARK),4)
run: $(STAMP4) $(GUARD4)
	.venv4/bin/python -m cli.main up --dir .causeway4

test: $(STAMP4) $(GUARD4)
	$(BESIDE) .venv4/bin/python -m pytest -m "spark4 and $(CORE)" --durations=15 $(E2E)

e2e: $(STAMP4) $(GUARD4)
	.venv4/bin/python -m pytest -m "e2e and $(CORE)" $(E2E)
else
run: install $(GUARD) ## the embedded stack with sample data, until Ctrl-C (SPARK=4: on Spark 4)
	$(BIN)/causeway up

test: install ## the whole suite, four parts at the same time, the longest first (SPARK=4: the part for Spark 4)
	@$(MAKE) --no-print-directory --jobs=4 --keep-going --output-sync=target BESIDE='nice -n 5' shared apart feeds lint serverless pipelines guarded spark4

e2e: install $(GUARD) ## tests on the real stack (SPARK=4: on Spark 4; E2E=tests/e2e/views: a part of them)
	$(BIN)/pytest -m "e2e and $(CORE)" $(E2E)
endif

spark4: install $(GUARD4) ## the tests for Spark 4; skipped where it cannot be installed
	@mkdir -p build
	@if $(MAKE) --no-print-directory $(STAMP4) >build/spark4.log 2>&1; then \
	$(MAKE) --no-print-directory SPARK=4 test; \
	else echo "tests for Spark 4 SKIPPED: pyspark 4 cannot be installed here (build/spark4.log)"; fi

shared: install $(JAVA) ## the tests that share one stack
	$(BIN)/pytest -m "shared and $(CORE)" --durations=15 tests/e2e

serverless: install $(GUARD) build/moto/bin/moto_server ## the tests that need no stack, quick and slow
	$(BESIDE) $(BIN)/pytest -m "not e2e and $(CORE)" --ignore=tests/pipeline --ignore=tests/guard --ignore=tests/e2e --durations=15

pipelines: install $(JAVA) build/moto/bin/moto_server ## of the tests that need no stack, those of pipelines
	$(BESIDE) $(BIN)/pytest -m "not e2e and $(CORE)" --ignore=tests/pipeline/spark --durations=15 tests/pipeline

guarded: install $(JAVA) build/moto/bin/moto_server ## of the tests that need no stack, those of the guard and of Spark's file systems
	$(BESIDE) $(BIN)/pytest -m "not e2e and $(CORE)" --durations=15 tests/guard tests/pipeline/spark

apart: install $(JAVA) ## the tests that have stacks, servers or a Spark of their own
	$(BESIDE) $(BIN)/pytest -m "e2e and not shared and $(CORE)" --ignore=tests/e2e/lifecycle --durations=15 $(E2E)

feeds: install $(JAVA) ## of the tests that have their own, those of feeds and Hudi tables
	$(BESIDE) $(BIN)/pytest -m "e2e and not shared and $(CORE)" --durations=15 tests/e2e/lifecycle

test-clients: install $(GUARD) ## dbt-spark, Superset and Kyuubi's driver, in environments of their own (minutes)
	$(BIN)/pytest -m clients --durations=15 tests/e2e

check: install ## lint and the quick tests, all parts at the same time: many tests wait
	@$(MAKE) --no-print-directory --jobs=5 --keep-going --output-sync=target quick-pipelines quick-rest quick-tools quick-proxy lint

quick-proxy: install
	$(BIN)/pytest -q -m "not slow and not e2e" tests/proxy tests/sessions

quick-pipelines: install build/moto/bin/moto_server
	$(BIN)/pytest -q -m "not slow and not e2e" tests/pipeline tests/guard

quick-tools: install
	$(BIN)/pytest -q -m "not slow and not e2e" tests/cli tests/console tests/charts tests/docs tests/bench

quick-rest: install
	$(BIN)/pytest -q -m "not slow and not e2e" $(foreach each,proxy sessions pipeline guard cli console charts docs bench e2e,--ignore=tests/$(each))

lint: install ## style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

slow: install $(GUARD) ## tests that take seconds but no server
	$(BIN)/pytest -m "slow and $(CORE)" --ignore=tests/e2e

long: install $(GUARD) build/moto/bin/moto_server ## variants of other tests, and long runs (minutes)
	$(BIN)/pytest -m long --durations=15

bench: install $(GUARD) ## measurements, most paired with the direct way: queries, catalogs, history, routing, copies, Hudi pulls
	$(BIN)/python -m bench
	$(BIN)/python -m bench.crowd
	$(BIN)/python -m bench.statements.claims
	$(BIN)/python -m bench.statements.masks
	$(BIN)/python -m bench.kills
	$(BIN)/python -m bench.results.jdbc
	$(BIN)/python -m bench.catalogs.catalog
	$(BIN)/python -m bench.catalogs.metadata
	$(BIN)/python -m bench.catalogs.crawl
	$(BIN)/python -m bench.statements.history
	$(BIN)/python -m bench.viewers
	$(BIN)/python -m bench.pages
	$(BIN)/python -m bench.advice
	$(BIN)/python -m bench.fleet
	$(BIN)/python -m bench.sessions --rounds 3
	$(BIN)/python -m bench.statements.routing
	$(BIN)/python -m bench.statements.choice
	$(BIN)/python -m bench.copies.copy
	$(BIN)/python -m bench.copies.copy_metadata
	$(BIN)/python -m bench.copies.lifecycle
	$(BIN)/python -m bench.copies.incremental

lifecycle-demo: install $(GUARD) ## feeds and processes on two metastores, shown on a terminal
	$(BIN)/python -m bench.copies.lifecycle_demo

spark-inputs: install $(GUARD) ## every statement of Spark's own tests, directly and through the proxy (shared data)
	CAUSEWAY_SPARK_INPUTS=all $(BIN)/pytest -s tests/e2e/statements/test_spark_inputs.py

on-demand: install $(GUARD) ## the 99 queries of TPC-DS, run where their data is, and with data brought on demand (minutes; shared data)
	CAUSEWAY_TPCDS=all CAUSEWAY_ON_DEMAND=1 $(BIN)/pytest -s tests/e2e/statements/test_tpcds.py tests/e2e/statements/test_tpcds_on_demand.py

reads-survive: install $(GUARD) ## 1,000 reads while the Thrift Servers of both clusters are killed in turn (minutes)
	CAUSEWAY_READS=$${CAUSEWAY_READS:-1000} $(BIN)/pytest -s tests/e2e/operations/test_reads_survive.py

generated: install $(if $(filter 4,$(SPARK)),$(STAMP4)) ## 300,000 statements and 200,000 texts, others each time, against Spark's own parser (SPARK=4: Spark 4's)
	CAUSEWAY_STATEMENTS=100000 CAUSEWAY_TEXTS=200000 CAUSEWAY_SEED=$${CAUSEWAY_SEED:-$$(date +%s)} \
	$(if $(filter 4,$(SPARK)),.venv4,.venv)/bin/python -m pytest -m e2e tests/dialect/test_spark_lexer.py tests/dialect/test_spark_tables.py

oracle: install ## accuracy of the analysis against Hive's own record (shared data)
	$(BIN)/python -m bench.oracle

fuzz: install ## millions of inputs for the readers of what comes from outside, guided by coverage
	$(BIN)/python $(HASHED) --no-build-isolation -r requirements/fuzz.lock
	$(BIN)/python -m tests.fuzz --keep

golden: install ## write the golden files and generated pages; read the diff
	CAUSEWAY_GOLDEN=write $(BIN)/pytest -q -m "not e2e" tests/dialect tests/router tests/conf tests/docs tests/charts tests/cli/test_errors.py

chart: install build/tools/helm build/kubernetes/bin/kubernetes-validate ## the Helm chart linted, rendered and held against Kubernetes' schemas (needs Go once, for Helm: minutes)
	CAUSEWAY_GOLDEN=write $(BIN)/pytest -q tests/charts

guard: ## all of our Java, for Spark 3.5 and for Spark 4: guard, file copies, embedded metastore (needs a JDK and Maven)
	mvn --quiet --file guard/pom.xml package
	mvn --quiet --file guard/pom.xml --activate-profiles spark4 package

wheel: install ## build/wheels/causeway-*.whl with the jar in it (needs a JDK and Maven)
	@rm -rf build/lib
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir build/wheels .

# One after the other: Maven builds both in one folder.
$(GUARD4): | $(GUARD)

# Without Maven everything works that needs no jar: copies are refused (CW613), clusters run unchecked.
$(GUARD) $(GUARD4): guard/pom.xml $(shell find guard/src -name '*.java')
	@if command -v mvn >/dev/null && mvn --quiet --file guard/pom.xml $(if $(findstring spark4,$@),-Pspark4) package; \
	then touch $@; \
	else echo "$@ cannot be built here, which takes a JDK and Maven: going on without"; fi

lock: ## newer versions with their hashes: requirements.lock from pyproject.toml, requirements/*.lock from their heads
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python $(HASHED) -r requirements/lock.lock
	build/lock/bin/uv $(LOCKED) --extra dev --extra hudi --extra spark --output-file requirements.lock pyproject.toml
	@for each in requirements/*.lock; do \
	  sed -n '1,/^[^#]/{s/^# //p}' $$each | sed 1d >build/lock/wanted.in && \
	  { sed -n '/^#/p' $$each; build/lock/bin/uv $(LOCKED) build/lock/wanted.in; } >build/lock/made && \
	  cp build/lock/made $$each || exit 1; \
	done

# An S3 for tests, in a Python of its own; without it they are skipped.
build/moto/bin/moto_server: requirements/moto.lock
	$(PYTHON) -m venv build/moto
	-build/moto/bin/python $(HASHED) --no-compile -r requirements/moto.lock

# The classes of Spark, as Java maps them; without it the Java of tests starts more slowly.
build/spark.jsa: requirements.lock tests/class_archive.py $(STAMP) | $(GUARD)
	@mkdir -p build
	$(BIN)/python -m tests.class_archive $@

# Helm is built of its sources; without Go its tests are skipped, and the renderings that are there looked at.
build/tools/helm:
	GOBIN=$(CURDIR)/build/tools go install helm.sh/helm/v3/cmd/helm@v3.16.4

# Kubernetes' schemas, with what compares documents with them.
build/kubernetes/bin/kubernetes-validate: requirements/kubernetes.lock
	$(PYTHON) -m venv build/kubernetes
	build/kubernetes/bin/python $(HASHED) --no-compile -r requirements/kubernetes.lock

build/audit/bin/pip-audit: requirements/audit.lock
	$(PYTHON) -m venv --clear build/audit
	build/audit/bin/python $(HASHED) -r requirements/audit.lock

sbom: build/audit/bin/pip-audit ## build/sbom.json: what Causeway is made of, with hashes (CycloneDX)
	build/audit/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --output-file build/sbom.json requirements.lock

audit: build/audit/bin/pip-audit ## known vulnerabilities of what is pinned, where their service is reachable
	@rm -f build/audit.json
	-@build/audit/bin/pip-audit --requirement requirements.lock --require-hashes --disable-pip --progress-spinner off --timeout 15 --format json --output build/audit.json >build/audit.log 2>&1
	@$(PYTHON) .ci/audit.py build/audit.json

clean: ## what was made, without the embedded stack's data
	rm -rf .venv .venv4 build guard/target .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
