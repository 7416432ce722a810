package hostedcluster

import (
	"slices"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterconditions"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// doNotApply are the conditions of the HostedControlPlane that the cluster of TestSteadyState does not have.
var doNotApply = []string{
	hyperv1.AWSDefaultSecurityGroupDeleted, hyperv1.CloudResourcesDestroyed, // deletion
	hyperv1.EtcdDataEncryptionUpToDate, hyperv1.AutoNodeEnabled, // not requested
}

// steady returns the status of a condition of a cluster in which all is well, without a KMS key and without host names to look up.
func steady(condition string) metav1.ConditionStatus {
	if condition == hyperv1.ValidAWSKMSConfig || condition == hyperv1.ExternalDNSReachable {
		return metav1.ConditionUnknown
	}
	return clusterconditions.Healthy()[condition]
}

// TestSteadyState is the table of all conditions of a private cluster that is
// well: no condition is missing, and no condition reports an unknown fact.
func TestSteadyState(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	e.change(func(hc *hyperv1.HostedCluster) { hc.Generation = 2 }) // as an API server counts
	e.updateControlPlaneStatus(func(st *hyperv1.HostedControlPlaneStatus) {
		st.VersionStatus = versionStatus(firstRelease, "1.35.4", configv1.CompletedUpdate)
		for _, condition := range clusterconditions.Mirrored() {
			if !slices.Contains(doNotApply, condition) {
				reconcile.SetCondition(&st.Conditions, metav1.Condition{Type: condition, Status: steady(condition), Message: reconcile.AllIsWell}, e.Clock.Now())
			}
		}
	})
	e.Run(2)
	hc := e.hc()
	absent := append(slices.Clone(doNotApply), hyperv1.UnmanagedEtcdAvailable, hyperv1.NetworkPoliciesEnforced, hyperv1.HostedClusterStalled, hyperv1.EtcdBackupSucceeded, hyperv1.ServiceAccountSigningKeyRotated)
	for condition := range clusterconditions.Healthy() {
		c := meta.FindStatusCondition(hc.Status.Conditions, condition)
		if slices.Contains(absent, condition) {
			if c != nil {
				t.Errorf("%s is %s: it does not apply to the cluster", condition, c.Status)
			}
			continue
		}
		if want := steady(condition); c == nil || c.Status != want || c.ObservedGeneration != hc.Generation {
			t.Errorf("%s is %+v, want %s", condition, c, want)
		}
	}
	for _, c := range hc.Status.Conditions {
		if clusterconditions.Healthy()[c.Type] == "" {
			t.Errorf("%s is %s: the table of healthy conditions does not have it", c.Type, c.Status)
		}
	}
	if hc.Status.ObservedGeneration != hc.Generation {
		t.Errorf("the status is of generation %d, the cluster has %d", hc.Status.ObservedGeneration, hc.Generation)
	}
}
