# `make` without a target lists all targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# KEEP=1 keeps the clusters of the demo.
KEEP ?=
# Number of nodes and zones of the lab.
MACHINES ?= 3
ZONES ?= 3
# Programs of hack/binaries that `make lab-programs` builds; by default all except those that few scenarios or none need.
PROGRAMS ?=
RARE = *-1.35.*,*-1.36.*,conformance*/*,karpenter,traefik,image-registry,agnhost,cyclonus,kwok,ko,syft,cosign,root-cas,golangci-lint
# Patterns of go test -run and -skip that select the end-to-end scenarios.
STORIES ?=
SKIP ?=
# How often scenarios that fail are run again, each alone.
RERUN ?= 0
# How long `make fuzz` runs each fuzz target, and of which packages.
FUZZTIME ?= 30s
PACKAGES ?=
# Name of the image that `make image` builds. PUSH=1 pushes it, for all PLATFORMS.
IMAGE ?= hypershift:dev
PLATFORMS ?= linux/amd64,linux/arm64
PUSH ?=
# QUICK=1 runs a part of the conformance tests, BEYOND=1 other end-to-end tests. Their VERSION is that of Kubernetes; by default the newest.
QUICK ?=
BEYOND ?=
# Version, registry and key of cosign of a release: docs/releases.md. RELEASE_FLAGS are further flags of hack/release.
VERSION ?=
REGISTRY ?=
KEY ?=
RELEASE_FLAGS ?=
# Domain of a public hosted zone, release image and further flags of a trial on AWS.
BASE_DOMAIN ?=
RELEASE_IMAGE ?=
TRIAL_FLAGS ?=
# A file with built programs for the demo: `make bundle` writes it.
BUNDLE ?=
# What --version prints.
COMMIT = $(shell git rev-parse HEAD)
DATE = $(shell TZ=UTC git log -1 --date=iso-strict-local --format=%cd)
LDFLAGS = -s -w $(addprefix -X github.com/hosted-control-planes/hypershift/internal/version.,version=$(VERSION) commit=$(COMMIT) date=$(DATE))

# The same for all builds, as for the programs of hack/binaries: a package of the same version is then compiled once.
export GOTOOLCHAIN := $(shell sed -n 's/^toolchain //p' go.mod)+auto
export CGO_ENABLED = 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell go env GOFLAGS 2>/dev/null)) -trimpath)

# Packages of the API module. ./... of the root module does not include them.
API = github.com/hosted-control-planes/hypershift/api/...

# Directory of the lab's module: the lab, and the scenarios, benchmarks, conformance tests and demo that run on it.
LAB = test/lab

# GOTEST runs go test and lists at the end which tests failed and which were skipped, with the reason. NOVET leaves out go vet, which
# would check all dependencies, too: `make lint` has the same checks.
GOTEST = go run gotest.tools/gotestsum@v1.13.0
NOVET = -vet=off

# LIBRARIES are flags of go build that compile all packages and link no program.
LIBRARIES = -buildmode=archive

.PHONY: help
help: ## list all targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## create, use, upgrade and delete two hosted clusters on a lab on this machine, as root (KEEP=1 keeps them; BUNDLE: of `make bundle`)
	@hack/packages/install.sh lab
	@$(if $(BUNDLE),go run ./hack/bundle -unpack '$(BUNDLE)')
	@go run ./hack/progress -C $(LAB) -o bin/demo -expect 3m "compiling the demo" ./demo
	@go run ./hack/progress -C $(LAB) -o bin/lab "compiling the lab" .
	@bin/demo $(if $(KEEP),-keep) -machines $(MACHINES)

.PHONY: demo-kind
demo-kind: ## create a hosted cluster on kind, from the images of a release (never run; VERSION, REGISTRY)
	@VERSION='$(VERSION)' REGISTRY='$(REGISTRY)' hack/kind/demo.sh

.PHONY: test
test: binaries ## run all tests except e2e: unit, crash consistency, API validation, AWS contract, chart, integration
	@go run ./hack/progress -expect 6m "compiling everything except the lab" $(LIBRARIES) ./... $(API)
	@go run ./hack/progress -C $(LAB) "compiling the lab" $(LIBRARIES) ./...
	failed=0; \
	$(GOTEST) --format pkgname -- $(NOVET) -timeout 45m -parallel 6 ./... $(API) || failed=1; \
	(cd $(LAB) && $(GOTEST) --format pkgname -- $(NOVET) -timeout 45m -parallel 6 ./...) || failed=1; \
	exit $$failed

.PHONY: binaries
binaries:
	@hack/packages/install.sh test
	@go run ./hack/binaries etcd etcdutl kube-apiserver kube-controller-manager aws-cloud-controller-manager helm >/dev/null

.PHONY: lab-programs
lab-programs: ## build the programs and the images of machines of the lab in advance (PROGRAMS='*-1.36.* karpenter')
	@hack/packages/install.sh lab
	@go run ./hack/binaries $(or $(foreach program,$(PROGRAMS),'$(program)'),-except '$(RARE)') >/dev/null
	@go run ./hack/images >/dev/null

.PHONY: bundle
bundle: lab-programs ## pack the programs that a demo needs into one file, so that another machine need not build them (BUNDLE=lab.tar.zst)
	@programs=$$(go run ./hack/binaries -except '$(RARE)'); older=$$(go run ./hack/binaries '*-1.36.*'); roots=$$(go run ./hack/images); \
	printf '%s\n' $$programs $$older $$roots | go run ./hack/bundle -pack '$(or $(BUNDLE),bin/lab-$(shell go env GOOS)-$(shell go env GOARCH).tar.zst)'

.PHONY: newest
newest: ## ask the module proxy for the releases of the programs of others: tests fail when a release payload is more than one patch behind
	@releases=$$(go run ./hack/binaries -newest); printf '%s\n' "$$releases" >hack/binaries/newest/releases.json

.PHONY: inventory
inventory: ## list the programs of others with their versions and libraries, in hack/binaries/README.md
	@page=$$(go run ./hack/binaries -inventory); printf '%s\n' "$$page" >hack/binaries/README.md

.PHONY: quick
quick: ## run the tests that start no other program, with a sample of the crash trials: the loop while you edit
	@go run ./hack/quick

.PHONY: unit
unit: ## run the tests of the operators, the command line and internal; they use etcd, kube-apiserver, HAProxy and the AWS emulator
	go test -timeout 45m $(API) ./cmd/... ./internal/... ./hypershift-operator/... ./control-plane-operator/... ./test/fakeaws/... ./test/crashtest/...

.PHONY: interruptions
interruptions: binaries ## interrupt the command line in each single call of AWS; `make test` does it once for each action
	HYPERSHIFT_TEST_EVERY_CALL=true go test -count=1 -timeout 60m $(NOVET) ./cmd/hypershift/cli -run 'Death|Killed|LostAnswer|ThrottledAndLost'

.PHONY: fuzz
fuzz: ## run all fuzz targets, one after another (FUZZTIME=5m, PACKAGES=./internal/pki)
	@FUZZTIME='$(FUZZTIME)' PACKAGES='$(PACKAGES)' hack/fuzz.sh

.PHONY: integration
integration: ## run the integration tests: scenarios across controllers, on a real API server and the AWS emulator
	$(GOTEST) --format standard-verbose -- $(NOVET) -count=1 -timeout 30m -parallel 6 ./test/integration/...

.PHONY: e2e
e2e: ## run the end-to-end scenarios on the lab, as root: everyday use, upgrade, outages, mistakes, installation (STORIES='Everyday|Upgrade')
	@hack/packages/install.sh lab
	@go run ./hack/progress -C $(LAB) "compiling the scenarios" $(LIBRARIES) ./...
	cd $(LAB) && $(GOTEST) --format standard-verbose --rerun-fails=$(RERUN) --rerun-fails-run-root-test --packages '. ./e2e' \
		-- $(NOVET) -tags e2e -count=1 -p 1 -timeout 75m -run '$(STORIES)' -skip '$(SKIP)'

.PHONY: lab
lab: ## start a management cluster with real nodes on this machine, as root (MACHINES, ZONES); then: bin/lab status
	@hack/packages/install.sh lab
	@go run ./hack/progress -C $(LAB) -o bin/lab "compiling the lab" .
	@bin/lab up --machines $(MACHINES) --zones $(ZONES)

.PHONY: lab-down
lab-down: ## stop the lab and remove its processes, networks, mounts and cgroups
	@go run ./hack/progress -C $(LAB) -o bin/lab "compiling the lab" .
	@bin/lab down

.PHONY: bench
bench: ## measure time, CPU, memory and AWS calls, and compare them with the goals
	@hack/packages/install.sh lab
	@go run ./hack/progress -C $(LAB) -o bin/bench "compiling the bench" ./bench
	@bin/bench

.PHONY: bench-counts
bench-counts: binaries ## measure the writes and AWS calls of the operators, and fail if there are more than in the committed results (4 minutes)
	@go run ./hack/progress -C $(LAB) -o bin/bench "compiling the bench" ./bench
	@bin/bench -counts

.PHONY: aws-trial
aws-trial: ## create, use and delete one hosted cluster on AWS, and report times and cost (RELEASE_IMAGE, TRIAL_FLAGS): docs/tested.md
	@go build -ldflags "$(LDFLAGS)" -o bin/hypershift ./cmd/hypershift
	@go build -o bin/awstrial ./test/awstrial
	@bin/awstrial $(if $(BASE_DOMAIN),-base-domain '$(BASE_DOMAIN)') -release-image '$(RELEASE_IMAGE)' $(TRIAL_FLAGS)

.PHONY: conformance
conformance: ## run Kubernetes' conformance tests on a hosted cluster of a lab, as root (VERSION; QUICK=1 runs a part in about 7 min, BEYOND=1 other tests)
	@hack/packages/install.sh lab
	@go run ./hack/progress -C $(LAB) -o bin/conformance "compiling the runner of the tests" ./conformance
	@bin/conformance $(if $(VERSION),-version '$(VERSION)') $(if $(QUICK),-quick) $(if $(BEYOND),-beyond)

.PHONY: conformance-next
conformance-next: ## run the quick conformance tests with a version of Kubernetes that is not hosted yet, such as NEXT=1.38.0-beta.0, as root (about an hour)
	@hack/next/run.sh '$(NEXT)'

.PHONY: build
build: ## build the programs as static binaries in bin/
	CGO_ENABLED=0 go build -tags=grpcnotrace -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./hypershift-operator ./control-plane-operator ./control-plane-operator/sidecar ./cmd/console ./cmd/hypershift

.PHONY: man
man: ## write the manual pages of the command line to bin/man
	@go run -tags=grpcnotrace -trimpath -ldflags '$(LDFLAGS)' ./cmd/hypershift man --output-dir bin/man

.PHONY: image
image: ## build the container image of the operators with Docker (IMAGE; PUSH=1 pushes it for all PLATFORMS)
	docker buildx build $(if $(PUSH),--push --platform $(PLATFORMS),--load) \
		--build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) --build-arg DATE=$(DATE) -t $(IMAGE) .

.PHONY: release
release: ## build, push and sign images, command line, chart and payloads, without a container engine (VERSION, REGISTRY, KEY)
	go run ./hack/release -version '$(VERSION)' -registry '$(REGISTRY)' $(if $(KEY),-key '$(KEY)',-keyless) $(RELEASE_FLAGS)

.PHONY: test-release
test-release: ## release to a registry on this machine, and check what users would get (about 30 min with empty caches)
	$(GOTEST) --format standard-verbose -- $(NOVET) -tags release -count=1 -timeout 60m ./test/release

.PHONY: generate
generate: ## generate deep copies, CRDs, apply configurations, the client, chart files, payloads and documents
	hack/generate.sh

.PHONY: lint
lint: ## run golangci-lint on all modules, with the table of allowed imports, and the linter of IAM policies
	@golangci=$$(go run ./hack/binaries golangci-lint); \
	work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; export GOWORK=$$work/go.work; \
	go work init $(CURDIR) $(CURDIR)/api $(CURDIR)/$(LAB); \
	$$golangci run ./... ./api/... ./$(LAB)/...
	@$$(go run ./hack/venv hack/policies/requirements.txt) hack/policies/lint.py

.PHONY: verify
verify: lint ## run lint, and check that generated files and go.mod are up to date
	hack/verify.sh

.PHONY: site
site: ## build the documentation as a site with search, in bin/site
	@NO_MKDOCS_2_WARNING=1 $$(go run ./hack/venv hack/site/requirements.txt) -m mkdocs build --strict -f hack/site/mkdocs.yml
	@echo bin/site/index.html

.PHONY: vulnerabilities
vulnerabilities: ## find calls of functions with known vulnerabilities (skipped if the database cannot be reached)
	hack/vulnerabilities.sh

.PHONY: clean
clean: ## remove bin/ (the cache of third-party binaries stays)
	rm -rf bin
