#!/usr/bin/env bash
# Fails if a generated file, or go.mod or go.sum of the root module, of api/ or of test/lab/, is not up to date. It works on a copy
# and changes nothing in the working tree.
set -euo pipefail
top=$(git rev-parse --show-toplevel)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

cd "$top"
git ls-files -z --cached --others --exclude-standard | tar -cf - --null --no-recursion --ignore-failed-read --files-from=- | tar -xf - -C "$copy"
cd "$copy"
git init -q
git add -A
git -c user.name=verify -c user.email=verify@localhost commit -qm before

echo "generate: deep copies, CRDs, apply configurations, client, documents"
hack/generate.sh
echo "tidy: go.mod and go.sum, of the root module, of api/ and of test/lab/"
go mod tidy
go -C api mod tidy
go -C test/lab mod tidy
if ! git diff --quiet || [ -n "$(git status --porcelain)" ]; then
	git status --short
	git --no-pager diff | head -100
	echo "verify: run 'make generate' and 'go mod tidy' (also in api/ and test/lab/), and commit what they change" >&2
	exit 1
fi
echo "verify: generated files are up to date"
