package etcdrestore

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const url = "s3://" + bucket + "/" + key

func TestClusterGoesBack(t *testing.T) {
	e := newFakeCluster(t)
	e.Once()
	st := e.status()
	request := e.request(t.Context())
	if st.StartTime == nil || request.ID == "" || request.Revisions != uint64(st.StartTime.UnixMicro()) {
		t.Errorf("the request is %+v, and the status %+v", request, st)
	}
	if !strings.Contains(request.URL, "/20260102T030405Z-daily.db?") || !strings.Contains(request.URL, "X-Amz-Expires=3600") || len(request.URL[strings.Index(request.URL, "#sha256="):]) != 8+64 {
		t.Errorf("the URL is %s", request.URL)
	}
	e.ExpectConditionText(hyperv1.EtcdRestored, "False StoppingControlPlane: waiting until the control plane has no pods: it starts")
	e.Settle()
	e.ExpectCondition(hyperv1.EtcdRestored, metav1.ConditionTrue, hyperv1.RestoreSucceededReason, "the cluster runs with "+url+", after ")
	if st := e.status(); st.SnapshotURL != url || st.CompletionTime == nil {
		t.Errorf("the status is %+v", st)
	}
	e.expectNoRequest()
	if got := strings.Join(e.Events.Drain(), "\n"); !strings.Contains(got, "etcd goes back to "+url) || !strings.Contains(got, "the cluster runs with "+url) {
		t.Errorf("the events are %s", got)
	}
	e.Clock.Step(time.Hour)
	if writes := e.Once(); writes > 0 {
		t.Errorf("%d writes for a restore that has ended", writes)
	}
}

func (e *fakeCluster) expectNoRequest() {
	e.T.Helper()
	if request := e.request(e.T.Context()); request.ID != "" {
		e.T.Errorf("there is a request: %+v", request)
	}
}

func TestNewClusterBeginsWithTheBackup(t *testing.T) {
	e := newFakeCluster(t)
	e.brandNew()
	e.Settle()
	e.ExpectCondition(hyperv1.EtcdRestored, metav1.ConditionTrue, hyperv1.RestoreSucceededReason)
	if e.HCP().Status.EtcdRestore != e.uid() {
		t.Error("etcd did not begin with the backup")
	}
}

func (e *fakeCluster) uid() string {
	e.T.Helper()
	r := &hyperv1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "back"}}
	e.Get(r)
	return string(r.UID)
}

// The cluster is not changed for a restore that cannot succeed.
func TestRestoreThatDoesNotBegin(t *testing.T) {
	object := func(change func(*hyperv1.EtcdRestoreObject)) func(*hyperv1.EtcdRestore) {
		return func(r *hyperv1.EtcdRestore) {
			r.Spec.Backup, r.Spec.Object = nil, &hyperv1.EtcdRestoreObject{Bucket: bucket, Region: testenv.Region, Key: key, RoleARN: "arn:aws:iam::" + testenv.Customer + ":role/backups"}
			if change != nil {
				change(r.Spec.Object)
			}
		}
	}
	nothing := func(*hyperv1.EtcdRestore) {}
	for name, c := range map[string]struct {
		spec  func(*hyperv1.EtcdRestore)
		given func(*fakeCluster)
		want  string
	}{
		"no such cluster": {func(r *hyperv1.EtcdRestore) { r.Spec.HostedClusterName = "dem" }, nil, "RestorePending: waiting for HostedCluster dem, which does not exist in namespace clusters"},
		"no such backup":  {func(r *hyperv1.EtcdRestore) { r.Spec.Backup.Name = "weekly" }, nil, "BackupUnreadable: there is no HCPEtcdBackup weekly in namespace " + testenv.Namespace},
		"a failed backup": {nothing, func(e *fakeCluster) { e.backupIs(metav1.ConditionFalse, hyperv1.BackupFailedReason) }, "RestoreRejected: HCPEtcdBackup daily has failed: name another backup"},
		"a backup that runs": {nothing, func(e *fakeCluster) { e.backupIs(metav1.ConditionFalse, hyperv1.BackupInProgressReason) },
			"RestorePending: waiting until HCPEtcdBackup daily is stored"},
		"the object was deleted": {nothing, func(e *fakeCluster) { e.AWS.Account(testenv.Customer).AddBucket(testenv.Region, bucket) }, "BackupUnreadable: "},
		"the bucket was deleted": {nothing, func(e *fakeCluster) { e.AWS.Account(testenv.Customer).RemoveBucket(bucket) }, "BackupUnreadable: "},
		"without a checksum": {object(func(o *hyperv1.EtcdRestoreObject) { o.Key = "prod/" + testenv.InfraID + "/bare.db" }),
			func(e *fakeCluster) { e.store("prod/"+testenv.InfraID+"/bare.db", snapshot, "") }, "BackupUnreadable: s3://backups/prod/" + testenv.InfraID + "/bare.db has no checksum: store it in "},
		"an object of another account": {object(func(o *hyperv1.EtcdRestoreObject) { o.BucketOwner = testenv.Provider }), nil, "BackupUnreadable: "},
		"a backup of another cluster": {nothing, func(e *fakeCluster) { e.store(key, snapshot, "other-x7k2p") },
			"RestoreRejected: " + url + ` is a backup of the cluster with infraID "other-x7k2p", but "` + testenv.InfraID + `" is expected: if you want its data, create another EtcdRestore with fromInfraID`},
		"a backup of this cluster instead of another": {func(r *hyperv1.EtcdRestore) { r.Spec.FromInfraID = "other-x7k2p" }, nil,
			"RestoreRejected: " + url + ` is a backup of the cluster with infraID "` + testenv.InfraID + `", but "other-x7k2p" is expected`},
		"too large for the volumes": {nothing, func(e *fakeCluster) {
			e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Etcd = tiny })
		}, "RestoreRejected: " + url + " has 0 MiB, more than the 0 MiB that fit on a volume of 1: restore it into a HostedCluster with larger volumes"},
		"a paused cluster": {nothing, func(e *fakeCluster) {
			e.changeCluster(func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
		}, "RestorePending: spec.pausedUntil of HostedCluster demo stops changes"},
		"an etcd of the user": {nothing, func(e *fakeCluster) {
			e.changeCluster(func(hc *hyperv1.HostedCluster) { hc.Spec.Etcd.ManagementType = hyperv1.Unmanaged })
		}, "RestoreRejected: etcd of HostedCluster demo is not managed: its owner restores it"},
		"a member of an etcd with a majority": {func(r *hyperv1.EtcdRestore) { r.Spec.Backup, r.Spec.Member = nil, "etcd-0" }, func(e *fakeCluster) {
			e.changeCluster(func(hc *hyperv1.HostedCluster) { hc.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable })
		}, "RestoreRejected: etcd of HostedCluster demo has a majority (EtcdAvailable is not False)"},
		"a member of an etcd of one": {func(r *hyperv1.EtcdRestore) { r.Spec.Backup, r.Spec.Member = nil, "etcd-0" }, func(e *fakeCluster) {
			e.changeCluster(func(hc *hyperv1.HostedCluster) { hc.Spec.ControllerAvailabilityPolicy = hyperv1.SingleReplica })
		}, "RestoreRejected: etcd of HostedCluster demo has one member: restore a backup"},
		// The namespace of the control plane of cluster clusters/demo is that of another user's cluster a/b-demo.
		"a control plane of another owner": {nothing, func(e *fakeCluster) {
			e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Annotations[hyperv1.HostedClusterAnnotation] = "other/demo" })
		}, "RestorePending: waiting for the control plane of HostedCluster demo"},
		"backups of another owner": {func(r *hyperv1.EtcdRestore) { r.Spec.Backup.HostedClusterName = "theirs" }, func(e *fakeCluster) {
			e.neighbour("theirs", "other/theirs")
		}, "BackupUnreadable: HostedCluster theirs of namespace clusters has no control plane with HCPEtcdBackups"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeCluster(t, c.spec)
			if c.given != nil {
				c.given(e)
			}
			e.Run(3)
			if got := e.ConditionText(hyperv1.EtcdRestored); !strings.Contains(got, c.want) || !strings.HasPrefix(got, "False ") {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			e.expectNoRequest()
			if hcp := e.HCP(); hcp.Sleeps() || hcp.Status.EtcdRestore != "" {
				t.Error("the control plane is stopped")
			}
			if strings.Contains(c.want, hyperv1.RestoreRejectedReason) == (e.RequeueAfter != 0) {
				t.Errorf("it is looked at again after %s", e.RequeueAfter)
			}
			r := &hyperv1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "back"}}
			e.Get(r)
			e.Must(e.Admin().Delete(t.Context(), r))
			e.Once()
			if e.Exists(r) {
				t.Error("it cannot be deleted")
			}
		})
	}
}

// tiny is an etcd with volumes of one byte.
var tiny = hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{
	Type: hyperv1.PersistentVolumeEtcdStorage, PersistentVolume: &hyperv1.PersistentVolumeEtcdStorageSpec{Size: ptr.To(resource.MustParse("1"))},
}}}

func (e *fakeCluster) backupIs(status metav1.ConditionStatus, reason string) {
	e.T.Helper()
	testenv.Change(e.Env, &hyperv1.HCPEtcdBackup{ObjectMeta: testenv.In(testenv.Namespace, "daily")}, func(b *hyperv1.HCPEtcdBackup) {
		b.Status.Conditions[0].Status, b.Status.Conditions[0].Reason = status, reason
	})
}

func (e *fakeCluster) changeCluster(change func(*hyperv1.HostedCluster)) {
	e.T.Helper()
	testenv.Change(e.Env, &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}, change)
}

// neighbour adds a control plane with a backup of the same object.
func (e *fakeCluster) neighbour(name, owner string) {
	e.T.Helper()
	hcp, b := testenv.HostedControlPlane(), backup()
	hcp.Namespace, hcp.Name = names.ControlPlaneNamespace("clusters", name), name
	hcp.Annotations[hyperv1.HostedClusterAnnotation] = owner
	b.Namespace = hcp.Namespace
	e.Create(hcp, b)
}

func TestBackupOfAnotherCluster(t *testing.T) {
	e := newFakeCluster(t, func(r *hyperv1.EtcdRestore) {
		r.Spec.Backup.HostedClusterName, r.Spec.FromInfraID = "first", "first-x7k2p"
	})
	e.neighbour("first", "clusters/first")
	e.store(key, snapshot, "first-x7k2p")
	e.Settle()
	e.ExpectCondition(hyperv1.EtcdRestored, metav1.ConditionTrue, hyperv1.RestoreSucceededReason)
	if want := names.ControlPlaneNamespace("clusters", "first"); e.sessions[0] != want {
		t.Errorf("it was read with the identity of %s, want %s", e.sessions[0], want)
	}
}

// The management cluster is lost, and with it each HCPEtcdBackup. The metadata of a copied object is lost, too.
func TestObjectOfTheBucket(t *testing.T) {
	e := newFakeCluster(t, func(r *hyperv1.EtcdRestore) {
		r.Spec.Backup, r.Spec.Object = nil, &hyperv1.EtcdRestoreObject{Bucket: bucket, Region: testenv.Region, Key: key, RoleARN: "arn:aws:iam::" + testenv.Customer + ":role/backups"}
	})
	e.store(key, snapshot, "")
	e.brandNew()
	e.Settle()
	e.ExpectCondition(hyperv1.EtcdRestored, metav1.ConditionTrue, hyperv1.RestoreSucceededReason)
}

// Two of three members are lost. No bucket is needed.
func TestDataOfAMember(t *testing.T) {
	e := newFakeCluster(t, func(r *hyperv1.EtcdRestore) {
		r.Spec.Backup, r.Spec.Member, r.Spec.ReplaceVolumes = nil, "etcd-2", true
	})
	e.changeCluster(func(hc *hyperv1.HostedCluster) { hc.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable })
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { up(hcp, metav1.ConditionFalse) })
	e.Once()
	if request := e.request(t.Context()); request.Member != "etcd-2" || !request.ReplaceVolumes || request.URL != "" {
		t.Errorf("the request is %+v", request)
	}
	e.Settle()
	e.ExpectCondition(hyperv1.EtcdRestored, metav1.ConditionTrue, hyperv1.RestoreSucceededReason, "the cluster runs with the data of etcd-2, after ")
	if len(e.sessions) > 0 {
		t.Errorf("sessions of AWS: %v", e.sessions)
	}
}

// Members may wait for long, such as for their volumes.
func TestURLIsSignedAgain(t *testing.T) {
	e := newFakeCluster(t)
	e.stopped = true
	e.Run(2)
	signed := func() string {
		return string(testenv.Named(e.Env, etcdbackup.RestoreSecret, &corev1.Secret{}).Data[signedKey])
	}
	first, at := e.request(t.Context()), signed()
	e.Run(2)
	if signed() != at {
		t.Error("it is signed in each reconcile")
	}
	e.Clock.Step(resign)
	e.Run(2)
	if again := e.request(t.Context()); signed() == at || again.ID != first.ID || again.Revisions != first.Revisions {
		t.Errorf("first %+v at %s, then %+v at %s", first, at, again, signed())
	}
}

// A cluster that sleeps by the will of its user goes back when it wakes.
func TestRestoreOfASleepingCluster(t *testing.T) {
	e := newFakeCluster(t)
	e.stopped = true
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(hyperv1.SleepPhaseAsleep))
		hcp.Status.EtcdRestore = e.uid()
	})
	e.Run(2)
	e.ExpectConditionText(hyperv1.EtcdRestored, "False RestoreInProgress: the cluster sleeps: etcd begins with the backup when it wakes")
}

// again adds a later restore of the same cluster.
func (e *fakeCluster) again() *hyperv1.EtcdRestore {
	e.T.Helper()
	r := restore(func(r *hyperv1.EtcdRestore) {
		r.Name, r.UID, r.CreationTimestamp = "again", "again", metav1.NewTime(testenv.Start.Add(time.Minute))
	})
	e.Create(r)
	return r
}

// deleteFirst deletes the first restore.
func (e *fakeCluster) deleteFirst() *hyperv1.EtcdRestore {
	e.T.Helper()
	r := &hyperv1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "back"}}
	e.Get(r)
	e.Must(e.Admin().Delete(e.T.Context(), r))
	return r
}

func TestRestoresTakeTurns(t *testing.T) {
	e := newFakeCluster(t)
	e.stopped = true
	e.Once()
	second := e.again()
	e.Run(3)
	if got := e.ConditionOf(second, hyperv1.EtcdRestored); got.Message != "it waits for the EtcdRestore back of the same cluster" {
		t.Errorf("the second: %+v", got)
	}
	e.stopped = false
	e.Settle()
	e.ExpectCondition(hyperv1.EtcdRestored, metav1.ConditionTrue, hyperv1.RestoreSucceededReason)
	if got := e.ConditionOf(second, hyperv1.EtcdRestored); got.Status != metav1.ConditionTrue {
		t.Errorf("the second: %+v", got)
	}
}

// The members may have replaced their data.
func TestDeletedRestoreIsFinished(t *testing.T) {
	e := newFakeCluster(t)
	e.stopped = true
	e.Once()
	first := e.deleteFirst()
	e.Run(3)
	if !e.Exists(first) {
		t.Fatal("a restore that has begun is gone")
	}
	e.stopped = false
	e.Settle()
	if e.Exists(first) {
		t.Error("it is not gone")
	}
	if got := e.HCP().Status.EtcdRestore; got != string(first.UID) {
		t.Errorf("etcd has begun with %q", got)
	}
	e.expectNoRequest()
}

// A restore that cannot be finished, such as with the data of the wrong member, would block all others.
func TestDeletedRestoreIsReplaced(t *testing.T) {
	e := newFakeCluster(t)
	e.stopped = true
	e.Once()
	first := e.deleteFirst()
	second := e.again()
	e.Run(3)
	if e.Exists(first) {
		t.Error("it is not gone")
	}
	if request := e.request(t.Context()); request.ID != "again" {
		t.Errorf("the request is %+v", request)
	}
	e.stopped = false
	e.Settle()
	if got := e.ConditionOf(second, hyperv1.EtcdRestored); got.Status != metav1.ConditionTrue {
		t.Errorf("the second: %+v", got)
	}
}

// A schedule deletes backups that are not kept any more, also while they are restored.
func TestBackupThatIsDeletedDuringItsRestore(t *testing.T) {
	e := newFakeCluster(t)
	e.stopped = true
	e.Run(2)
	e.Delete(testenv.Named(e.Env, "daily", &hyperv1.HCPEtcdBackup{}))
	e.Run(2)
	e.ExpectCondition(hyperv1.EtcdRestored, metav1.ConditionFalse, hyperv1.StoppingControlPlaneReason)
	e.stopped = false
	e.Settle()
	e.ExpectCondition(hyperv1.EtcdRestored, metav1.ConditionTrue, hyperv1.RestoreSucceededReason)
}

func TestClusterThatIsDeletedDuringARestore(t *testing.T) {
	e := newFakeCluster(t)
	e.stopped = true
	e.Run(2)
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}
	e.Get(hc)
	e.Delete(hc, e.HCP())
	e.Settle()
	e.ExpectConditionText(hyperv1.EtcdRestored, "False RestoreRejected: HostedCluster demo was deleted during the restore")
	e.expectNoRequest()
	r := &hyperv1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "back"}}
	e.Get(r)
	if len(r.Finalizers) > 0 {
		t.Errorf("it cannot be deleted: %v", r.Finalizers)
	}
}

func TestTrial(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario { return newFakeCluster(t).scenario() }
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, begin) })
	t.Run("faults", func(t *testing.T) { crashtest.APIFaults(t, begin) })
	t.Run("crash of a new cluster", func(t *testing.T) {
		crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
			e := newFakeCluster(t)
			e.brandNew()
			return e.scenario()
		})
	})
	t.Run("leaks", func(t *testing.T) {
		crashtest.NoLeaks(t, func(t testing.TB) *crashtest.Scenario {
			e := newFakeCluster(t)
			e.stopped = true // it is deleted in the middle
			s := e.scenario()
			s.Ready = func(context.Context) string {
				if len(testenv.Listed(e.Env, &corev1.SecretList{}, client.InNamespace(testenv.Namespace)).Items) == 0 {
					return "no request was made"
				}
				return ""
			}
			return s
		})
	})
}
