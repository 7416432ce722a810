package components

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/etcd"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// restore requests a restore, as the hypershift-operator does.
func (e *fakeKubelet) restore(uid string) {
	e.T.Helper()
	request := etcdbackup.Restore{ID: uid, Member: "etcd-1", ReplaceVolumes: true}
	e.Put(testenv.Secret(etcdbackup.RestoreSecret, etcdbackup.RestoreKey, string(request.Encode())))
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.EtcdRestoreAnnotation, uid)
	})
}

// wasUp records that the cluster has been up.
func (e *fakeKubelet) wasUp() {
	e.T.Helper()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Status.Initialized = true
		hcp.Status.Initialization = &hyperv1.HostedControlPlaneInitialization{ControlPlaneInitialized: ptr.To(true)}
	})
	e.Settle()
}

func (e *fakeKubelet) fetches() bool {
	e.T.Helper()
	for _, c := range testenv.Named(e.Env, names.Etcd, &appsv1.StatefulSet{}).Spec.Template.Spec.InitContainers {
		if c.Name == "fetch" {
			return true
		}
	}
	return false
}

// Members replace their data when the restore is recorded, so that no program may run with the data from before.
func TestRestoreInPlaceWaitsForTheLastPod(t *testing.T) {
	for _, policy := range []hyperv1.AvailabilityPolicy{hyperv1.SingleReplica, hyperv1.HighlyAvailable} {
		t.Run(string(policy), func(t *testing.T) {
			e := up(t, policy)
			e.wasUp()
			e.restore("uid")
			e.Settle()
			if got := e.HCP().Status.EtcdRestore; got != "" || e.fetches() {
				t.Fatalf("the restore %q begins while the control plane runs", got)
			}
			for _, name := range []string{"data-etcd-0", "data-etcd-1", "data-etcd-2"} {
				e.Put(&corev1.PersistentVolumeClaim{ObjectMeta: testenv.In(testenv.Namespace, name)})
			}
			e.phase(hyperv1.SleepPhaseAsleep)
			e.SettleWith(func() {
				if e.count() > 0 && len(testenv.Listed(e.Env, &corev1.PersistentVolumeClaimList{}).Items) < 3 {
					t.Fatal("volumes are deleted while pods are left")
				}
				if e.HCP().Status.EtcdRestore != "" && e.count() > 0 {
					t.Fatal("the restore begins while pods are left")
				}
			})
			if got := e.HCP().Status.EtcdRestore; got != "uid" || !e.fetches() {
				t.Fatalf("the restore %q does not begin", got)
			}
			if claims := testenv.Listed(e.Env, &corev1.PersistentVolumeClaimList{}).Items; len(claims) == 3 || policy == hyperv1.HighlyAvailable && (len(claims) != 1 || claims[0].Name != "data-etcd-1") {
				t.Errorf("%d volume claims are left", len(claims))
			}
			e.phase(hyperv1.SleepPhaseAwake)
			e.Settle()
			e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
				reconcile.SetCondition(&hcp.Status.Conditions, etcdAnswers, e.Clock.Now())
			})
			e.Settle()
			if missing := e.ready(t.Context()); missing != "" {
				t.Error(missing)
			}
			if config := testenv.Named(e.Env, etcd.ConfigMap, &corev1.ConfigMap{}); config.Data["formed"] != "true" || config.Data["restore"] != "uid" || e.fetches() {
				t.Errorf("etcd is up, and its configuration is %v", config.Data)
			}
		})
	}
}

// A cluster that begins with a backup has no data, and need not stop.
func TestRestoreOfANewClusterBeginsAtOnce(t *testing.T) {
	hcp := controlPlane(hyperv1.SingleReplica)
	metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.EtcdRestoreAnnotation, "first")
	e := newFakeKubelet(t, hcp)
	e.Settle()
	if got := e.HCP().Status.EtcdRestore; got != "first" {
		t.Fatalf("the status has %q", got)
	}
	e.restore("second") // the first was rejected
	e.Settle()
	if got := e.HCP().Status.EtcdRestore; got != "second" {
		t.Errorf("the status has %q", got)
	}
}

func TestRestoreInPlaceSurvivesCrashes(t *testing.T) {
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		e := up(t, hyperv1.SingleReplica)
		e.wasUp()
		e.restore("uid")
		e.phase(hyperv1.SleepPhaseAsleep)
		s := e.Scenario()
		s.Ready = func(context.Context) string {
			if e.HCP().Status.EtcdRestore != "uid" || !e.fetches() {
				return "the restore has not begun"
			}
			return ""
		}
		return s
	})
}
