package pinned

import (
	"fmt"
	"slices"
	"strings"
)

// module is one directory of hack/binaries: a Go module that pins the version of the programs it builds.
type module struct {
	dir     string              // below hack/binaries
	require string              // the requirement in its go.mod that gives the version
	ldflags func(string) string // what the linker is told, given that version
	gib     uint64              // free disk that building it from nothing needs, caches included
}

// binary is one program: a server that a bed runs, or a linter.
type binary struct {
	name    string
	module  *module
	pkg     string
	minutes int // about how long it takes on two cores with nothing cached
}

var (
	etcd = &module{
		dir:     "etcd",
		require: "go.etcd.io/etcd/server/v3",
		ldflags: func(string) string { return "-s -w" },
		gib:     1,
	}
	kubernetes = &module{
		dir:     "kubernetes",
		require: "k8s.io/kubernetes",
		ldflags: kubernetesVersion,
		gib:     5,
	}
	cloudControllerManager = &module{
		dir:     "cloud-controller-manager",
		require: "k8s.io/cloud-provider-aws",
		ldflags: func(string) string { return "-s -w" },
		gib:     3,
	}
	clusterAPI = &module{
		dir:     "cluster-api",
		require: "sigs.k8s.io/cluster-api",
		ldflags: clusterAPIVersion("sigs.k8s.io/cluster-api/version"),
		gib:     2,
	}
	clusterAPIProviderAWS = &module{
		dir:     "cluster-api-provider-aws",
		require: "sigs.k8s.io/cluster-api-provider-aws/v2",
		ldflags: clusterAPIVersion("sigs.k8s.io/cluster-api-provider-aws/v2/version"),
		gib:     3,
	}
	golangciLint = &module{
		dir:     "golangci-lint",
		require: "github.com/golangci/golangci-lint/v2",
		ldflags: func(v string) string { return "-s -w -X main.version=" + v },
		gib:     2,
	}

	table = []binary{
		{name: "etcd", module: etcd, pkg: "go.etcd.io/etcd/server/v3", minutes: 1},
		{name: "kube-apiserver", module: kubernetes, pkg: "k8s.io/kubernetes/cmd/kube-apiserver", minutes: 5},
		{name: "kube-controller-manager", module: kubernetes, pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", minutes: 2},
		{name: "aws-cloud-controller-manager", module: cloudControllerManager, pkg: "k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager", minutes: 5},
		{name: "cluster-api-manager", module: clusterAPI, pkg: "sigs.k8s.io/cluster-api", minutes: 3},
		{name: "cluster-api-provider-aws-manager", module: clusterAPIProviderAWS, pkg: "sigs.k8s.io/cluster-api-provider-aws/v2", minutes: 4},
		{name: "golangci-lint", module: golangciLint, pkg: "github.com/golangci/golangci-lint/v2/cmd/golangci-lint", minutes: 4},
	}
)

// kubernetesVersion gives the servers the version they were released under; without it they report 0.0.0, which clients that
// check for a minimum refuse.
func kubernetesVersion(version string) string {
	const at = "k8s.io/component-base/version."
	number := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=%[3]s -X %[1]sgitMinor=%[4]s -X %[1]sgitTreeState=clean",
		at, version, number[0], number[1])
}

// clusterAPIVersion has a provider of Cluster API say in its log which version it is. It runs without.
func clusterAPIVersion(pkg string) func(string) string {
	return func(version string) string { return "-s -w -X " + pkg + ".gitVersion=" + version }
}

// Names lists every binary that Ensure can build, in the order in which it is worth building them.
func Names() []string { return names(table) }

func names(table []binary) []string {
	var all []string
	for _, b := range table {
		all = append(all, b.name)
	}
	return all
}

func find(table []binary, name string) (binary, error) {
	i := slices.IndexFunc(table, func(b binary) bool { return b.name == name })
	if i < 0 {
		return binary{}, fmt.Errorf("no binary named %q; there are %s", name, strings.Join(names(table), ", "))
	}
	return table[i], nil
}
