# `make help` lists the targets. Works with make 3.81. npm scripts use the Node version of the lock file.
.DEFAULT_GOAL := help
SHELL := /bin/sh

INSTALLED := node_modules/.installed
RUNNABLE := node_modules/.runnable
BUILT := dist/.built
PYTHON_READY := .cache/python/.ready
SOURCES := $(shell find crds/kinds gateway operator -name '*.ts' 2>/dev/null)
GENERATED := ':(glob)crds/*.yaml' crds/schemas docs/api.md docs/reference charts/vmcp-crds/files charts/vmcp-crds/kustomize charts/vmcp/templates/_kinds.tpl
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# `make run` installs a third of the packages: new users wait for it.
ifeq ($(filter-out run build install uninstall images,$(or $(MAKECMDGOALS),help)),)
PACKAGES := $(RUNNABLE)
else
PACKAGES := $(INSTALLED)
endif

# Folder that `make install` writes to: DESTDIR is for packages of a distribution.
PREFIX ?= /usr/local
DESTINATION := $(DESTDIR)$(PREFIX)

# Folder of the test cluster's binaries.
export CLUSTER_CACHE ?= $(CURDIR)/.cache/test-cluster

.PHONY: help run test e2e check lint scripts verify generate build images screenshots bench bench-operator soak interop deps install uninstall \
  destination programs python go control-plane cluster-binaries clean

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*## ' Makefile | sed -e 's/:.*## /	/' | awk -F '	' '{ printf "  %-17s %s\n", $$1, $$2 }'

run: build ## start the quickstart: two MCP servers behind one endpoint (Ctrl-C stops it)
	@exec bin/vmcp up examples/quickstart

# Runs a command and lint at the same time: $(call with_lint,COMMAND,NICENESS of lint). If lint fails, its output comes at the end.
define with_lint
@mkdir -p .cache; nice -n $(2) $(MAKE) --silent lint >.cache/lint.log 2>&1 & lint=$$!; \
$(1); tests=$$?; wait $$lint; lint=$$?; [ $$lint -eq 0 ] || cat .cache/lint.log >&2; \
[ $$lint -eq 0 ] || echo 'lint failed: see above' >&2; [ $$tests -eq 0 ] && [ $$lint -eq 0 ]
endef

# Lint takes the time that the rest leaves idle. ALSO='--project cluster' runs `make e2e` beside the others.
test: programs deps ## install what the tests need (INSTALL=no: npm packages only), then verify, lint and every test
	@$(MAKE) --silent verify
	$(call with_lint,$(MAKE) --silent -j 3 python go build && \
	  npm run --silent test -- --project pure --project unit --project e2e \
	  $$(command -v openssl >/dev/null && e2e/cluster/build.sh --check control-plane 2>/dev/null && echo --project operator) $(ALSO),19)

e2e: build ## test on a real Kubernetes node: as root on cgroup v1, else with E2E_CLUSTER=kind
	@npx --no-install node e2e/cluster/main.ts

check: deps verify ## before a commit: verify, lint and the unit tests that start no process and no server
	$(call with_lint,NO_COLOR=1 npx --no-install vitest run --project pure >.cache/check.log 2>&1 || { cat .cache/check.log >&2; false; },0)
	@echo "checked: `sed -n 's/^ *Tests *\([0-9]*\) passed.*/\1/p' .cache/check.log` tests passed, lint and generated files are clean"

lint: deps ## types, rules (oxlint.config.ts), imports, dead code, formatting
	@mkdir -p .cache; npm run --silent lint

scripts: ## check shell scripts (needs shellcheck) and the workflow (needs Go)
	@command -v shellcheck >/dev/null 2>&1 || echo 'not applicable: scripts are checked with shellcheck (Debian: apt install shellcheck)'
	@! command -v shellcheck >/dev/null 2>&1 || shellcheck -x -P e2e/cluster e2e/cluster/*.sh e2e/harness/run/*.sh .ci/run
	@command -v go >/dev/null 2>&1 || echo 'not applicable: workflows are checked with actionlint, which needs Go'
	@! command -v go >/dev/null 2>&1 || go run $(ACTIONLINT)

verify: generate ## fail if a generated file differs from the committed or staged one
	@git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo 'not applicable: verify compares with git, and this is not a git checkout'; exit 0; }; \
	dirty=`{ git diff --name-only -- $(GENERATED); git ls-files --others --exclude-standard -- $(GENERATED); } | sort -u`; \
	[ -z "$$dirty" ] || { echo 'These generated files have changed; look at them and add them to your commit:' >&2; echo "$$dirty" | sed 's/^/  /' >&2; exit 1; }

generate: deps ## write the definitions of the kinds, kustomizeconfig.yaml and _kinds.tpl in charts/, crds/schemas, docs/api.md and docs/reference
	@npm run --silent generate

build: $(BUILT) ## bundle the command line into dist/ (what bin/vmcp runs)

install: destination build ## install vmcp in /usr/local, or in another folder: make install PREFIX=$HOME/.local
	@new="$(DESTINATION)/lib/.vmcp.new"; rm -rf "$$new"; mkdir -p "$$new/crds" "$$new/node_modules/node/bin" && \
	cp -R bin dist package.json LICENSE "$$new" && cp -R crds/schemas "$$new/crds" && \
	find "$$new/dist" '(' -name '*.map' -o -name .built ')' -exec rm -f '{}' + && \
	{ [ ! -x node_modules/node/bin/node ] || cp node_modules/node/bin/node "$$new/node_modules/node/bin"; } && \
	{ [ ! -d node_modules/@napi-rs ] || cp -R node_modules/@napi-rs "$$new/node_modules"; } && \
	chmod -R a+rX,go-w "$$new" && rm -rf "$(DESTINATION)/lib/vmcp" && mv "$$new" "$(DESTINATION)/lib/vmcp" && \
	ln -sf ../lib/vmcp/bin/vmcp "$(DESTINATION)/bin/vmcp" && echo "installed $(DESTINATION)/bin/vmcp"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo 'Add it to your PATH:  export PATH="$(PREFIX)/bin:$$PATH"' ;; esac

uninstall: ## remove what make install wrote; the state folder of vmcp up is kept
	rm -rf "$(DESTINATION)/lib/vmcp"
	@[ "`readlink "$(DESTINATION)/bin/vmcp"`" != ../lib/vmcp/bin/vmcp ] || rm -f "$(DESTINATION)/bin/vmcp"

images: build ## build .cache/images/{gateway,operator,local}.tar with docker or podman, else without (ENGINE=docker|podman|none)
	@e2e/cluster/images.sh $(ENGINE)

control-plane: ## build etcd, kube-apiserver, kube-controller-manager, kubectl, helm and otelcol for the tests (minutes, once)
	@e2e/cluster/build.sh control-plane || echo 'not applicable: the tests of the operator and the charts need a control plane, which could not be built'

cluster-binaries: ## build the same and the binaries of a whole node, in CLUSTER_CACHE (about 8 minutes, once)
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

soak: build ## check that the gateway's heap does not grow during an hour of mixed load (SOAK_MINUTES=60)
	@npx --no-install node e2e/bench/soak/main.ts --minutes $(or $(SOAK_MINUTES),60)

interop: build ## run identity providers, clients and servers of others, and write docs/interop.md (ONLY=keycloak SERVERS=memory,fetch CLIENTS=.. FRESH=1)
	@npx --no-install node e2e/interop/main.ts $(if $(ONLY),--only '$(ONLY)') $(if $(PROVIDERS),--providers '$(PROVIDERS)') \
	  $(if $(CLIENTS),--clients '$(CLIENTS)') $(if $(SERVERS),--servers '$(SERVERS)') $(if $(FRESH),--fresh)

screenshots: $(INSTALLED) ## draw docs/images/terminal-*.svg and take client-inspector.png (needs the npm registry and Chromium)
	@npx --no-install node e2e/screenshots/main.ts

deps: $(INSTALLED) ## install all packages with npm ci if the lock file is newer than node_modules

destination:
	@mkdir -p "$(DESTINATION)/lib" "$(DESTINATION)/bin" 2>/dev/null && [ -w "$(DESTINATION)/lib" ] && [ -w "$(DESTINATION)/bin" ] || \
	{ echo 'you cannot write to $(DESTINATION): choose another folder (make install PREFIX=$$HOME/.local), or run make build and then sudo make install' >&2; exit 1; }

python: $(PYTHON_READY) ## install the Python MCP client for the tests, in .cache/python

programs: ## install Redis, Chromium and other programs that the tests run, with apt-get where it may
	@e2e/harness/run/programs.sh

go: control-plane ## report when there is no Go for the API client in Go; the control plane's build installs Go where Python can
	@command -v go >/dev/null 2>&1 || [ -x "$(CLUSTER_CACHE)/go/bin/go" ] || echo 'not applicable: the API client in Go: needs Go (https://go.dev/dl)'

clean: ## remove the files that make wrote, except node_modules and the binaries of the test cluster
	rm -rf dist
	[ ! -d .cache ] || find .cache -mindepth 1 -maxdepth 1 ! -name test-cluster -exec rm -rf {} +

# True if npm has installed the packages since the lock file changed: $(call is_installed,PACKAGE that only this choice installs).
is_installed = [ -d node_modules/$(1) ] && [ -n "`find node_modules/.package-lock.json -newer package-lock.json 2>/dev/null`" ]

# Kills npm at Ctrl-C, which npm would obey only after it has installed everything.
define npm_ci
@if $(call is_installed,$(2)); then exit 0; fi; \
command -v npm >/dev/null 2>&1 || { echo 'npm is missing: install Node.js 20 or newer (https://nodejs.org)' >&2; exit 1; }; \
echo 'installing packages with npm ...'; npm ci --$(1)=dev --no-audit --no-fund --no-update-notifier --loglevel=error & npm=$$!; \
trap 'kill -KILL $$npm 2>/dev/null; echo "stopped: the next make installs again" >&2; exit 130' INT TERM; wait $$npm
endef

$(INSTALLED): package-lock.json
	$(call npm_ci,include,vitest)
	@touch $(RUNNABLE) $@

$(RUNNABLE): package-lock.json
	$(call npm_ci,omit,esbuild)
	@touch $@

$(BUILT): $(PACKAGES) build.ts tsconfig.json $(SOURCES)
	@npm run --silent build
	@touch $@

# uv installs in a quarter of the time of pip. Some tests run servers of uvx:// with it.
$(PYTHON_READY): e2e/harness/requirements.txt
	@mkdir -p .cache
	@if python3 -m venv .cache/python >.cache/python.log 2>&1; then \
	  .cache/python/bin/python -m pip install --quiet --disable-pip-version-check "$$(grep '^uv==' $<)" && \
	  .cache/python/bin/uv pip install --quiet --python .cache/python/bin/python -r $< && touch $@; \
	else \
	  rm -rf .cache/python; \
	  echo 'not applicable: Python clients and servers: needs python3 with venv (Debian: python3-venv)'; \
	fi
