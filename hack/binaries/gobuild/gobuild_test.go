package gobuild

import "testing"

func TestExecutableHasTheNameThatGoGivesIt(t *testing.T) {
	for pkg, want := range map[string]string{
		"k8s.io/kubernetes/cmd/kubelet":               "kubelet",
		"go.etcd.io/etcd/server/v3":                   "server",
		"sigs.k8s.io/cluster-api-provider-aws/v2":     "cluster-api-provider-aws",
		"github.com/containerd/containerd/v2/cmd/ctr": "ctr",
		"example.test/v1":                             "v1",
		"root-cas":                                    "root-cas",
		"./control-plane-operator/sidecar":            "sidecar",
	} {
		if got := Executable(pkg); got != want {
			t.Errorf("%s is built as %s, want %s", pkg, got, want)
		}
	}
}
