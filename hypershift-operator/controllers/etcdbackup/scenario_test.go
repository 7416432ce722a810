package etcdbackup

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/clusterbundle"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func TestBackupIsStoredAndVerified(t *testing.T) {
	e := newFakeBackup(t)
	e.Settle()
	st := e.status()
	if st.SnapshotURL != objectURL || st.Snapshot == nil || st.Snapshot.SizeBytes != int64(len(snapshot)) || st.Snapshot.Keys != 5 || st.CompletionTime == nil {
		t.Errorf("the status is %+v", st)
	}
	e.ExpectConditionText(hyperv1.BackupCompleted, "True BackupSucceeded: 10 bytes are stored")
	e.ExpectConditionText(hyperv1.BackupVerified, "True BackupSucceeded: An etcd that was started from the snapshot has the same 5 keys and the same hash at revision 17")
	key := strings.TrimPrefix(objectURL, "s3://backups/")
	if got, _ := e.AWS.Object(bucket, key); string(got) != snapshot {
		t.Errorf("the object is %q", got)
	}
	if got, _ := e.AWS.Object(bucket, key+".sha256"); string(got) != st.Snapshot.SHA256+"  20260102T030405Z-daily.db\n" {
		t.Errorf("the checksum is %q", got)
	}
	e.expectNothingLeft()
	if want := "arn:aws:iam::" + testenv.Customer + ":role/backups"; e.sessions[0] != want {
		t.Errorf("the session is of %s, want %s", e.sessions[0], want)
	}
}

// expectNothingLeft checks that no pod, no Secret with URLs and no upload is left.
func (e *fakeBackup) expectNothingLeft() {
	e.T.Helper()
	if pods, secrets := testenv.Listed(e.Env, &corev1.PodList{}).Items, testenv.Listed(e.Env, &corev1.SecretList{}, client.InNamespace(namespace)).Items; len(pods)+len(secrets) > 0 {
		e.T.Errorf("%d pods and %d Secrets are left", len(pods), len(secrets))
	}
	if uploads := e.AWS.Uploads(bucket); len(uploads) > 0 {
		e.T.Errorf("uploads are left: %v", uploads)
	}
}

// The pod has the certificate of etcd and URLs, and neither credentials nor access to the management cluster.
func TestPodOfABackup(t *testing.T) {
	e := newFakeBackup(t)
	e.pods = []func(*corev1.Pod){func(*corev1.Pod) {}}
	e.Once()
	pods := testenv.Listed(e.Env, &corev1.PodList{}).Items
	if len(pods) != 1 {
		t.Fatalf("%d pods", len(pods))
	}
	pod := pods[0]
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	e.Must(err)
	restricted := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	if result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec)); !result.Allowed {
		t.Error(result.ForbiddenDetail())
	}
	if pod.Labels["app"] != etcdbackup.App || pod.Labels["team"] != "a" || pod.Labels[names.ManagementAccessLabel] != "" {
		t.Errorf("the labels are %v", pod.Labels)
	}
	if pod.Spec.ServiceAccountName != "" || *pod.Spec.AutomountServiceAccountToken {
		t.Error("it has a service account")
	}
	var secrets []string
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil {
			secrets = append(secrets, v.Secret.SecretName)
		}
	}
	if want := names.EtcdClientCertificate + " etcd-backup-daily-1"; strings.Join(secrets, " ") != want {
		t.Errorf("it mounts %q, want %s", secrets, want)
	}
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Memory().IsZero() {
			t.Errorf("%s has no limit or no request of memory", c.Name)
		}
		if mounts := len(c.VolumeMounts); (c.Name == etcdbackup.VerifyContainer) != (mounts == 1) {
			t.Errorf("%s mounts %d volumes", c.Name, mounts)
		}
	}
	if got := pod.Spec.InitContainers[0].Command[2]; strings.Count(got, "https://") != 3 || !strings.HasPrefix(got, "--endpoints=https://etcd-0.etcd-discovery."+namespace+".svc:2379,") {
		t.Errorf("the members are %s", got)
	}
}

func TestFailedPodsAreReplacedAfterAPause(t *testing.T) {
	e := newFakeBackup(t)
	e.pods = []func(*corev1.Pod){
		failing(etcdbackup.VerifyContainer, "more\nsidecar: the snapshot is not used: other hash"),
		func(pod *corev1.Pod) { // it is killed after it has uploaded more than the next one
			e.uploadPart(pod, snapshot+" and more")
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: ephemeral-storage."}
		},
	}
	e.Run(3)
	e.ExpectConditionText(hyperv1.BackupCompleted, "False BackupInProgress: attempt 1 of 6 has failed, the next one follows after 1m0s: verify: sidecar: the snapshot is not used: other hash")
	e.expectNothingLeft()
	e.Clock.Step(time.Minute)
	e.Run(3)
	e.ExpectConditionText(hyperv1.BackupCompleted, "False BackupInProgress: attempt 2 of 6 has failed, the next one follows after 2m0s: The node was low on resource: ephemeral-storage.")
	e.expectNothingLeft()
	e.Settle()
	e.Clock.Step(2 * time.Minute)
	e.Settle()
	e.ExpectConditionText(hyperv1.BackupCompleted, "True BackupSucceeded: 10 bytes are stored")
	if got, _ := e.AWS.Object(bucket, strings.TrimPrefix(objectURL, "s3://backups/")); string(got) != snapshot {
		t.Errorf("the object is %q", got)
	}
}

func TestBackupThatNeverSucceedsEnds(t *testing.T) {
	e := newFakeBackup(t)
	for range maxAttempts {
		e.pods = append(e.pods, failing(etcdbackup.TakeContainer, "no member of etcd can serve a snapshot"))
	}
	for range maxAttempts {
		e.Run(3)
		e.Clock.Step(time.Hour)
	}
	e.Settle()
	e.ExpectConditionText(hyperv1.BackupCompleted, "False BackupFailed: 6 attempts have failed, the last one: take: no member of etcd can serve a snapshot")
	e.expectNothingLeft()
	e.Clock.Step(time.Hour)
	if writes := e.Once(); writes > 0 {
		t.Errorf("%d writes for a backup that has ended", writes)
	}
}

// Half an upload is never a backup.
func TestIncompleteUploadIsNoBackup(t *testing.T) {
	e := newFakeBackup(t)
	e.pods = []func(*corev1.Pod){func(pod *corev1.Pod) {
		e.succeed(pod)
		e.uploadPart(pod, snapshot[:5])
	}}
	e.Run(3)
	if got := e.ConditionText(hyperv1.BackupCompleted); !strings.Contains(got, "has 5 of 10 bytes") {
		t.Error(got)
	}
	if _, ok := e.AWS.Object(bucket, strings.TrimPrefix(objectURL, "s3://backups/")); ok || e.status().SnapshotURL != "" {
		t.Error("there is a backup")
	}
	e.expectNothingLeft()
}

func TestInputsOfABackup(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*hyperv1.HCPEtcdBackup)
		world  func(*fakeBackup)
		want   string
	}{
		"a bucket that does not exist": {
			func(b *hyperv1.HCPEtcdBackup) { b.Spec.Storage.S3.Bucket = "missing" }, nil,
			"False AWSNotFound: listing the uploads of s3://missing/prod/",
		},
		"a bucket of another account": {
			nil, func(e *fakeBackup) { e.AWS.Account("999999999999").AddBucket(testenv.Region, bucket) },
			"False AWSAccessDenied: listing the uploads of s3://backups/prod/",
		},
		"a bucket of the wrong owner": {
			func(b *hyperv1.HCPEtcdBackup) { b.Spec.Storage.S3.BucketOwner = "999999999999" }, nil,
			"False AWSAccessDenied: listing the uploads of s3://backups/prod/",
		},
		"no Secret": {
			keys, nil, "False InvalidBackupCredentials: create Secret keys in namespace hypershift with an AWS credentials file in the key credentials",
		},
		"a Secret in another namespace": {
			keys, func(e *fakeBackup) {
				e.Create(secretIn(namespace, "[default]\naws_access_key_id=a\naws_secret_access_key=b"))
			},
			"False InvalidBackupCredentials: create Secret keys in namespace hypershift",
		},
		"a program in the credentials": {
			keys, func(e *fakeBackup) { e.Create(secretIn(operator, "[default]\ncredential_process = /bin/sh -c id")) },
			`False InvalidBackupCredentials: correct the key credentials of Secret keys in namespace hypershift: the setting "credential_process" is not supported`,
		},
		"an unmanaged etcd": {
			nil, func(e *fakeBackup) {
				e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Etcd.ManagementType = hyperv1.Unmanaged })
			},
			"False BackupRejected: etcd of this cluster is not managed",
		},
		"no control plane": {
			nil, func(e *fakeBackup) { e.Delete(e.HCP()) }, "False BackupRejected: namespace " + namespace + " has no control plane",
		},
		"etcd without a majority": {
			nil, func(e *fakeBackup) {
				s := etcd()
				e.Must(e.Admin().Get(t.Context(), client.ObjectKeyFromObject(s), s))
				s.Status.ReadyReplicas = 1
				e.Must(e.Admin().Status().Update(t.Context(), s))
			}, "False EtcdUnhealthy: 1 of 3 members of etcd are ready",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []func(*hyperv1.HCPEtcdBackup)
			if c.change != nil {
				changes = append(changes, c.change)
			}
			e := newFakeBackup(t, changes...)
			if c.world != nil {
				c.world(e)
			}
			for range 3 {
				_ = e.Try()
			}
			if got := e.ConditionText(hyperv1.BackupCompleted); !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if pods := testenv.Listed(e.Env, &corev1.PodList{}).Items; len(pods) > 0 {
				t.Error("a pod runs")
			}
		})
	}
}

func keys(b *hyperv1.HCPEtcdBackup) {
	b.Spec.Storage.S3.RoleARN, b.Spec.Storage.S3.Credentials = "", &hyperv1.SecretReference{Name: "keys"}
}

func secretIn(namespace, text string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: testenv.In(namespace, "keys"), Data: map[string][]byte{"credentials": []byte(text)}}
}

func TestKeysAndTheKMSKey(t *testing.T) {
	const own, shared = "arn:aws:kms:us-east-1:123456789012:key/own", "arn:aws:kms:us-east-1:123456789012:key/shared"
	e := newFakeBackup(t, keys)
	e.Create(secretIn(operator, "[default]\nrole_arn = r"))
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Etcd.Managed.Backup = &hyperv1.HCPEtcdBackupConfig{Platform: hyperv1.AWSBackupConfigPlatform, AWS: &hyperv1.HCPEtcdBackupConfigAWS{KMSKeyARN: shared}}
	})
	e.Create(backup(func(b *hyperv1.HCPEtcdBackup) {
		b.Name, b.Spec.Storage.S3.KMSKeyARN = "own", own
	}))
	e.Settle()
	for name, want := range map[string]hyperv1.KMSKeyARN{"daily": shared, "own": own} {
		b := testenv.Named(e.Env, name, &hyperv1.HCPEtcdBackup{})
		if m := b.Status.EncryptionMetadata; m == nil || m.AWS.KMSKeyARN != want {
			t.Errorf("%s is encrypted with %+v, want %s", name, m, want)
		}
	}
	if e.sessions[0] != "<nil> r" {
		t.Errorf("the session is of %s", e.sessions[0])
	}
}

func TestBackupsOfAClusterFollowEachOther(t *testing.T) {
	e := newFakeBackup(t)
	e.Create(backup(func(b *hyperv1.HCPEtcdBackup) { b.Name = "second" }))
	e.Once()
	if pods := testenv.Listed(e.Env, &corev1.PodList{}).Items; len(pods) != 1 {
		t.Errorf("%d pods run", len(pods))
	}
	e.Settle()
	if e.ran != 2 {
		t.Errorf("%d pods ran", e.ran)
	}
}

// A schedule goes on although a backup with a missing bucket was requested.
func TestBackupWithoutABucketLetsOthersPass(t *testing.T) {
	e := newFakeBackup(t, func(b *hyperv1.HCPEtcdBackup) { b.Spec.Storage.S3.Bucket = "missing" })
	e.Create(backup(func(b *hyperv1.HCPEtcdBackup) { b.Name = "second" }))
	e.SettleFailing()
	if b := testenv.Named(e.Env, "second", &hyperv1.HCPEtcdBackup{}); !hyperv1.IsBackupStored(b) {
		t.Errorf("the second backup reports %+v", b.Status.Conditions)
	}
}

// A backup looks at its pod often, and calls AWS only at its beginning and at its end.
func TestBackupCallsAWSAtItsEnds(t *testing.T) {
	e := newFakeBackup(t)
	e.pods = []func(*corev1.Pod){func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodRunning }}
	e.Run(20)
	if len(e.sessions) != 1 {
		t.Errorf("%d sessions were opened while the pod ran", len(e.sessions))
	}
	pod := testenv.Named(e.Env, "etcd-backup-daily-1", &corev1.Pod{})
	e.succeed(pod)
	e.UpdateStatus(pod)
	e.Settle()
	if len(e.sessions) != 2 {
		t.Errorf("%d sessions were opened", len(e.sessions))
	}
}

// The upload of a deleted backup is aborted. What is stored stays.
func TestDeletedBackups(t *testing.T) {
	e := newFakeBackup(t)
	e.pods = []func(*corev1.Pod){func(*corev1.Pod) {}}
	e.Once()
	e.Delete(e.Object)
	e.Run(2)
	e.expectNothingLeft()

	e = newFakeBackup(t)
	e.Settle()
	e.Delete(e.Object)
	e.Run(2)
	if _, ok := e.AWS.Object(bucket, strings.TrimPrefix(objectURL, "s3://backups/")); !ok {
		t.Error("the backup is deleted with its object")
	}
}

// The namespace is being deleted, and with it the key that signs for the role.
func TestUploadThatCannotBeAbortedIsNamed(t *testing.T) {
	e := newFakeBackup(t)
	e.pods = []func(*corev1.Pod){func(*corev1.Pod) {}}
	e.Once()
	e.Delete(e.HCP())
	b := testenv.Named(e.Env, "daily", &hyperv1.HCPEtcdBackup{})
	e.Must(e.Admin().Delete(t.Context(), b))
	_ = e.Try()
	if e.RequeueAfter == 0 || e.RequeueAfter > giveUpAfter {
		t.Errorf("the deleted backup is looked at again after %s", e.RequeueAfter)
	}
	b = testenv.Named(e.Env, "daily", &hyperv1.HCPEtcdBackup{})
	e.Clock.SetTime(b.DeletionTimestamp.Add(giveUpAfter))
	e.Once()
	if got := strings.Join(e.Events.Drain(), "\n"); !strings.Contains(got, "Parts of the unfinished upload "+objectURL+" may be left") {
		t.Errorf("the events are %s", got)
	}
	if e.Exists(b) {
		t.Error("it is not gone")
	}
}

func TestTrial(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario { return newFakeBackup(t).scenario() }
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, begin) })
	t.Run("faults", func(t *testing.T) {
		crashtest.APIFaults(t, func(t testing.TB) *crashtest.Scenario {
			e := newFakeBackup(t)
			return e.withoutBackups(e.scenario())
		})
	})
	t.Run("failing pod", func(t *testing.T) {
		crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
			e := newFakeBackup(t)
			e.pods = []func(*corev1.Pod){failing(etcdbackup.TakeContainer, "no")}
			return e.scenario()
		})
	})
	t.Run("leaks", func(t *testing.T) {
		crashtest.NoLeaks(t, func(t testing.TB) *crashtest.Scenario {
			e := newFakeBackup(t)
			e.Others = nil // no kubelet
			s := e.scenario()
			s.Ready = func(ctx context.Context) string {
				if len(testenv.Listed(e.Env, &corev1.PodList{}).Items) == 0 {
					return "no pod runs"
				}
				return ""
			}
			return s
		})
	})
}

// The objects and the snapshot replace a lost management cluster.
func TestObjectsAreStoredWithTheBackup(t *testing.T) {
	e := newFakeBackup(t)
	e.Create(&hyperv1.HostedCluster{ObjectMeta: testenv.In("clusters", "demo"), Spec: hyperv1.HostedClusterSpec{InfraID: testenv.InfraID}})
	e.Settle()
	content, _ := e.AWS.Object(bucket, strings.TrimPrefix(objectURL, "s3://backups/")+".objects")
	bundle, err := clusterbundle.Decode(content)
	if err != nil {
		t.Fatal(err)
	}
	if bundle.HostedCluster.Name != "demo" || bundle.EndpointOwner != string(testenv.Read(e.Env, testenv.HostedControlPlane()).UID) {
		t.Errorf("the objects are %+v", bundle)
	}
	e.ExpectCondition(hyperv1.BackupCompleted, metav1.ConditionTrue, hyperv1.BackupSucceededReason, "10 bytes are stored")
}
