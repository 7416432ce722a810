#!/usr/bin/env bash
# Runs the quick conformance tests on a hosted cluster with a version of Kubernetes that is not hosted yet, such as a beta of the next minor
# version: hack/next/run.sh 1.38.0-beta.0. It raises the version in a copy of the working tree, as docs/upgrade.md describes, builds its programs
# and runs them in a lab. The working tree stays as it is; reports are in bin/.
set -euo pipefail
if [ $# -ne 1 ]; then
	echo "usage: $0 VERSION" >&2
	exit 2
fi
next=${1#v}
# A new minor version may need a newer release of Go than this repository.
export GOTOOLCHAIN=auto
top=$(git rev-parse --show-toplevel)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cd "$top"
git ls-files -z --cached --others --exclude-standard | tar -cf - --null --no-recursion --ignore-failed-read --files-from=- | tar -xf - -C "$copy"
cd "$copy"
git init -q
git add -A
git -c user.name=next -c user.email=next@localhost commit -qm "before $next"

present=$(sed -n 's/^var Kubernetes = \[\]string{"\([^"]*\)".*/\1/p' hack/payload/versions/versions.go)
minor() { cut -d. -f2 <<<"$1"; }
echo "next: from $present to $next"

# The modules of Kubernetes' repository are required by each other without versions.
work=$(mktemp -d)
modfile=$(cd "$work" && GOFLAGS='' go mod download -json "k8s.io/kubernetes@v$next" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
rmdir "$work"
mapfile -t staging < <(sed -n 's|^\t*\(replace \)\{0,1\}\(k8s\.io/[a-z0-9-]*\) => \./staging/.*|\2|p' "$modfile")
if [ ${#staging[@]} -eq 0 ]; then
	echo "next: the module k8s.io/kubernetes@v$next names no staging modules" >&2
	exit 1
fi
for pins in kubernetes conformance agnhost; do
	echo "next: hack/binaries/$pins"
	edits=("-require=k8s.io/kubernetes@v$next")
	for module in "${staging[@]}"; do
		edits+=("-replace=$module=$module@v0.${next#1.}")
	done
	(
		cd "hack/binaries/$pins"
		export GOFLAGS='' GOWORK=off
		# Requirements of the former version would be newer than the replacements.
		sed -i "s/ v0\.${present#1.}\( \|$\)/ v0.${next#1.}\1/" go.mod
		go mod edit "${edits[@]}"
		go mod tidy
	)
done
sed -i "s/^var Kubernetes = \[\]string{\"$present\"/var Kubernetes = []string{\"$next\"/" hack/payload/versions/versions.go
sed -i "s/Line{Kubernetes, 1, $(minor "$present")}$/Line{Kubernetes, 1, $(minor "$next")}/" internal/release/line.go
sed -i "s/^\t\"$present\": /\t\"$next\": /" test/lab/images/release.go
git --no-pager diff --stat

status=0
make conformance "VERSION=$next" QUICK=1 || status=$?
mkdir -p "$top/bin"
cp -r bin/conformance-* "$top/bin/" 2>/dev/null || true
exit $status
