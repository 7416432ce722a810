#!/usr/bin/env bash
# Makes what is made from the sources: deep copies, CRDs (ours and copies), the chart's copies, apply configurations, the typed client and the page on conditions.
# Running it twice changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

module=$(go list -m)
api=$module/api/hypershift/v1beta1
header=$(mktemp)
trap 'rm -f "$header"' EXIT
# The generators would put the year of the day here; the licence of the repository is enough.
: >"$header"

echo "deep copies and CRDs"
go tool controller-gen object paths=./api/hypershift/...
rm -f config/crd/hypershift.openshift.io_*.yaml
go tool controller-gen crd paths=./api/hypershift/... output:crd:dir=config/crd

echo "kinds of other projects"
go run ./hack/externalcrds

echo "kinds and permissions in the Helm chart"
go run ./hack/chart

echo "apply configurations"
rm -rf api/applyconfiguration
go tool applyconfiguration-gen \
	--go-header-file "$header" \
	--output-dir api/applyconfiguration \
	--output-pkg "$module/api/applyconfiguration" \
	"$api"

echo "typed client"
rm -rf api/client
go tool client-gen \
	--go-header-file "$header" \
	--input-base "$module/api" \
	--input hypershift/v1beta1 \
	--apply-configuration-package "$module/api/applyconfiguration" \
	--clientset-name clientset \
	--fake-clientset=false \
	--output-dir api/client \
	--output-pkg "$module/api/client"

echo "page on conditions"
go run ./hack/conditionsdoc
