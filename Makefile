# `make help` lists the targets. Programs are built in bin/, except those of the host cluster, which
# are in the user's cache.

SHELL := /usr/bin/env bash
.DEFAULT_GOAL := build

# Variables for `make run`: the folder of the storage, the port to serve on, more flags for the
# server, and the name under which the cluster's kube-apiserver reaches this machine. Set the name
# if neither localhost nor our address towards the cluster is right.
DATA_DIR ?= .data
PORT ?= 7443
ARGS ?=
EXTERNAL_NAME ?=

# `make run-clean FORCE=1` takes the registration away although controllers with finalize hooks are
# left.
FORCE ?=

# More flags of test/bench for `make bench`. With --document= it only prints. Only the rows of
# measured scenarios change.
BENCH_ARGS ?=

# Variables for `make deploy` and `make undeploy`: the manifests, as a folder with a kustomization.yaml,
# and the image that the cluster is to run. `make undeploy FORCE=1` does not look for controllers that
# would be lost.
DEPLOY ?= artifacts/deploy
IMAGE ?= metacontroller/metacontroller-apiserver:latest
KUBECTL ?= kubectl

# How long `make faults` goes on.
DURATION ?= 10m

# `make demo KEEP=1` leaves the cluster of the demo running; `make demo-stop` ends it.
KEEP ?=

# The race detector needs a C compiler. Without one, the tests run without the race detector.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# TEST_ENVIRONMENT names the programs that tests in a cluster run. With the default of Go, the garbage collector takes a
# fifth of the CPU time of the host cluster. The servers that package aggregation starts have the default.
TEST_ENVIRONMENT = GOGC=400 KUBEBUILDER_ASSETS="$$(hack/hostcluster/build.sh --print-dir)" \
	METACONTROLLER_APISERVER="$(CURDIR)/bin/metacontroller-apiserver" \
	KUBECTL_METACONTROLLER="$(CURDIR)/bin/kubectl-metacontroller"

LINT := go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint
HELM := go tool -modfile=hack/tools/helm/go.mod helm
ACTIONLINT := go tool -modfile=hack/tools/actionlint/go.mod actionlint

.PHONY: help
help:
	@awk -F ':.*## ' '/^##@ / {print "\n" substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Build

.PHONY: build
build: ## Build bin/metacontroller-apiserver and bin/kubectl-metacontroller.
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

# VERSION is that of the tag by default, or one made of the commit.
.PHONY: image
image: ## Pack bin/image/metacontroller-apiserver-image.tar, an OCI archive for linux on amd64 and arm64 (VERSION).
	hack/release/image.sh bin/image

.PHONY: release
release: ## Put all files of a release into bin/release (VERSION).
	rm -rf bin/release
	hack/release/release.sh bin/release

.PHONY: host-binaries
host-binaries: ## Build etcd, kube-apiserver, kube-controller-manager and kubectl for the host cluster, once.
	@hack/hostcluster/build.sh

.PHONY: tools
tools:
	go build -o bin/ ./test/harness/cmd/...

.PHONY: clean
clean: ## Remove bin/. The programs of the host cluster stay in the user's cache.
	rm -rf bin

##@ Try

.PHONY: demo
demo: host-binaries build tools ## Play the Hello World tutorial on a cluster of its own. KEEP=1 leaves it running.
	@hack/demo.py $(if $(KEEP),keep)

.PHONY: demo-stop
demo-stop: ## End what `make demo KEEP=1` left running.
	@hack/demo.py stop

.PHONY: host
host: host-binaries tools ## Run an empty host cluster with a node that runs no containers, in the foreground, and print its KUBECONFIG.
	@KUBEBUILDER_ASSETS="$$(hack/hostcluster/build.sh --print-dir)" bin/hostcluster -node

.PHONY: run
run: build tools ## Serve the cluster of $KUBECONFIG from outside it, in the foreground and in developer mode (DATA_DIR, PORT, ARGS, EXTERNAL_NAME).
	@exec bin/attach run -server bin/metacontroller-apiserver -data-dir "$(DATA_DIR)" -port "$(PORT)" -external-name "$(EXTERNAL_NAME)" -- $(ARGS)

.PHONY: run-clean
run-clean: tools ## Remove what `make run` registered at the cluster of $KUBECONFIG (DATA_DIR, FORCE=1).
	@bin/attach clean -data-dir "$(DATA_DIR)" $(if $(filter 1,$(FORCE)),-force)

##@ Install

.PHONY: deploy
deploy: ## Install the server in the cluster of $KUBECONFIG, and wait until it serves (DEPLOY, IMAGE).
	$(KUBECTL) apply -f artifacts/deploy/base/namespace.yaml
	$(KUBECTL) kustomize $(DEPLOY) | sed 's|image: metacontroller/metacontroller-apiserver:latest|image: $(IMAGE)|' | $(KUBECTL) apply -f -
	$(KUBECTL) wait --for=jsonpath='{.status.conditions[*].reason}'=Passed --timeout=120s apiservice/v1alpha1.metacontroller.k8s.io

.PHONY: undeploy
undeploy: ## Remove what `make deploy` installed, with its volume (DEPLOY, FORCE=1).
	KUBECTL="$(KUBECTL)" FORCE="$(FORCE)" hack/undeploy.sh $(DEPLOY)

# `make migrate` says how far a migration from Metacontroller is; STEP does a step, with FLAGS.
STEP ?= check
FLAGS ?=

.PHONY: migrate
migrate: build ## Move the cluster of $KUBECONFIG from Metacontroller to the server, or back: see docs/migrate.md (STEP, FLAGS).
	@bin/metacontroller-apiserver migrate $(STEP) $(FLAGS)

##@ Check

# Results are not cached, because go test does not notice a new binary of the server. Most tests
# wait for a cluster, so more of them run at once than there are processors.
#
# The race detector more than doubles what a test in a cluster costs. The unit tests run with it, and of the others
# those in RACED, which together run all stages of a sync, the API, rows, previews, elections and traces. `make test
# RACED=./test/...` runs nearly all with it. The plugin runs without it, since it is started often and does one thing
# at a time.
#
# test/faults plays some 700 runs, and test/integration/mistakes 120. They run alone, since what they look for has to
# happen within bounds of time.
#
# SLOWEST are the packages that take longest, so they begin before the others. By default, a program with the race
# detector sleeps for a second before it exits.
RACED ?= $(addprefix ./test/,integration/replicas integration/api conformance/... integration/certificates \
	integration/observing integration/previews integration/tracing)
SLOWEST := $(addprefix ./test/integration/,composite migrate leaks examples load manual decorator)

.PHONY: test
test: host-binaries build ## Run all tests (RACED).
	$(TEST_ENVIRONMENT) go test -count=1 -p 1 -parallel 16 -timeout 15m ./test/faults ./test/integration/mistakes
	$(TEST_ENVIRONMENT) go test -C test/bench -count=1 -p 2 -parallel 16 -timeout 15m ./...
	go build $(RACE) -o bin/test/ ./cmd/metacontroller-apiserver
	others='/test/(faults|e2e|integration/mistakes)$$' && raced="$$(go list $(RACED) | grep -vE "$$others")" && \
	go list $(SLOWEST) ./test/... | grep -vE "$$others" | grep -vxF "$$raced" | \
		$(TEST_ENVIRONMENT) xargs -r go test -count=1 -p 4 -parallel 16 -timeout 30m && \
	$(TEST_ENVIRONMENT) METACONTROLLER_APISERVER="$(CURDIR)/bin/test/metacontroller-apiserver" GORACE=atexit_sleep_ms=0 \
	go test $(RACE) -count=1 -p 4 -parallel 16 -timeout 30m $$raced $$(go list ./... | grep -v /test/)

# The packages are those whose tests depend most on what kube-apiserver does.
.PHONY: test-kubernetes
test-kubernetes: build ## Run the tests and the demo with another Kubernetes, whose programs are built once (VERSION=1.30.14).
	$(if $(VERSION),,$(error set VERSION to a version of Kubernetes, such as VERSION=1.30.14))
	KUBERNETES_VERSION=$(VERSION) hack/hostcluster/build.sh
	KUBEBUILDER_ASSETS="$$(KUBERNETES_VERSION=$(VERSION) hack/hostcluster/build.sh --print-dir)" \
	METACONTROLLER_APISERVER="$(CURDIR)/bin/metacontroller-apiserver" \
	KUBECTL_METACONTROLLER="$(CURDIR)/bin/kubectl-metacontroller" \
	go test -count=1 -p 2 -parallel 16 -timeout 30m ./test/conformance/... ./test/integration/api \
		./test/integration/composite ./test/integration/decorator ./test/integration/leaks
	KUBERNETES_VERSION=$(VERSION) $(MAKE) demo

# The tools are libraries in a module of their own. Helm is the one of `make lint`.
.PHONY: test-clients
test-clients: host-binaries build ## Install, change and delete controllers with Helm, Flux, Argo CD and kstatus.
	$(TEST_ENVIRONMENT) go test -C test/clients -count=1 -parallel 8 -timeout 15m

# It needs root, and the folder ../shared/realcluster or a cluster in E2E_KUBECONFIG.
.PHONY: e2e
e2e: host-binaries ## Install the server in a real cluster, and play the tutorial and the examples in it.
	@hack/e2e.sh

# FAULTS_SEED=... repeats one walk.
.PHONY: faults
faults: host-binaries ## Play random scenarios with random faults for DURATION, until the first one fails.
	go build $(RACE) -o bin/test/metacontroller-apiserver ./cmd/metacontroller-apiserver
	KUBEBUILDER_ASSETS="$$(hack/hostcluster/build.sh --print-dir)" \
	METACONTROLLER_APISERVER="$(CURDIR)/bin/test/metacontroller-apiserver" \
	FAULTS_DURATION="$(DURATION)" \
	go test $(RACE) -count=1 -timeout 0 -v -run '^TestRandomWalk$$' ./test/faults

# The program runs without the race detector, because it tells how long steps take.
.PHONY: bench-micro
bench-micro: ## Measure the pieces of a sync, in time and allocations. Needs no cluster and takes some minutes.
	go test -run '^$$' -bench . $$(git grep -l '^func Benchmark' -- 'pkg/*_test.go' | xargs dirname | sort -u | sed 's|^|./|')

# The size of the pieces in which a file is written decides how much of it Linux maps at a time.
.PHONY: bench-server
bench-server: # Build the server like a release, and write it in small pieces like a container runtime that unpacks an image.
	@mkdir -p bin/bench
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/bench/linked ./cmd/metacontroller-apiserver
	dd if=bin/bench/linked of=bin/bench/metacontroller-apiserver bs=32k status=none
	chmod +x bin/bench/metacontroller-apiserver
	@rm bin/bench/linked

.PHONY: bench
bench: host-binaries bench-server ## Measure side by side with an operator written by hand, and write the rows into docs/benchmarks.md. Takes more than an hour (BENCH_ARGS).
	go build -C test/bench -o ../../bin/bench ./floor ./native .
	KUBEBUILDER_ASSETS="$$(hack/hostcluster/build.sh --print-dir)" \
	METACONTROLLER_APISERVER="$(CURDIR)/bin/bench/metacontroller-apiserver" \
	bin/bench/bench --programs=bin/bench --document=docs/benchmarks.md $(BENCH_ARGS)

.PHONY: bench-selected-pods
bench-selected-pods: host-binaries bench-server ## Measure the memory of the server beside 10,000 Pods, of which none, 50 and all are selected.
	KUBEBUILDER_ASSETS="$$(hack/hostcluster/build.sh --print-dir)" \
	METACONTROLLER_APISERVER="$(CURDIR)/bin/bench/metacontroller-apiserver" \
	go test -C test/bench -run '^$$' -bench '^BenchmarkSelectedPods$$' -benchtime 1x -timeout 30m

.PHONY: bench-storage
bench-storage: host-binaries bench-server ## Measure the volume and the memory that 1,000 to 50,000 ControllerRevisions take.
	KUBEBUILDER_ASSETS="$$(hack/hostcluster/build.sh --print-dir)" \
	METACONTROLLER_APISERVER="$(CURDIR)/bin/bench/metacontroller-apiserver" \
	go test -C test/bench -run '^$$' -bench '^BenchmarkStorage$$' -benchtime 1x -timeout 30m

.PHONY: bench-rows
bench-rows: host-binaries bench-server ## Measure what it takes to look at the Syncs of 10,000 parents.
	KUBEBUILDER_ASSETS="$$(hack/hostcluster/build.sh --print-dir)" \
	METACONTROLLER_APISERVER="$(CURDIR)/bin/bench/metacontroller-apiserver" \
	go test -run '^$$' -bench '^BenchmarkRows$$' -benchtime 1x -timeout 30m ./test/integration/observing

.PHONY: bench-previews
bench-previews: host-binaries bench-server ## Measure reviews of 1,000 parents, and how long edits take beside them.
	KUBEBUILDER_ASSETS="$$(hack/hostcluster/build.sh --print-dir)" \
	METACONTROLLER_APISERVER="$(CURDIR)/bin/bench/metacontroller-apiserver" \
	go test -run '^$$' -bench '^BenchmarkManyParents$$' -benchtime 1x -timeout 30m ./test/integration/previews

.PHONY: bench-hostile-hook
bench-hostile-hook: host-binaries build ## Have a hook do all that is expensive to the server for a minute, beside another tenant's.
	KUBEBUILDER_ASSETS="$$(hack/hostcluster/build.sh --print-dir)" \
	METACONTROLLER_APISERVER="$(CURDIR)/bin/metacontroller-apiserver" \
	KUBECTL_METACONTROLLER="$(CURDIR)/bin/kubectl-metacontroller" \
	go test -count=1 -v -run '^TestAHostileHook' ./test/integration/load -hostile-for=1m

.PHONY: manifests
manifests: host-binaries ## Render artifacts/deploy/metacontroller.yaml from the folders beside it.
	@mkdir -p bin
	@{ echo '# Rendered by `make manifests` from overlays/embedded-etcd.' && \
	"$$(hack/hostcluster/build.sh --print-dir)/kubectl" kustomize artifacts/deploy; } >bin/metacontroller.yaml
	@mv bin/metacontroller.yaml artifacts/deploy/metacontroller.yaml

.PHONY: generate
generate: ## Generate the code again.
	hack/update-codegen.sh

.PHONY: docs-reference
docs-reference: ## Write docs/api.md from the types, and docs/schemas from the protocol of hooks.
	go test -count=1 -run "UpToDate$$" ./test/corpus -update-reference

.PHONY: docs
docs: ## Build the site of the documentation in bin/site/public, and check its links and its search. Needs Node and npm.
	hack/site/build.sh

.PHONY: docs-serve
docs-serve: ## Show the site on this machine, until Ctrl-C.
	hack/site/build.sh serve

.PHONY: verify
verify: ## Fail if the generated code is out of date.
	hack/verify-codegen.sh

.PHONY: fmt-check
fmt-check: ## Fail if a Go file is not formatted.
	@unformatted="$$(gofmt -l $$(git ls-files '*.go' | grep -v zz_generated))"; \
	if [[ -n "$$unformatted" ]]; then echo "run gofmt -w on:" && echo "$$unformatted" && exit 1; fi

.PHONY: release-check
release-check: ## Build a release twice, in different folders, and fail if its bytes differ or it is not whole.
	hack/release/check.sh

.PHONY: hack-test
hack-test: ## Test the programs in hack/: the packing of the image, and the alerts.
	cd hack/image && go test ./...
	cd hack/monitoring && go test ./...

.PHONY: vet
vet: ## Run go vet.
	go vet ./...
	cd hack/image && go vet ./...
	cd hack/monitoring && go vet ./...
	cd test/bench && go vet ./...
	cd test/clients && go vet ./...
	cd test/clients/argocd && go vet ./...

.PHONY: lint
lint: ## Run golangci-lint, which also checks the import rules, compare docs/architecture.md with the tree, limit the files of packages and types, and run helm lint and actionlint.
	$(LINT) run
	cd test/bench && $(LINT) run
	cd test/clients && $(LINT) run
	cd test/clients/argocd && $(LINT) run
	hack/check-map.sh
	go run ./hack/limits cmd pkg
	hack/check-ci.sh
	$(ACTIONLINT) .github/workflows/*.yml
	$(HELM) lint --strict --quiet artifacts/charts/metacontroller

.PHONY: tidy-check
tidy-check: ## Fail if a go.mod is not tidy.
	go mod tidy -diff
	cd hack/hostcluster && go mod tidy -diff
	cd hack/image && go mod tidy -diff
	cd hack/monitoring && go mod tidy -diff
	cd hack/tools && go mod tidy -diff
	cd hack/tools/actionlint && go mod tidy -diff
	cd hack/tools/esbuild && go mod tidy -diff
	cd hack/tools/helm && go mod tidy -diff
	cd test/bench && go mod tidy -diff
	cd test/clients && go mod tidy -diff
	cd test/clients/argocd && go mod tidy -diff
