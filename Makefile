# agentform: `make demo` shows it, `make test` checks it, `make` lists the rest.

GO           ?= go
VERSION      ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LINT_VERSION := v2.15.0
LINT         := bin/golangci-lint-$(LINT_VERSION)
# Without the trace pages of gRPC, which keep the linker from removing unused methods.
TAGS         := grpcnotrace
# The flags of build, test, smoke and demo, so that they share one compilation.
FLAGS        := -trimpath -tags $(TAGS)
# Tests are linked without symbols, in half of the time.
TESTFLAGS    := $(FLAGS) -ldflags=-s
REALFLAGS    := $(FLAGS),real -ldflags=-s
export CGO_ENABLED := 0
FUZZTIME     ?= 5s
TORTURE      ?= 1000
MOST         ?= 1000

# Where goroutines share something: the tests of these run under the race detector.
RACE := ./internal/backend ./state ./history ./apply ./internal/engine ./tmux ./internal/hub ./internal/server ./internal/notify ./session/... ./effect/... ./internal/launch .
# How much of make test runs at the same time: more than there are cores, since much of it
# waits for git and for the disk.
PARALLEL := -p 16 -parallel 8
# What takes minutes, or measures time: in areas of their own, or in make measure.
SLOW := ./internal/test/bench ./internal/test/torture ./internal/test/agenttest/... ./cmd/internal/sbom

# The areas of make check, and the packages of those that run tests. Area hub has the rest.
AREAS    := lint race cli tmux docker far backends hub page agents kubernetes torture soak release
CLI      := ./cmd/internal/... ./docs ./examples/...
TMUX     := ./tmux ./internal/shim/... ./internal/proc
DOCKER   := ./docker ./internal/test/dockertest
BACKENDS := ./internal/backend/... ./internal/sharedstate
# Tests that start programs take turns: one package after the other, two tests at a time.
TESTS    := GO="$(GO)" scripts/gotest.sh
DOCKERED := GO="$(GO)" scripts/dockerd.sh scripts/gotest.sh
IN_TURN  := $(REALFLAGS) -vet off -count 1 -p 1 -parallel 2 -timeout 60m
FAR      := ^TestFarScripts$$|Elsewhere|Remote
# What has tests that need a Kubernetes cluster.
KUBERNETES := ./internal/backend/kubernetes ./cmd/internal/backends ./deploy ./kubernetes ./internal/test/page
# make bench-parts: what the time of the built program goes into.
BENCH ?= ./tmux ./plan ./internal/engine ./state ./config

.DEFAULT_GOAL := help

.PHONY: help
help: ## list what there is to make
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{sub(/\$$\(AREAS\)/, "$(AREAS)"); printf "  make %-17s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: tools build ## see it work: a plan, a question, a drift, its repair, a merge; nothing is left behind
	@scripts/demo.sh

.PHONY: test
test: ## the tests that need only Go, git and sh, and vet
	$(GO) test $(TESTFLAGS) -vet all $(PARALLEL) -timeout 20m -skip '^TestSoak$$' ./...

.PHONY: smoke
smoke: tools engine ## the short suite on real tmux, git and Docker, one test after the other
	@GO="$(GO)" scripts/check.sh smoke scripts/dockerd.sh scripts/smoke.sh $(REALFLAGS)

.PHONY: check
check: ## everything else, area by area, and a table of them; make check-AREA runs one: $(AREAS)
	@rm -rf dist/check
	@for area in $(AREAS); do $(MAKE) --no-print-directory check-$$area || true; done
	@$(GO) run ./internal/test/receipt summary $(AREAS)

# make check-cli: one area. Its receipt is dist/check/cli.json.
check-%: engine
	@case " $(AREAS) " in *" $* "*) ;; *) echo "there is no area $*, but: $(AREAS)" >&2; exit 1 ;; esac
	@GO="$(GO)" scripts/tools.sh psql gh $(if $(filter Linux,$(shell uname)),ip nsenter /usr/sbin/sshd)
	@GO="$(GO)" scripts/check.sh $* $(MAKE) --no-print-directory area-$*

area-lint:
	@red=0; $(MAKE) --no-print-directory lint || red=1; \
	$(GO) vet -tags real,agents,kubernetes ./... || red=1; \
	GOOS=darwin $(GO) vet -tags real,agents ./... || red=1; exit $$red

area-race: export CGO_ENABLED = 1
area-race:
	RERUNS=0 $(TESTS) -race -tags $(TAGS),real -vet off -count 1 -p 2 -parallel 6 -timeout 60m -skip '^TestSoak$$' -- $(RACE)

area-cli:
	$(DOCKERED) $(IN_TURN) -skip '^TestContainerScripts$$|$(FAR)' -- $$($(GO) list $(CLI) | grep -vxF "$$($(GO) list $(SLOW) $(BACKENDS))")

area-tmux:
	$(TESTS) $(IN_TURN) -- $(TMUX)

area-docker:
	@red=0; $(DOCKERED) $(IN_TURN) -skip '$(FAR)' -- $(DOCKER) || red=1; \
	$(DOCKERED) $(IN_TURN) -run '^TestContainerScripts$$' -- ./cmd/internal/cli || red=1; exit $$red

area-far:
	$(DOCKERED) $(IN_TURN) -run '$(FAR)' -- ./docker ./cmd/internal/cli ./internal/git

area-backends:
	RERUNS=0 $(DOCKERED) $(IN_TURN) -- $(BACKENDS)

area-hub:
	$(DOCKERED) $(IN_TURN) -skip '^TestSoak$$|$(FAR)' -- $$($(GO) list ./... | grep -vxF "$$($(GO) list $(CLI) $(TMUX) $(DOCKER) $(BACKENDS) $(SLOW))")

# make check-page SCREENSHOTS=docs/page writes pictures.
area-page: build
	@GO="$(GO)" SCREENSHOTS="$(SCREENSHOTS)" scripts/page/test.sh

# Random conversations whose usage is compared to the token: 34 with each agent, 200 together.
area-agents: export AGENTFORM_CONVERSATIONS ?= 34
area-agents:
	folder=$$(scripts/agents.sh) && AGENTFORM_AGENTS=$$folder $(DOCKERED) $(FLAGS),real,agents -ldflags=-s -vet off -count 1 -parallel 4 -timeout 90m -- ./internal/test/agenttest/...

area-kubernetes: cluster
	@GO="$(GO)" scripts/tools.sh $${CHROMIUM:-chromium}
	GO="$(GO)" scripts/dockerd.sh $(GO) run ./internal/test/kubetest/cluster scripts/test-kubernetes.sh $(KUBERNETES)

area-torture:
	RERUNS=0 $(DOCKERED) $(IN_TURN) -- ./internal/test/torture

area-soak:
	RERUNS=0 $(TESTS) $(TESTFLAGS) -vet off -count 1 -timeout 60m -run '^TestSoak$$' -- ./internal/hub

area-release:
	@GO="$(GO)" scripts/reproducible.sh
	$(TESTS) $(IN_TURN) -- ./cmd/internal/sbom

.PHONY: stress
stress: tools ## the tests RUN of the package PKG, COUNT times beside LOAD busy processes: PKG=./tmux RUN=TestAdopt COUNT=50 LOAD=20
	@GO="$(GO)" LOAD=$(or $(LOAD),20) scripts/dockerd.sh scripts/stress.sh $(PKG) '$(or $(RUN),.)' $(or $(COUNT),50) $(REALFLAGS)

.PHONY: gate20
gate20: ## make test twenty times beside twenty busy processes
	@mkdir -p dist; red=0; for n in $$(seq 20); do \
		start=$$(date +%s); LOAD=20 scripts/busy.sh $(MAKE) --no-print-directory test GOFLAGS=-count=1 >dist/gate20-$$n.log 2>&1 && result=ok || { result=FAIL; red=$$((red + 1)); }; \
		echo "$$n $$result $$(($$(date +%s) - start)) s"; \
	done; echo "$$red of 20 failed"; [ $$red = 0 ]

.PHONY: picture
picture: tools build ## writes docs/demo.svg: plan, drift and repair, as the program prints them
	@scripts/picture.sh

.PHONY: build
build: ## bin/agentform and bin/agentform-shim
	@mkdir -p bin
	$(GO) build $(FLAGS) -ldflags "-X main.version=$(VERSION)" -o bin/ ./cmd/agentform
	$(GO) build $(FLAGS) -ldflags "-s -w" -o bin/ ./cmd/agentform-shim

.PHONY: install
install: ## both programs into GOBIN
	$(GO) install $(FLAGS) ./cmd/agentform...

.PHONY: release
release: ## archives for each platform into dist/release, the same bytes for one commit
	@rm -rf dist/release
	@GO="$(GO)" scripts/release.sh dist/release

.PHONY: image
image: ## a container image of the programs alone into dist/, for docker load: the hub in a cluster
	@rm -rf dist/image && mkdir -p dist/image
	@GO="$(GO)" scripts/release.sh dist/image HEAD linux/$(shell $(GO) env GOARCH) >/dev/null
	@tar -xzf dist/image/*.tar.gz -C dist/image --strip-components 1
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) scripts/image.sh dist/agentform-image.tar agentform:$(VERSION) dist/image
	@echo dist/agentform-image.tar

.PHONY: sbom
sbom: build ## what the programs are made of, as CycloneDX, into dist/sbom.cdx.json
	@mkdir -p dist
	$(GO) run ./cmd/internal/sbom bin/agentform bin/agentform-shim > dist/sbom.cdx.json

.PHONY: man
man: ## man pages of all commands into dist/man
	@rm -rf dist/man
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || date +%s)} $(GO) run ./cmd/internal/manual man dist/man

.PHONY: reference
reference: ## the reference in docs/commands.md, from the commands
	$(GO) run ./cmd/internal/manual reference docs/commands.md

.PHONY: usage-long
usage-long: tools ## CONVERSATIONS (default 200) random conversations with each real agent: what is read of their usage, to the token; SEED=N repeats them
	@folder=$$(scripts/agents.sh) && AGENTFORM_AGENTS=$$folder AGENTFORM_CONVERSATIONS=$(or $(CONVERSATIONS),200) AGENTFORM_SEED=$(SEED) \
		$(GO) test -tags agents -count 1 -v -timeout 4h -run '^TestUsageOfManyConversations$$' ./internal/test/agenttest

.PHONY: torture-kubernetes
torture-kubernetes: cluster ## each call of an apply to the API server fails, in each way, and it is killed KILLS times (default 50); hours
	AGENTFORM_TORTURE_SEED=$(SEED) AGENTFORM_FAULTS=all AGENTFORM_SERVER_KILLS=$(or $(KILLS),50) \
		$(GO) run ./internal/test/kubetest/cluster $(GO) test -tags real,kubernetes -count 1 -v -timeout 24h -run '^TestCluster' ./internal/test/torture

.PHONY: captures
captures: tools ## records the screens and the usage of the real agents, and what is read from them; look at the diff
	@folder=$$(scripts/agents.sh) && AGENTFORM_AGENTS=$$folder AGENTFORM_CAPTURES=$(CURDIR)/agent/testdata \
		$(GO) test -tags agents -count 1 -parallel 4 -run TestSituations ./internal/test/agenttest
	@folder=$$(scripts/agents.sh) && AGENTFORM_AGENTS=$$folder AGENTFORM_USAGE_CAPTURES=$(CURDIR)/internal/usage/testdata \
		$(GO) test -tags agents -count 1 -parallel 4 -run 'TestUsage$$' ./internal/test/agenttest
	$(GO) test ./agent -run TestCaptures -update

.PHONY: bench
bench: tools cluster engine ## all of it beside its floor and what people use today: written to docs/BENCHMARKS.md and docs/benchmarks; MOST=300: of a busy machine
	@GO="$(GO)" scripts/process-compose.sh || echo "process-compose does not build: it is left out"
	scripts/dockerd.sh $(GO) test -tags real,kubernetes -count 1 -timeout 40m -v -run TestRatios ./internal/test/bench -args -document $(CURDIR)/docs/BENCHMARKS.md -most $(MOST)

.PHONY: measure
measure: tools engine ## a little of it, in a minute: a table, with the load of the machine; it fails nothing
	scripts/dockerd.sh $(GO) test $(REALFLAGS) -count 1 -run TestRatios -v ./internal/test/bench

.PHONY: bench-parts
bench-parts: tools ## Go's benchmarks of the parts that the time goes into
	$(GO) test -run '^$$' -bench . -benchmem $(BENCH)

.PHONY: torture
torture: tools engine ## kill -9 of apply, destroy and the hub, TORTURE times (default 1000, ten minutes), then every fault; SEED=N repeats one
	AGENTFORM_TORTURE=$(TORTURE) AGENTFORM_TORTURE_SEED=$(SEED) AGENTFORM_FAULTS=all \
		scripts/dockerd.sh $(GO) test -tags real -count 1 -v -timeout 6h ./internal/test/torture

.PHONY: soak
soak: ## a hub for SOAK_DAYS simulated days (default 365, minutes): files, bytes, memory and processor stay flat. The tests take 30 days
	$(GO) test -count 1 -v -timeout 6h -run TestSoak ./internal/hub -args -soak $(or $(SOAK_DAYS),365)

.PHONY: fuzz
fuzz: ## every fuzz target, FUZZTIME each (default 5s)
	@GO="$(GO)" scripts/fuzz.sh $(FUZZTIME)

.PHONY: lint
lint: $(LINT) ## golangci-lint and gofmt, the version pinned here and not in go.mod
	$(LINT) run ./...

$(LINT):
	@mkdir -p bin
	@echo "building golangci-lint $(LINT_VERSION) (once; about a minute on two cores)"
	@GOBIN="$(CURDIR)/bin" GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@mv bin/golangci-lint $@

.PHONY: tools
tools: ## installs git and tmux where apt can, else says what is missing
	@GO="$(GO)" scripts/tools.sh

.PHONY: engine
engine: ## installs Docker and strace where apt can, else says what is missing: for tests of containers and of system calls that fail
	@GO="$(GO)" scripts/tools.sh dockerd $(if $(filter Linux,$(shell uname)),strace) && { command -v docker >/dev/null || GO="$(GO)" scripts/tools.sh docker; }

.PHONY: cluster
cluster: ## installs what a Kubernetes cluster on this machine needs where apt can, else says what is missing
	@GO="$(GO)" scripts/tools.sh etcd containerd runc ip openssl /usr/lib/cni/bridge

.PHONY: clean
clean: ## bin/ and what the tests left
	rm -rf bin
