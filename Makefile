# agentform: `make demo` shows it, `make test` checks it, `make` lists the rest.

GO           ?= go
BIN          := $(CURDIR)/bin
VERSION      ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LINT_VERSION := v2.15.0
LINT         := $(BIN)/golangci-lint-$(LINT_VERSION)
# Without the trace pages of gRPC, which keep the linker from removing unused methods.
TAGS         := grpcnotrace
# The flags of build, test, smoke and demo, so that they share one compilation.
FLAGS        := -trimpath -tags $(TAGS)
export CGO_ENABLED := 0
FUZZTIME     ?= 5s
TORTURE      ?= 1000
MOST         ?= 1000

# Where goroutines share something: the tests of these run under the race detector.
RACE := ./internal/backend ./state ./history ./apply ./internal/engine ./tmux ./internal/hub ./internal/server ./internal/notify ./session/... ./effect/... ./internal/launch .
# What takes minutes, or measures time: make check runs it.
SLOW := ./internal/test/bench ./internal/test/torture ./cmd/internal/sbom
# Packages whose tests need more than Go, git and sh, such as tmux, an engine or the network:
# make check runs them, and make smoke some. In other packages the tag real marks such files.
REAL := ./cmd/internal/backends ./cmd/internal/discover ./docker ./docs ./examples/library \
	./internal/backend/http ./internal/backend/kubernetes ./internal/backend/pg ./internal/backend/s3 ./internal/backend/sealed \
	./internal/notify ./internal/proc ./internal/server ./internal/shim ./internal/shim/initd ./internal/shim/program \
	./internal/shim/rundir ./internal/telemetry ./internal/test/dockertest ./internal/test/modelserver ./kubernetes ./tmux
# What has tests that need a Kubernetes cluster.
KUBERNETES := ./internal/backend/kubernetes ./cmd/internal/backends ./deploy ./kubernetes ./internal/test/page
# How many packages, and how many tests of a package, run at the same time. Most wait
# for tmux, git and processes, so these are more than there are cores.
PARALLEL ?= -p 2 -parallel 6
# make bench-parts: what the time of the built program goes into.
BENCH ?= ./tmux ./plan ./internal/engine ./state ./config

.DEFAULT_GOAL := help

.PHONY: help
help: ## list what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: tools build ## see it work: three agents, a drift, its repair, nothing left behind
	@scripts/demo.sh

.PHONY: test
test: ## vet, and the tests that need only Go, git and sh
	$(GO) vet $(FLAGS) ./...
	$(GO) test $(FLAGS) -vet off -timeout 20m -skip '^TestSoak$$' $$($(GO) list ./... | grep -vxF "$$($(GO) list $(REAL) $(SLOW))")

.PHONY: smoke
smoke: tools engine ## the short suite on real tmux, git and Docker, one test after the other
	@GO="$(GO)" scripts/dockerd.sh scripts/smoke.sh $(FLAGS),real

.PHONY: check
check: tools engine lint vet-tags vet-macos unit race soak-month torture-quick bench-quick test-real-agents test-kubernetes test-page reproducible ## everything else: real tmux, Docker, agents, clusters, Chromium, kills, speed; make -k check goes on after a failure

.PHONY: picture
picture: tools build ## writes docs/demo.svg: plan, drift and repair, as the program prints them
	@scripts/picture.sh

.PHONY: build
build: ## bin/agentform and bin/agentform-shim
	@mkdir -p $(BIN)
	$(GO) build $(FLAGS) -ldflags "-X main.version=$(VERSION)" -o $(BIN)/ ./cmd/agentform
	$(GO) build $(FLAGS) -ldflags "-s -w" -o $(BIN)/ ./cmd/agentform-shim

.PHONY: install
install: ## both programs into GOBIN
	$(GO) install $(FLAGS) ./cmd/...

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

.PHONY: reproducible
reproducible: ## builds one release archive twice, elsewhere, and compares; and its list of components
	@GO="$(GO)" scripts/reproducible.sh
	$(GO) test ./cmd/internal/sbom

.PHONY: sbom
sbom: build ## what the programs are made of, as CycloneDX, into dist/sbom.cdx.json
	@mkdir -p dist
	$(GO) run ./cmd/internal/sbom $(BIN)/agentform $(BIN)/agentform-shim > dist/sbom.cdx.json

.PHONY: man
man: ## man pages of all commands into dist/man
	@rm -rf dist/man
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || date +%s)} $(GO) run ./cmd/internal/manual man dist/man

.PHONY: reference
reference: ## the reference in docs/commands.md, from the commands
	$(GO) run ./cmd/internal/manual reference docs/commands.md

.PHONY: unit
unit: ## the tests of all packages but those of make race and the slow ones
	scripts/dockerd.sh $(GO) test -tags real $(PARALLEL) -timeout 20m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(RACE) $(SLOW))")

.PHONY: race
race: export CGO_ENABLED = 1
race: ## the tests of the concurrent packages, under the race detector
	$(GO) test -race -tags real $(PARALLEL) -timeout 10m -skip '^TestSoak$$' $(RACE)

.PHONY: test-page
test-page: tools build ## the page in a real Chromium, with sessions in tmux; SCREENSHOTS=docs/page writes pictures
	@GO="$(GO)" SCREENSHOTS="$(SCREENSHOTS)" scripts/page/test.sh

.PHONY: test-agent
test-agent: ## only the life of a session: the decisions, the runtimes and the commands
	scripts/dockerd.sh $(GO) test -tags real ./agent/... ./internal/engine ./health ./plan/... ./apply/... ./internal/engine ./session/... ./tmux/... ./docker/... ./internal/hub ./internal/activity ./internal/shim/... ./cmd/internal/cli/...

.PHONY: test-real-agents
test-real-agents: tools ## the real Claude Code, Codex, Copilot CLI, Gemini CLI, opencode and Qwen Code, against a model that follows a script
	@folder=$$(scripts/agents.sh) && AGENTFORM_AGENTS=$$folder scripts/dockerd.sh $(GO) test -tags agents -count 1 -parallel 4 -timeout 60m ./internal/test/agenttest/...

.PHONY: usage-long
usage-long: tools ## CONVERSATIONS (default 200) random conversations with each real agent: what is read of their usage, to the token; SEED=N repeats them
	@folder=$$(scripts/agents.sh) && AGENTFORM_AGENTS=$$folder AGENTFORM_CONVERSATIONS=$(or $(CONVERSATIONS),200) AGENTFORM_SEED=$(SEED) \
		$(GO) test -tags agents -count 1 -v -timeout 4h -run '^TestUsageOfManyConversations$$' ./internal/test/agenttest

.PHONY: test-kubernetes
test-kubernetes: cluster engine ## what needs a Kubernetes cluster, with a real one of two nodes; builds Kubernetes the first time
	GO="$(GO)" scripts/dockerd.sh $(GO) run ./internal/test/kubetest/cluster scripts/test-kubernetes.sh $(KUBERNETES)

.PHONY: torture-kubernetes
torture-kubernetes: cluster ## each call of an apply to the API server fails, in each way, and it is killed KILLS times (default 50); hours
	AGENTFORM_TORTURE_SEED=$(SEED) AGENTFORM_FAULTS=all AGENTFORM_SERVER_KILLS=$(or $(KILLS),50) \
		$(GO) run ./internal/test/kubetest/cluster $(GO) test -tags kubernetes -count 1 -v -timeout 24h -run '^TestCluster' ./internal/test/torture

.PHONY: captures
captures: tools ## records the screens and the usage of the real agents, and what is read from them; look at the diff
	@folder=$$(scripts/agents.sh) && AGENTFORM_AGENTS=$$folder AGENTFORM_CAPTURES=$(CURDIR)/agent/testdata \
		$(GO) test -tags agents -count 1 -parallel 4 -run TestSituations ./internal/test/agenttest
	@folder=$$(scripts/agents.sh) && AGENTFORM_AGENTS=$$folder AGENTFORM_USAGE_CAPTURES=$(CURDIR)/internal/usage/testdata \
		$(GO) test -tags agents -count 1 -parallel 4 -run 'TestUsage$$' ./internal/test/agenttest
	$(GO) test ./agent -run TestCaptures -update

.PHONY: soak-month
soak-month: ## a hub for a simulated month
	$(GO) test -count 1 -timeout 10m -run '^TestSoak$$' ./internal/hub

.PHONY: torture-quick
torture-quick: tools engine ## a hundred kills, and some of the faults
	scripts/dockerd.sh $(GO) test -count 1 -timeout 15m ./internal/test/torture

.PHONY: bench
bench: tools cluster engine ## all of it beside its floor and what people use today: one table, written to docs/BENCHMARKS.md; MOST=300: of a busy machine
	@GO="$(GO)" scripts/process-compose.sh || echo "process-compose does not build: it is left out"
	scripts/dockerd.sh $(GO) test -tags kubernetes -count 1 -timeout 40m -v -run TestRatios ./internal/test/bench -args -document $(CURDIR)/docs/BENCHMARKS.md -most $(MOST)

.PHONY: bench-quick
bench-quick: tools engine ## a little of it, in a minute; fails if a ratio is far off its goal. CI runs it with the tests
	scripts/dockerd.sh $(GO) test -count 1 -run TestRatios -v ./internal/test/bench

.PHONY: bench-parts
bench-parts: tools ## Go's benchmarks of the parts that the time goes into
	$(GO) test -run '^$$' -bench . -benchmem $(BENCH)

.PHONY: torture
torture: tools engine ## kill -9 of apply, destroy and the hub, TORTURE times (default 1000, ten minutes), then every fault; SEED=N repeats one
	AGENTFORM_TORTURE=$(TORTURE) AGENTFORM_TORTURE_SEED=$(SEED) AGENTFORM_FAULTS=all \
		scripts/dockerd.sh $(GO) test -count 1 -v -timeout 6h ./internal/test/torture

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
	@mkdir -p $(BIN)
	@echo "building golangci-lint $(LINT_VERSION) (once; about a minute on two cores)"
	@GOBIN=$(BIN) GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@mv $(BIN)/golangci-lint $@

.PHONY: vet-tags
vet-tags: ## go vet of the tests behind tags
	$(GO) vet -tags real,agents,kubernetes ./...

.PHONY: vet-macos
vet-macos: ## go vet of what a Mac would build
	GOOS=darwin $(GO) vet ./...

.PHONY: tools
tools: ## installs git and tmux where apt can, else says what is missing
	@GO="$(GO)" scripts/tools.sh

.PHONY: engine
engine: ## installs Docker and strace where apt can, else says what is missing: for tests of containers and of system calls that fail
	@GO="$(GO)" scripts/tools.sh dockerd $(if $(filter Linux,$(shell uname)),strace) && { command -v docker >/dev/null || GO="$(GO)" scripts/tools.sh docker; }

.PHONY: cluster
cluster: ## installs what a Kubernetes cluster on this machine needs where apt can, else says what is missing
	@GO="$(GO)" scripts/tools.sh etcd containerd runc ip /usr/lib/cni/bridge

.PHONY: clean
clean: ## bin/ and what the tests left
	rm -rf $(BIN)
