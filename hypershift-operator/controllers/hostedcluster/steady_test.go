package hostedcluster

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/clusterconditions"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// reportedByControlPlane is what the HostedControlPlane of a cluster says in which
// everything works. The HostedCluster repeats all of it.
var reportedByControlPlane = map[string]metav1.ConditionStatus{
	hyperv1.InfrastructureReady:                   metav1.ConditionTrue,
	hyperv1.KubeAPIServerAvailable:                metav1.ConditionTrue,
	hyperv1.KubeAPIServerReachable:                metav1.ConditionTrue,
	hyperv1.KubeletServingCertificatesSigned:      metav1.ConditionTrue,
	hyperv1.EtcdAvailable:                         metav1.ConditionTrue,
	hyperv1.IgnitionEndpointAvailable:             metav1.ConditionTrue,
	hyperv1.ValidHostedControlPlaneConfiguration:  metav1.ConditionTrue,
	hyperv1.ValidReleaseInfo:                      metav1.ConditionTrue,
	hyperv1.ValidIDPConfiguration:                 metav1.ConditionTrue,
	hyperv1.ValidAWSIdentityProvider:              metav1.ConditionTrue,
	hyperv1.AWSRolesIsolated:                      metav1.ConditionTrue,
	hyperv1.AWSDefaultSecurityGroupCreated:        metav1.ConditionTrue,
	hyperv1.ConfigOperatorReconciliationSucceeded: metav1.ConditionTrue,
	hyperv1.DataPlaneConnectionAvailable:          metav1.ConditionTrue,
	hyperv1.EndpointAccessUpToDate:                metav1.ConditionTrue,
	hyperv1.ControlPlaneConnectionAvailable:       metav1.ConditionTrue,
	hyperv1.ClusterVersionSucceeding:              metav1.ConditionTrue,
	hyperv1.ClusterVersionReleaseAccepted:         metav1.ConditionTrue,
	hyperv1.ClusterVersionRetrievedUpdates:        metav1.ConditionTrue,
	hyperv1.ClusterVersionUpgradeable:             metav1.ConditionTrue,
	hyperv1.PodNetworkInstalled:                   metav1.ConditionTrue,
	hyperv1.ClusterVersionAvailable:               metav1.ConditionTrue,
	// Calm is False for these.
	hyperv1.HostedClusterDegraded:     metav1.ConditionFalse,
	hyperv1.ClusterVersionProgressing: metav1.ConditionFalse,
	// Nobody asked for a key service, and there are no host names to look up.
	hyperv1.ValidAWSKMSConfig:    metav1.ConditionUnknown,
	hyperv1.ExternalDNSReachable: metav1.ConditionUnknown,
}

// evaluatedHere is what this operator says of such a cluster by itself. What it
// does not have is not shown: an etcd of the user's, encryption, a deletion.
var evaluatedHere = map[string]metav1.ConditionStatus{
	hyperv1.HostedClusterAvailable:          metav1.ConditionTrue,
	hyperv1.HostedClusterProgressing:        metav1.ConditionFalse,
	hyperv1.ReconciliationActive:            metav1.ConditionTrue,
	hyperv1.ReconciliationSucceeded:         metav1.ConditionTrue,
	hyperv1.SupportedFields:                 metav1.ConditionTrue,
	hyperv1.ValidHostedClusterConfiguration: metav1.ConditionTrue,
	hyperv1.SupportedHostedCluster:          metav1.ConditionTrue,
	hyperv1.ValidReleaseImage:               metav1.ConditionTrue,
	hyperv1.ValidProxyConfiguration:         metav1.ConditionTrue,
	hyperv1.PlatformCredentialsFound:        metav1.ConditionTrue,
	hyperv1.ValidOIDCConfiguration:          metav1.ConditionTrue,
	hyperv1.AWSEndpointServiceAvailable:     metav1.ConditionTrue,
	hyperv1.AWSEndpointAvailable:            metav1.ConditionTrue,
}

// TestSteadyState is the table of all conditions of a private cluster that is
// well: nothing is missing in it, and nothing is said that nobody knows.
func TestSteadyState(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.updateControlPlaneStatus(t, func(st *hyperv1.HostedControlPlaneStatus) {
		st.VersionStatus = versionStatus(firstRelease, "1.35.4", configv1.CompletedUpdate)
		for condition, status := range reportedByControlPlane {
			reconcile.SetCondition(&st.Conditions, metav1.Condition{Type: condition, Status: status, Message: reconcile.AllIsWell}, w.clock.Now())
		}
	})
	w.run(t, pass, 2)
	hc, err := w.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []map[string]metav1.ConditionStatus{reportedByControlPlane, evaluatedHere} {
		for condition, want := range table {
			if c := meta.FindStatusCondition(hc.Status.Conditions, condition); c == nil || c.Status != want || c.ObservedGeneration != hc.Generation {
				t.Errorf("%s is %+v, want %s", condition, c, want)
			}
		}
	}
	for _, c := range hc.Status.Conditions {
		_, theirs := reportedByControlPlane[c.Type]
		if _, ours := evaluatedHere[c.Type]; !ours && !theirs {
			t.Errorf("%s is %s: it has no place in a cluster that is well", c.Type, c.Status)
		}
	}
	for _, condition := range clusterconditions.Mirrored() {
		_, steady := reportedByControlPlane[condition]
		if passing := map[string]bool{
			hyperv1.AWSDefaultSecurityGroupDeleted: true, hyperv1.CloudResourcesDestroyed: true, // deletion
			hyperv1.EtcdDataEncryptionUpToDate: true, hyperv1.EtcdBackupSucceeded: true, hyperv1.HostedClusterRestoredFromBackup: true, hyperv1.AutoNodeEnabled: true, // not asked for
		}[condition]; steady == passing {
			t.Errorf("%s is repeated, and the table does not say what is healthy", condition)
		}
	}
}
