#!/usr/bin/env bash
# Runs all fuzz targets one after another, each for FUZZTIME. An input that fails is written to testdata/fuzz of its package: commit it with
# the repair, and `go test` runs it from then on. PACKAGES are the packages of the root module whose targets run; by default those of all modules.
set -euo pipefail
time=${FUZZTIME:-30s}

failed=0
# fuzz runs the targets of packages in the module of a directory.
fuzz() {
	local module=$1 package target
	shift
	for package in $(go -C "$module" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' "$@"); do
		for target in $(grep -ho '^func Fuzz[A-Za-z0-9_]*(f \*testing\.F)' "$package"/*_test.go 2>/dev/null | sed 's/^func //; s/(.*//' || true); do
			echo "fuzz: $target in ${package#"$PWD"/}, for $time"
			# Go tries for a minute to shorten each input that reaches new code, and looks for none meanwhile.
			go -C "$module" test -vet=off -run='^$' -fuzz="^$target\$" -fuzztime="$time" -fuzzminimizetime=2s "$package" || failed=1
		done
	done
}

if [[ -n ${PACKAGES:-} ]]; then
	# shellcheck disable=SC2086 # a list of patterns
	fuzz . $PACKAGES
else
	fuzz . ./... github.com/hosted-control-planes/hypershift/api/...
	fuzz test/lab ./...
fi
exit "$failed"
