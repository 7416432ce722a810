// Command release builds a release and pushes it to a registry, without a container engine:
//
//	go run ./hack/release -version 0.1.0 -registry ghcr.io/hosted-control-planes -key cosign.key
//
//	programs.go     ko: programs of both operators for each platform, as layers ─┐
//	image.go        layers + CA certificates + labels ─► REGISTRY/hypershift:VERSION
//	sbom.go         syft: SBOM of each image, attached as an attestation
//	commandline.go  go build, syft: archive and SBOM of the command line for each platform
//	chart.go        helm: charts of the CRDs, and of the operator with the digest of the image ─► REGISTRY/charts/hypershift[-crds]:VERSION
//	payloads.go     hack/payload: REGISTRY/kubernetes-release:vKUBERNETES-VERSION
//	sign.go         cosign: signatures of all of them
//	files.go        images.txt, notes from CHANGELOG.md and SHA256SUMS
//
// The tools are built from modules that hack/binaries pins. Everything is built before the first write to the registry. The same commit
// and Go release result in the same digests; only signatures, and payloads with components that are named by tags, differ. A tag is never
// moved: a release that was interrupted can be repeated, and another release needs another version.
package main
