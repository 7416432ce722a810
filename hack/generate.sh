#!/usr/bin/env bash
# Generates deep copies, CRDs, copies of external CRDs, the files of the chart, apply configurations, the typed client,
# docs/conditions.md, docs/annotations.md, docs/api.md, docs/benchmarks.md and the descriptions of payloads.
# It is idempotent.
set -euo pipefail
cd "$(dirname "$0")/.."

module=$(go list -m)
api=$module/api/hypershift/v1beta1
header=$(mktemp)
trap 'rm -f "$header"' EXIT
# An empty header: the generators would insert the current year.
: >"$header"

echo "deep copies and CRDs"
go tool controller-gen object paths=./api/hypershift/... paths=./api/certificates/...
rm -f config/crd/*hypershift.openshift.io_*.yaml
go tool controller-gen crd paths=./api/hypershift/... paths=./api/certificates/... output:crd:dir=config/crd
go run ./hack/crds

echo "external CRDs"
go run ./hack/externalcrds

echo "CRDs and permissions in the Helm chart"
go run ./hack/chart

echo "apply configurations"
rm -rf api/applyconfiguration
go tool applyconfiguration-gen \
	--go-header-file "$header" \
	--output-dir api/applyconfiguration \
	--output-pkg "$module/api/applyconfiguration" \
	"$api"
# Without its markers, the comment of a field ends with an empty line, which the formatter of Go 1.27 keeps.
find api/applyconfiguration -name '*.go' -exec perl -0pi -e 's#^\t*//\n(?!\t*//)##gm' {} +

echo "clientset with its fake"
rm -rf api/client/clientset
go tool client-gen \
	--go-header-file "$header" \
	--input-base "$module/api" \
	--input hypershift/v1beta1 \
	--apply-configuration-package "$module/api/applyconfiguration" \
	--clientset-name clientset \
	--output-dir api/client \
	--output-pkg "$module/api/client"

echo "descriptions of payloads"
go run ./hack/payload -generate

echo "docs/conditions.md and docs/annotations.md"
go run ./hack/constantsdoc

echo "docs/api.md"
go tool crd-ref-docs --log-level=ERROR --source-path=api/hypershift --config=hack/apidocs/config.yaml --templates-dir=hack/apidocs/templates \
	--renderer=markdown --output-path=docs/api.md
# Types have more than one empty line between them.
cat -s docs/api.md >"$header"
cp "$header" docs/api.md

echo "docs/benchmarks.md"
go -C test/lab run ./bench -page
