package etcdrestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/backupstorage"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/etcdrestores"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	bucket   = "backups"
	key      = "prod/" + testenv.InfraID + "/20260102T030405Z-daily.db"
	snapshot = "a snapshot"
)

// fakeCluster is a hosted cluster that has been up, a bucket with its backup, and an HCPEtcdBackup. Others stops and starts the control plane.
type fakeCluster struct {
	*testenv.Env
	// sessions are the control planes whose identities were used.
	sessions []string
	// stopped is true if the control plane neither stops nor starts by itself.
	stopped bool
}

func restore(change ...func(*hyperv1.EtcdRestore)) *hyperv1.EtcdRestore {
	r := &hyperv1.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "back", Generation: 1, CreationTimestamp: metav1.NewTime(testenv.Start)},
		Spec:       hyperv1.EtcdRestoreSpec{HostedClusterName: "demo", Backup: &hyperv1.EtcdRestoreBackup{Name: "daily"}},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func backup() *hyperv1.HCPEtcdBackup {
	return &hyperv1.HCPEtcdBackup{
		ObjectMeta: testenv.In(testenv.Namespace, "daily"),
		Spec: hyperv1.HCPEtcdBackupSpec{Storage: hyperv1.HCPEtcdBackupStorage{StorageType: hyperv1.S3BackupStorage, S3: &hyperv1.HCPEtcdBackupS3{
			Bucket: bucket, Region: testenv.Region, KeyPrefix: "prod", RoleARN: "arn:aws:iam::" + testenv.Customer + ":role/backups",
		}}},
		Status: hyperv1.HCPEtcdBackupStatus{ObjectKey: key, Conditions: []metav1.Condition{
			{Type: hyperv1.BackupCompleted, Status: metav1.ConditionTrue, Reason: hyperv1.BackupSucceededReason, LastTransitionTime: metav1.NewTime(testenv.Start)},
		}},
	}
}

// up are the conditions of a control plane that runs.
func up(hcp *hyperv1.HostedControlPlane, status metav1.ConditionStatus) {
	for _, condition := range []string{hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable} {
		meta.SetStatusCondition(&hcp.Status.Conditions, metav1.Condition{Type: condition, Status: status, Reason: "Test", Message: "it is tested"})
	}
}

func newFakeCluster(t testing.TB, change ...func(*hyperv1.EtcdRestore)) *fakeCluster {
	hc := testenv.PrivateCluster()
	hc.Namespace, hc.Name = "clusters", "demo"
	e := &fakeCluster{Env: testenv.New(t, testenv.WithSchemas("config/crd"),
		testenv.For(restore(change...), &hyperv1.EtcdRestoreList{}),
		testenv.WithKinds(&corev1.SecretList{}, &hyperv1.HostedClusterList{}), testenv.WithStatus(&hyperv1.HCPEtcdBackup{}, &hyperv1.HostedCluster{}, &hyperv1.HostedControlPlane{}),
		testenv.WithObjects(hc, backup(), testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
			hcp.Status.Initialized = true
			up(hcp, metav1.ConditionTrue)
		})),
	)}
	e.AWS.Account(testenv.Customer).AddBucket(testenv.Region, bucket)
	sum := sha256.Sum256([]byte(snapshot))
	e.store(key, snapshot, testenv.InfraID)
	e.store(key+".sha256", hex.EncodeToString(sum[:])+"  daily.db\n", "")
	e.Start, e.Others = e.start, e.controlPlane
	return e
}

// store puts an object into the bucket.
func (e *fakeCluster) store(key, text, infraID string) {
	e.T.Helper()
	in := &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: strings.NewReader(text)}
	if infraID != "" {
		in.Metadata = map[string]string{"hypershift-infra-id": infraID}
	}
	_, err := s3.NewFromConfig(e.Config(e.AWS.Account(testenv.Customer), testenv.Region, "user")).PutObject(e.T.Context(), in)
	e.Must(err)
}

func (e *fakeCluster) start() testenv.Pass {
	c := New(Options{
		Client: e.Client(), Reader: e.Client(), Recorder: e.Events, Clock: e.Clock,
		Buckets: backupstorage.Opener{Reader: e.Client(), Namespace: "hypershift", Sessions: e},
	})
	return e.PassOverKeys(&hyperv1.EtcdRestoreList{}, c.Reconcile)
}

// OfRole implements backupstorage.Sessions.
func (e *fakeCluster) OfRole(_ context.Context, hcp *hyperv1.HostedControlPlane, region, roleARN string) (backupstorage.Session, error) {
	e.sessions = append(e.sessions, hcp.Namespace)
	account := strings.Split(roleARN, ":")[4]
	return backupstorage.Session{Config: e.Config(e.AWS.Account(account), region, roleARN[strings.LastIndex(roleARN, "/")+1:]), Account: account}, nil
}

// OfKeys implements backupstorage.Sessions.
func (e *fakeCluster) OfKeys(_ context.Context, region string, _ *awsx.AccessKey, _ string) (backupstorage.Session, error) {
	return backupstorage.Session{Config: e.Config(e.AWS.Account(testenv.Customer), region, "user"), Account: testenv.Customer}, nil
}

// controlPlane does one step of both operators: the control plane stops, records the restore, and starts with the Secret.
func (e *fakeCluster) controlPlane(ctx context.Context) error {
	hcp := &hyperv1.HostedControlPlane{}
	err := e.Admin().Get(ctx, client.ObjectKey{Namespace: testenv.Namespace, Name: "demo"}, hcp)
	if err != nil || e.stopped {
		return client.IgnoreNotFound(err)
	}
	current, err := etcdrestores.Current(ctx, e.Admin(), client.ObjectKey{Namespace: "clusters", Name: "demo"})
	if err != nil {
		return err
	}
	wanted, stops := etcdrestores.Wanted(current, hcp), etcdrestores.Stops(current, hcp)
	switch {
	case stops && !hcp.Sleeps():
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(hyperv1.SleepPhaseAsleep))
		if err := e.Admin().Update(ctx, hcp); err != nil {
			return err
		}
		up(hcp, metav1.ConditionFalse)
		return e.Admin().Status().Update(ctx, hcp)
	case wanted != "" && wanted != hcp.Status.EtcdRestore:
		hcp.Status.EtcdRestore = wanted
		return e.Admin().Status().Update(ctx, hcp)
	case hcp.Sleeps():
		delete(hcp.Annotations, hyperv1.SleepPhaseAnnotation)
		return e.Admin().Update(ctx, hcp)
	}
	request := e.request(ctx)
	if request.ID != hcp.Status.EtcdRestore || meta.IsStatusConditionTrue(hcp.Status.Conditions, hyperv1.EtcdAvailable) {
		return nil
	}
	up(hcp, metav1.ConditionTrue)
	hcp.Status.Initialized = true
	return e.Admin().Status().Update(ctx, hcp)
}

// request returns the content of the Secret, empty without one.
func (e *fakeCluster) request(ctx context.Context) (request etcdbackup.Restore) {
	secret := &corev1.Secret{}
	if err := e.Admin().Get(ctx, client.ObjectKey{Namespace: testenv.Namespace, Name: etcdbackup.RestoreSecret}, secret); err != nil {
		return request
	}
	if err := json.Unmarshal(secret.Data[etcdbackup.RestoreKey], &request); err != nil {
		e.T.Error(err)
	}
	return request
}

func (e *fakeCluster) status() hyperv1.EtcdRestoreStatus {
	e.T.Helper()
	r := &hyperv1.EtcdRestore{}
	e.Must(e.Admin().Get(e.T.Context(), client.ObjectKey{Namespace: "clusters", Name: "back"}, r))
	return r.Status
}

// brandNew makes the cluster one that has never been up.
func (e *fakeCluster) brandNew() {
	e.T.Helper()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Status.Initialized, hcp.Status.Conditions = false, nil
	})
}

// random matches what differs between runs: URLs and times.
var random = regexp.MustCompile(`(restore.json|signed|startTime|completionTime): \S+|after [0-9ms]+`)

func (e *fakeCluster) scenario() *crashtest.Scenario {
	s := e.Scenario(hyperv1.EtcdRestored)
	s.Cloud = nil // a backup outlives its restore
	s.Delete = func(ctx context.Context) error {
		meta := metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}
		for _, obj := range []client.Object{restore(), &hyperv1.HostedCluster{ObjectMeta: meta}, testenv.HostedControlPlane(), backup()} {
			if err := e.Admin().Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		return nil
	}
	s.Mask = func(text string) string { return random.ReplaceAllString(text, "$1: ...") }
	return s
}
