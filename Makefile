# `make help` lists the targets. Plain make 3.81 is enough; npm scripts run on the Node that the lock file pins.
.DEFAULT_GOAL := help
SHELL := /bin/sh

INSTALLED := node_modules/.package-lock.json
BUILT := dist/.built
PYTHON_READY := .cache/python/.ready
SOURCES := $(shell find crds/kinds gateway operator -name '*.ts' 2>/dev/null)
GENERATED := ':(glob)crds/*.yaml' docs/reference charts/vmcp-crds/files charts/vmcp/templates/_kinds.tpl
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# Where the binaries of the test cluster are.
export CLUSTER_CACHE ?= $(CURDIR)/.cache/test-cluster

.PHONY: help run test e2e check lint scripts verify generate build images bench bench-operator soak install python redis chromium promtool \
  control-plane cluster-binaries clean

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*## ' Makefile | sed -e 's/:.*## /	/' | awk -F '	' '{ printf "  %-17s %s\n", $$1, $$2 }'

run: build ## start the quickstart here: two MCP servers behind one endpoint (Ctrl-C stops it)
	@exec bin/vmcp up examples/quickstart

test: install python redis chromium promtool lint verify build control-plane ## install what the tests need, then lint, verify and every test
	@npm run --silent test -- --project pure --project unit --project e2e \
	  $$(e2e/cluster/build.sh --check control-plane 2>/dev/null && echo --project operator)

e2e: build ## everything on a real Kubernetes node: as root on cgroup v1, else with E2E_CLUSTER=kind
	@npx --no-install node e2e/cluster/main.ts

check: install lint verify ## before a commit: lint, verify and the unit tests that start no process and no server
	@npx --no-install vitest run --project pure

lint: install ## types, ESLint, import rules, dead code, formatting; results of unchanged files are in .cache
	@mkdir -p .cache; npm run --silent lint:eslint & eslint=$$!; \
	npm run --silent lint:others; others=$$?; wait $$eslint && [ $$others -eq 0 ]

scripts: ## shell scripts and the workflow, where shellcheck and Go are
	@command -v shellcheck >/dev/null 2>&1 || echo 'not applicable: scripts are checked with shellcheck (Debian: apt install shellcheck)'
	@! command -v shellcheck >/dev/null 2>&1 || shellcheck -x -P e2e/cluster e2e/cluster/*.sh .ci/run
	@command -v go >/dev/null 2>&1 || echo 'not applicable: workflows are checked with actionlint, which needs Go'
	@! command -v go >/dev/null 2>&1 || go run $(ACTIONLINT)

verify: generate ## fail if a generated file is not the one that is committed or staged
	@git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo 'not applicable: verify compares with git, and this is not a git checkout'; exit 0; }; \
	dirty=`{ git diff --name-only -- $(GENERATED); git ls-files --others --exclude-standard -- $(GENERATED); } | sort -u`; \
	[ -z "$$dirty" ] || { echo 'These generated files have changed; look at them and add them to your commit:' >&2; echo "$$dirty" | sed 's/^/  /' >&2; exit 1; }

generate: install ## write crds/*.yaml, their copies and _kinds.tpl in charts/, and docs/reference from crds/kinds
	@npm run --silent generate

build: $(BUILT) ## bundle the command line into dist/ (what bin/vmcp runs)

images: build ## .cache/images/{gateway,operator}.tar, with docker or podman if they can, else packed (ENGINE=docker|podman|none)
	@e2e/cluster/images.sh $(ENGINE)

control-plane: ## build etcd, kube-apiserver, kube-controller-manager, kubectl and helm for the tests (minutes, once)
	@e2e/cluster/build.sh control-plane || echo 'not applicable: the tests of the operator and the charts need a control plane, which could not be built'

cluster-binaries: ## the same and what a whole node needs (about 8 minutes, once), in CLUSTER_CACHE
	@e2e/cluster/build.sh

bench: build ## measure the gateway against a bare proxy (wrk, some minutes), or against another checkout: BASE=DIR
	@if [ -n "$(BASE)" ]; then $(MAKE) --silent -C "$(BASE)" build && npx --no-install node e2e/bench/paired.ts --base "$(BASE)"; \
	else npx --no-install vitest run --project bench && npm run --silent bench && $(MAKE) --silent bench-operator; fi

bench-operator: build ## measure the operator against a bare writer, 7 rounds on control planes of their own (20 minutes)
	@if e2e/cluster/build.sh --check control-plane >/dev/null 2>&1; then \
	  npx --no-install node e2e/bench/operator/main.ts --count 300 --rounds 7; \
	else \
	  echo 'not applicable: the throughput of the operator needs a control plane (make control-plane)'; \
	fi

soak: build ## an hour of mixed load: does the heap of the gateway stay flat? (SOAK_MINUTES=60)
	@npx --no-install node e2e/bench/soak/main.ts --minutes $(or $(SOAK_MINUTES),60)

install: $(INSTALLED) ## npm ci, when the lock file is newer than node_modules

python: $(PYTHON_READY) ## the Python MCP client for the tests, in .cache/python

redis: ## say so when the tests of the key-value store have no server to run against
	@command -v redis-server >/dev/null 2>&1 || echo 'not applicable: the tests of the key-value store need redis-server (Debian: apt install redis-server)'

chromium: ## say so when the tests of the login pages have no browser to run in
	@[ -x /usr/bin/chromium ] || echo 'not applicable: the tests of the login pages need chromium (Debian: apt install chromium)'

promtool: ## say so when the alert rules of the chart have no Prometheus to run in
	@command -v promtool >/dev/null 2>&1 || echo 'not applicable: the tests of the alert rules need promtool (Debian: apt install prometheus)'

clean: ## remove what make has written (node_modules and the binaries of the test cluster stay)
	rm -rf dist
	[ ! -d .cache ] || find .cache -mindepth 1 -maxdepth 1 ! -name test-cluster -exec rm -rf {} +

$(INSTALLED): package-lock.json
	@command -v npm >/dev/null 2>&1 || { echo 'npm is missing: install Node.js 20 or newer (https://nodejs.org)' >&2; exit 1; }
	npm ci --include=dev --no-audit --no-fund
	@touch $@

$(BUILT): $(INSTALLED) build.ts tsconfig.json $(SOURCES)
	@npm run --silent build
	@touch $@

$(PYTHON_READY): e2e/harness/requirements.txt
	@mkdir -p .cache
	@if python3 -m venv .cache/python >.cache/python.log 2>&1; then \
	  .cache/python/bin/python -m pip install --quiet --disable-pip-version-check -r e2e/harness/requirements.txt && touch $@; \
	else \
	  rm -rf .cache/python; \
	  echo 'not applicable: the Python client tests need python3 with venv (Debian: apt install python3-venv)'; \
	fi
