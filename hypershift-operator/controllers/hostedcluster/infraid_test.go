package hostedcluster

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// reservedFor is how long the infraID of a deleted cluster is reserved.
const reservedFor = 365 * 24 * time.Hour

func namespaceOf(name, uid string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
}

// TestAReleasedInfraIDIsReserved deletes a cluster, and checks which clusters may get its infraID.
func TestAReleasedInfraIDIsReserved(t *testing.T) {
	e := newEmptyManagementCluster(t)
	e.namespace = "hypershift"
	victim := privateCluster()
	e.Create(namespaceOf("hypershift", "o"), namespaceOf("clusters", "a"), namespaceOf("attacker", "b"), victim, testenv.PullSecret())
	e.Restart()
	e.Run(3)
	id := e.hc().Spec.InfraID
	if id == "" {
		t.Fatal("the cluster has no infraID")
	}
	e.removeWhole(victim)

	made := 0
	again := func(namespace string) *hyperv1.HostedCluster {
		made++
		hc := privateCluster()
		hc.Namespace, hc.UID, hc.Spec.InfraID = namespace, types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", made)), id
		return hc
	}
	valid := func(t *testing.T, hc *hyperv1.HostedCluster) *metav1.Condition {
		t.Helper()
		if err := e.Admin().Get(t.Context(), client.ObjectKeyFromObject(hc), hc); err != nil {
			t.Fatal(err)
		}
		return meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidHostedClusterConfiguration)
	}

	t.Run("by a cluster of another namespace", func(t *testing.T) {
		e.ReportTo(t)
		hc := again("attacker")
		e.Create(hc)
		e.Run(3)
		c := valid(t, hc)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != hyperv1.InfraIDInUseReason {
			t.Errorf("ValidConfiguration is %+v", c)
		}
		e.removeWhole(hc)
	})
	t.Run("and its namespace gets it back", func(t *testing.T) {
		e.ReportTo(t)
		hc := again("clusters")
		e.Create(hc)
		e.Run(3)
		if c := valid(t, hc); c == nil || c.Status != metav1.ConditionTrue {
			t.Errorf("ValidConfiguration is %+v", c)
		}
		e.removeWhole(hc)
	})
	t.Run("until it is forgotten", func(t *testing.T) {
		e.ReportTo(t)
		e.Clock.Step(reservedFor + time.Hour)
		hc := again("attacker")
		e.Create(hc)
		e.Run(3)
		if c := valid(t, hc); c == nil || c.Reason == hyperv1.InfraIDInUseReason {
			t.Errorf("ValidConfiguration is %+v", c)
		}
	})
}

// removeWhole deletes a cluster and waits until it is gone.
func (e *managementCluster) removeWhole(hc *hyperv1.HostedCluster) {
	e.T.Helper()
	e.Delete(hc)
	for range 60 {
		e.Run(1)
		if !e.Exists(hc.DeepCopy()) {
			return
		}
		e.Clock.Step(time.Minute)
	}
	e.T.Fatalf("HostedCluster %s is still there", client.ObjectKeyFromObject(hc))
}

func TestReleasedInfraIDsAreBounded(t *testing.T) {
	e := newEmptyManagementCluster(t)
	e.namespace = "hypershift"
	hc := privateCluster()
	e.Create(namespaceOf("hypershift", "o"), namespaceOf("clusters", "a"), hc, testenv.PullSecret())
	e.Restart()
	e.Run(3)
	e.removeWhole(hc)
	list := func() []corev1.ConfigMap {
		var found corev1.ConfigMapList
		e.List(&found, client.InNamespace("hypershift"))
		return found.Items
	}
	if n := len(list()); n != 1 {
		t.Fatalf("%d infraIDs are remembered", n)
	}
	e.Clock.Step(reservedFor + time.Hour)
	other := privateCluster()
	other.UID, other.Name, other.Spec.InfraID, other.Spec.IssuerURL = "other", "other", "other", "https://documents.s3.us-east-1.amazonaws.com/other"
	e.Create(other)
	e.Run(3)
	e.removeWhole(other)
	if left := list(); len(left) != 1 || left[0].Data["infraID"] != "other" {
		t.Errorf("remembered are %v", left)
	}
}
