#!/usr/bin/env bash
# Runs a hosted control plane on kind, with published images: make demo-kind [VERSION=0.1.0] [REGISTRY=...] [KUBERNETES=1.37.2].
# It has never run: no version has been released yet, and the machine of the tests has no container engine.
#
# Nodes of kind have no load balancer, and no AWS: the control plane is published at a port of the node, and has no workers.
set -euo pipefail
cd "$(dirname "$0")/../.."

registry=${REGISTRY:-ghcr.io/hosted-control-planes}
version=${VERSION:-$(sed -n 's/^version: //p' config/helm/hypershift/Chart.yaml)}
kubernetes=${KUBERNETES:-1.37.2}
name=${CLUSTER:-hypershift}
export RELEASE_IMAGE=$registry/kubernetes-release:v$kubernetes-$version

missing=()
for program in docker kind kubectl helm envsubst; do
	command -v "$program" >/dev/null || missing+=("$program")
done
if [ ${#missing[@]} -gt 0 ]; then
	echo "demo-kind: install ${missing[*]} first; the demo without a container engine is \`make demo\`" >&2
	exit 1
fi

step() { printf '\n=== %s\n' "$1"; }
on() { kubectl --context "kind-$name" "$@"; }

step "Start a management cluster: kind cluster $name"
kind get clusters | grep -qx "$name" || kind create cluster --name "$name" --wait 2m

step "Install hypershift $version"
helm upgrade --install hypershift-crds "oci://$registry/charts/hypershift-crds" --version "$version" --kube-context "kind-$name" \
	--namespace hypershift --create-namespace
helm upgrade --install hypershift "oci://$registry/charts/hypershift" --version "$version" --kube-context "kind-$name" \
	--namespace hypershift --create-namespace --set replicas=1 --wait --timeout 5m

step "Create the HostedCluster clusters/ports with $RELEASE_IMAGE"
NODE_ADDRESS=$(on get nodes -o jsonpath='{.items[0].status.addresses[?(@.type=="InternalIP")].address}')
export NODE_ADDRESS
envsubst <config/samples/hostedcluster-nodeport.yaml | on apply -f -
on wait hostedcluster/ports -n clusters --for=condition=Available --timeout=10m

step "Use it"
# The address is in the network of the container engine, which the node of kind can always reach.
on get secret ports-admin-kubeconfig -n clusters -o jsonpath='{.data.kubeconfig}' | base64 -d |
	docker exec -i "$name-control-plane" sh -c 'cat >/tmp/ports.kubeconfig && kubectl --kubeconfig /tmp/ports.kubeconfig get --raw=/version && kubectl --kubeconfig /tmp/ports.kubeconfig get namespaces'

cat <<END

The hosted cluster runs: kubectl --context kind-$name get hostedcluster,pod -A
To remove everything:    kubectl --context kind-$name delete hostedcluster -n clusters ports && kind delete cluster --name $name
END
