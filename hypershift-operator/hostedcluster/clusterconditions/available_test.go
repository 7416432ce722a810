package clusterconditions

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// An EtcdRestore that was rejected keeps a new cluster from starting. Its user looks at the HostedCluster.
func TestMessageNamesTheRestoreThatAClusterWaitsFor(t *testing.T) {
	missing := &metav1.Condition{Type: hyperv1.KubeAPIServerAvailable, Message: "waiting"}
	for name, c := range map[string]struct {
		status hyperv1.HostedControlPlaneStatus
		want   bool
	}{
		"no restore":    {hyperv1.HostedControlPlaneStatus{}, false},
		"a new cluster": {hyperv1.HostedControlPlaneStatus{EtcdRestore: "uid"}, true},
		"a cluster that has been restored before": {hyperv1.HostedControlPlaneStatus{EtcdRestore: "uid", Initialized: true}, false},
	} {
		f := &Facts{HostedCluster: &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters"}}, ControlPlane: &hyperv1.HostedControlPlane{Status: c.status}}
		if got := f.missingMessage(missing); strings.HasSuffix(got, "see `kubectl get etcdrestores -n clusters`") != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
