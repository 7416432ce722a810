# What you can do here. `make` alone lists it.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# KEEP=1 leaves what the demo has built up; ACCESS is Public, PublicAndPrivate or Private.
KEEP ?=
ACCESS ?= Private
# MACHINES of the lab, spread over ZONES.
MACHINES ?= 3
ZONES ?= 3
# STORIES are those that e2e tells, as a pattern of go test.
STORIES ?=
# IMAGE is what `make image` builds, PLATFORMS the architectures.
IMAGE ?= hypershift:dev
PLATFORMS ?= linux/amd64,linux/arm64

# GOTEST runs go test and lists at the end which tests failed and which were skipped, with the reason.
GOTEST = go run gotest.tools/gotestsum@v1.13.0

.PHONY: help
help: ## this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## two hosted clusters on real machines, all on this one, as root: created, used, upgraded, deleted (KEEP=1 to look around)
	@go run ./hack/progress "compiling the demo" -o bin/demo ./test/demo/lab
	@bin/demo $(if $(KEEP),-keep) -machines $(MACHINES)

.PHONY: demo-private
demo-private: ## the life of a private cluster and its workers in AWS, without root (KEEP=1, ACCESS=Public|PublicAndPrivate|Private)
	@go run ./hack/progress "compiling the demo" -o bin/demo-private ./test/demo/private
	@bin/demo-private $(if $(KEEP),-keep) -access $(ACCESS)

.PHONY: test
test: binaries ## every test: unit, trials, API validation, contract of the AWS beds, integration
	@go run ./hack/progress "compiling everything" ./...
	$(GOTEST) --format pkgname -- -timeout 30m -parallel 6 ./...

.PHONY: binaries
binaries:
	@go run ./hack/binaries etcd etcdutl kube-apiserver kube-controller-manager aws-cloud-controller-manager cluster-api-manager cluster-api-provider-aws-manager helm >/dev/null

.PHONY: unit
unit: ## the tests that need nothing but Go (seconds)
	go test ./api/... ./internal/... ./hypershift-operator/... ./control-plane-operator/... ./test/fakeaws/... ./test/crashtest/...

.PHONY: integration
integration: ## stories across controllers, on a real API server and the AWS emulator
	$(GOTEST) --format standard-verbose -- -count=1 -timeout 30m -parallel 6 ./test/integration/...

.PHONY: e2e
e2e: ## stories on the lab, as root: everyday use, upgrade, outages, mistakes, installation (STORIES='Everyday|Upgrade')
	@go run ./hack/progress "compiling the stories" ./test/lab/...
	$(GOTEST) --format standard-verbose -- -tags e2e -count=1 -p 1 -timeout 45m -run '$(STORIES)' ./test/lab ./test/e2e

.PHONY: lab
lab: ## a management cluster with real nodes on this machine, as root (MACHINES in ZONES); then: bin/lab status
	@go run ./hack/progress "compiling the lab" -o bin/lab ./test/lab
	@bin/lab up --machines $(MACHINES) --zones $(ZONES)

.PHONY: lab-down
lab-down: ## the end of it, with nothing left
	@go run ./hack/progress "compiling the lab" -o bin/lab ./test/lab
	@bin/lab down

.PHONY: bench
bench: ## the budgets of the design beside what is measured here
	@go run ./hack/progress "compiling the bench" -o bin/bench ./test/bench
	@bin/bench

.PHONY: build
build: ## the programs, static, into bin/
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/ ./hypershift-operator ./control-plane-operator ./control-plane-operator/sidecar

.PHONY: image
image: ## a container image of the operators (IMAGE, PLATFORMS)
	docker buildx build --platform $(PLATFORMS) -t $(IMAGE) .

.PHONY: generate
generate: ## deep copies, CRDs, apply configurations, client
	hack/generate.sh

.PHONY: lint
lint: ## golangci-lint with the import table
	$$(go run ./hack/binaries golangci-lint) run ./...

.PHONY: verify
verify: lint ## lint, generated files up to date, tidy modules, a clean tree
	hack/verify.sh

.PHONY: vulnerabilities
vulnerabilities: ## known vulnerabilities in what our code calls, where the database of them can be reached
	hack/vulnerabilities.sh

.PHONY: clean
clean: ## what was built here (the cache of third-party binaries stays)
	rm -rf bin
