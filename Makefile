# `make` without a target lists all targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# KEEP=1 keeps the clusters of the demo.
KEEP ?=
# Number of nodes and zones of the lab.
MACHINES ?= 3
ZONES ?= 3
# Pattern of go test -run that selects the end-to-end scenarios.
STORIES ?=
# Name and platforms of the image that `make image` builds.
IMAGE ?= hypershift:dev
PLATFORMS ?= linux/amd64,linux/arm64

# Packages of the API module. ./... of the root module does not include them.
API = github.com/hosted-control-planes/hypershift/api/...

# GOTEST runs go test and lists at the end which tests failed and which were skipped, with the reason.
GOTEST = go run gotest.tools/gotestsum@v1.13.0

.PHONY: help
help: ## list all targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## create, use, upgrade and delete two hosted clusters on a lab on this machine, as root (KEEP=1 keeps them)
	@hack/packages/install.sh lab
	@go run ./hack/progress "compiling the demo" -o bin/demo ./test/demo/lab
	@bin/demo $(if $(KEEP),-keep) -machines $(MACHINES)

.PHONY: test
test: binaries ## run all tests except e2e: unit, crash consistency, API validation, AWS contract, chart, integration
	@go run ./hack/progress "compiling everything" ./... $(API)
	$(GOTEST) --format pkgname -- -timeout 30m -parallel 6 ./... $(API)

.PHONY: binaries
binaries:
	@hack/packages/install.sh test
	@go run ./hack/binaries etcd etcdutl kube-apiserver kube-controller-manager aws-cloud-controller-manager helm >/dev/null

.PHONY: unit
unit: ## run the tests of the operators and internal; they use etcd, kube-apiserver and HAProxy
	go test $(API) ./internal/... ./hypershift-operator/... ./control-plane-operator/... ./test/fakeaws/... ./test/crashtest/...

.PHONY: integration
integration: ## run the integration tests: scenarios across controllers, on a real API server and the AWS emulator
	$(GOTEST) --format standard-verbose -- -count=1 -timeout 30m -parallel 6 ./test/integration/...

.PHONY: e2e
e2e: ## run the end-to-end scenarios on the lab, as root: everyday use, upgrade, outages, mistakes, installation (STORIES='Everyday|Upgrade')
	@hack/packages/install.sh lab
	@go run ./hack/progress "compiling the scenarios" ./test/lab/...
	$(GOTEST) --format standard-verbose -- -tags e2e -count=1 -p 1 -timeout 60m -run '$(STORIES)' ./test/lab ./test/e2e

.PHONY: lab
lab: ## start a management cluster with real nodes on this machine, as root (MACHINES, ZONES); then: bin/lab status
	@hack/packages/install.sh lab
	@go run ./hack/progress "compiling the lab" -o bin/lab ./test/lab
	@bin/lab up --machines $(MACHINES) --zones $(ZONES)

.PHONY: lab-down
lab-down: ## stop the lab and remove its processes, networks, mounts and cgroups
	@go run ./hack/progress "compiling the lab" -o bin/lab ./test/lab
	@bin/lab down

.PHONY: bench
bench: ## measure time, CPU, memory and AWS calls, and compare them with the budgets
	@hack/packages/install.sh lab
	@go run ./hack/progress "compiling the bench" -o bin/bench ./test/bench
	@bin/bench

.PHONY: build
build: ## build the programs as static binaries in bin/
	CGO_ENABLED=0 go build -tags=grpcnotrace -trimpath -ldflags '-s -w' -o bin/ ./hypershift-operator ./control-plane-operator ./control-plane-operator/sidecar

.PHONY: image
image: ## build the container image of the operators (IMAGE, PLATFORMS)
	docker buildx build --platform $(PLATFORMS) -t $(IMAGE) .

.PHONY: generate
generate: ## generate deep copies, CRDs, apply configurations, the client, chart files and docs/conditions.md
	hack/generate.sh

.PHONY: lint
lint: ## run golangci-lint, with the table of allowed imports
	@golangci=$$(go run ./hack/binaries golangci-lint); \
	for module in . api; do (cd $$module && echo "lint: $$module" && $$golangci run ./...); done

.PHONY: verify
verify: lint ## run lint, and check that generated files and go.mod are up to date
	hack/verify.sh

.PHONY: vulnerabilities
vulnerabilities: ## find calls of functions with known vulnerabilities (skipped if the database cannot be reached)
	hack/vulnerabilities.sh

.PHONY: clean
clean: ## remove bin/ (the cache of third-party binaries stays)
	rm -rf bin
