package hostedcluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// reservedFor is how long the infraID of a deleted cluster is reserved.
const reservedFor = 365 * 24 * time.Hour

func namespaceOf(name, uid string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
}

// TestAReleasedInfraIDIsReserved deletes a cluster, and checks which clusters may get its infraID.
func TestAReleasedInfraIDIsReserved(t *testing.T) {
	w := emptyTestEnv(t)
	w.namespace = "hypershift"
	victim := privateCluster()
	w.Create(t, namespaceOf("hypershift", "o"), namespaceOf("clusters", "a"), namespaceOf("attacker", "b"), victim, pullSecret())
	pass := w.start()
	w.run(t, pass, 3)
	var id string
	if hc, err := w.get(t.Context()); err != nil {
		t.Fatal(err)
	} else if id = hc.Spec.InfraID; id == "" {
		t.Fatal("the cluster has no infraID")
	}
	w.removeWhole(t, pass, victim)

	made := 0
	again := func(namespace string) *hyperv1.HostedCluster {
		made++
		hc := privateCluster()
		hc.Namespace, hc.UID, hc.Spec.InfraID = namespace, types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", made)), id
		return hc
	}
	valid := func(t *testing.T, hc *hyperv1.HostedCluster) *metav1.Condition {
		t.Helper()
		if err := w.Admin().Get(t.Context(), client.ObjectKeyFromObject(hc), hc); err != nil {
			t.Fatal(err)
		}
		return meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidHostedClusterConfiguration)
	}

	t.Run("by a cluster of another namespace", func(t *testing.T) {
		hc := again("attacker")
		w.Create(t, hc)
		w.run(t, pass, 3)
		c := valid(t, hc)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != hyperv1.InfraIDInUseReason {
			t.Errorf("ValidConfiguration is %+v", c)
		}
		w.removeWhole(t, pass, hc)
	})
	t.Run("and its namespace gets it back", func(t *testing.T) {
		hc := again("clusters")
		w.Create(t, hc)
		w.run(t, pass, 3)
		if c := valid(t, hc); c == nil || c.Status != metav1.ConditionTrue {
			t.Errorf("ValidConfiguration is %+v", c)
		}
		w.removeWhole(t, pass, hc)
	})
	t.Run("until it is forgotten", func(t *testing.T) {
		w.clock.Step(reservedFor + time.Hour)
		hc := again("attacker")
		w.Create(t, hc)
		w.run(t, pass, 3)
		if c := valid(t, hc); c == nil || c.Reason == hyperv1.InfraIDInUseReason {
			t.Errorf("ValidConfiguration is %+v", c)
		}
	})
}

// removeWhole deletes a cluster and waits until it is gone.
func (w *testEnv) removeWhole(t *testing.T, pass func(context.Context) error, hc *hyperv1.HostedCluster) {
	t.Helper()
	if err := w.Admin().Delete(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		w.run(t, pass, 1)
		if err := w.Admin().Get(t.Context(), client.ObjectKeyFromObject(hc), &hyperv1.HostedCluster{}); apierrors.IsNotFound(err) {
			return
		}
		w.clock.Step(time.Minute)
	}
	t.Fatalf("HostedCluster %s is still there", client.ObjectKeyFromObject(hc))
}

func TestReleasedInfraIDsAreBounded(t *testing.T) {
	w := emptyTestEnv(t)
	w.namespace = "hypershift"
	hc := privateCluster()
	w.Create(t, namespaceOf("hypershift", "o"), namespaceOf("clusters", "a"), hc, pullSecret())
	pass := w.start()
	w.run(t, pass, 3)
	w.removeWhole(t, pass, hc)
	list := func() []corev1.ConfigMap {
		var found corev1.ConfigMapList
		if err := w.Admin().List(t.Context(), &found, client.InNamespace("hypershift")); err != nil {
			t.Fatal(err)
		}
		return found.Items
	}
	if n := len(list()); n != 1 {
		t.Fatalf("%d infraIDs are remembered", n)
	}
	w.clock.Step(reservedFor + time.Hour)
	other := privateCluster()
	other.UID, other.Name, other.Spec.InfraID, other.Spec.IssuerURL = "other", "other", "other", "https://documents.s3.us-east-1.amazonaws.com/other"
	w.Create(t, other)
	w.run(t, pass, 3)
	w.removeWhole(t, pass, other)
	if left := list(); len(left) != 1 || left[0].Data["infraID"] != "other" {
		t.Errorf("remembered are %v", left)
	}
}
