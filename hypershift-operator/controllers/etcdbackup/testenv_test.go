package etcdbackup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/backupstorage"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	namespace = testenv.Namespace
	operator  = "hypershift"
	bucket    = "backups"
	objectURL = "s3://backups/prod/" + testenv.InfraID + "/20260102T030405Z-daily.db"
)

// snapshot is the content of the snapshot that the pod takes.
const snapshot = "a snapshot"

// fakeBackup is a control plane with an etcd, a bucket, and a kubelet that runs the pods of backups.
type fakeBackup struct {
	*testenv.Env
	// pods does the work of the next pods. Without an entry a pod succeeds.
	pods []func(*corev1.Pod)
	// sessions are the identities that were opened.
	sessions []string
	ran      int
}

func backup(change ...func(*hyperv1.HCPEtcdBackup)) *hyperv1.HCPEtcdBackup {
	b := &hyperv1.HCPEtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "daily", Generation: 1, CreationTimestamp: metav1.NewTime(testenv.Start)},
		Spec: hyperv1.HCPEtcdBackupSpec{Storage: hyperv1.HCPEtcdBackupStorage{StorageType: hyperv1.S3BackupStorage, S3: &hyperv1.HCPEtcdBackupS3{
			Bucket: bucket, Region: testenv.Region, KeyPrefix: "/prod/", RoleARN: "arn:aws:iam::" + testenv.Customer + ":role/backups",
		}}},
	}
	for _, c := range change {
		c(b)
	}
	return b
}

func etcd() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: testenv.In(namespace, names.Etcd),
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](3), ServiceName: "etcd-discovery",
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: names.Etcd, Image: "example.test/etcd@sha256:1"}}}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			}}}},
		},
		Status: appsv1.StatefulSetStatus{Replicas: 3, ReadyReplicas: 2},
	}
}

func controlPlaneOperator() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: testenv.In(namespace, names.ControlPlaneOperator), Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": names.ControlPlaneOperator, names.ManagementAccessLabel: "true", "team": "a"}},
		Spec: corev1.PodSpec{
			ServiceAccountName: names.ControlPlaneOperator, PriorityClassName: "hypershift-control-plane",
			Containers: []corev1.Container{{Name: names.ControlPlaneOperator, Image: "example.test/operator@sha256:2"}}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: names.PullSecret}},
			Tolerations: []corev1.Toleration{{Key: "tier", Operator: corev1.TolerationOpExists}},
		},
	}}}
}

func newFakeBackup(t testing.TB, change ...func(*hyperv1.HCPEtcdBackup)) *fakeBackup {
	e := &fakeBackup{Env: testenv.New(t, testenv.WithScheme(testenv.Scheme(appsv1.AddToScheme)),
		testenv.For(backup(change...), &hyperv1.HCPEtcdBackupList{}),
		testenv.WithKinds(&corev1.SecretList{}, &corev1.PodList{}), testenv.WithStatus(&corev1.Pod{}, &appsv1.StatefulSet{}),
		testenv.WithObjects(etcd(), controlPlaneOperator(), testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{}
		})),
	)}
	e.AWS.Account(testenv.Customer).AddBucket(testenv.Region, bucket)
	e.Start, e.Others = e.start, e.kubelet
	return e
}

func (e *fakeBackup) start() testenv.Pass {
	c := New(Options{
		Client: e.Client(), Reader: e.Client(), Scheme: e.Scheme, Recorder: e.Events, Clock: e.Clock,
		Buckets: backupstorage.Opener{Reader: e.Client(), Namespace: operator, Sessions: e},
		Egress:  []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy:3128"}},
	})
	return e.PassOverKeys(&hyperv1.HCPEtcdBackupList{}, c.Reconcile)
}

// OfRole implements Sessions.
func (e *fakeBackup) OfRole(_ context.Context, _ *hyperv1.HostedControlPlane, region, roleARN string) (backupstorage.Session, error) {
	e.sessions = append(e.sessions, roleARN)
	account := strings.Split(roleARN, ":")[4]
	return backupstorage.Session{Config: e.Config(e.AWS.Account(account), region, roleARN[strings.LastIndex(roleARN, "/")+1:]), Account: account}, nil
}

// OfKeys implements Sessions.
func (e *fakeBackup) OfKeys(_ context.Context, region string, keys *awsx.AccessKey, roleARN string) (backupstorage.Session, error) {
	e.sessions = append(e.sessions, fmt.Sprint(keys, " ", roleARN))
	return backupstorage.Session{Config: e.Config(e.AWS.Account(testenv.Customer), region, "user"), Account: testenv.Customer}, nil
}

// kubelet runs the pods.
func (e *fakeBackup) kubelet(ctx context.Context) error {
	var pods corev1.PodList
	if err := e.Admin().List(ctx, &pods); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase != "" {
			continue
		}
		if e.ran++; e.ran <= len(e.pods) {
			e.pods[e.ran-1](pod)
		} else {
			e.succeed(pod)
		}
		if err := e.Admin().Status().Update(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// succeed uploads the snapshot and ends the pod.
func (e *fakeBackup) succeed(pod *corev1.Pod) {
	e.T.Helper()
	e.uploadPart(pod, snapshot)
	sum := sha256.Sum256([]byte(snapshot))
	facts := etcdbackup.Facts{SizeBytes: int64(len(snapshot)), SHA256: hex.EncodeToString(sum[:]), Version: "3.6.8", Revision: 17, Keys: 5, Hash: 99, Verified: true}
	pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
		Name: etcdbackup.UploadContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: string(facts.Encode())}},
	}}}
}

// uploadPart uploads the first part as the holder of its URL.
func (e *fakeBackup) uploadPart(pod *corev1.Pod, text string) {
	e.T.Helper()
	secret := &corev1.Secret{}
	e.Must(e.Admin().Get(e.T.Context(), client.ObjectKeyFromObject(pod), secret))
	var uploads etcdbackup.Uploads
	e.Must(json.Unmarshal(secret.Data[etcdbackup.UploadsKey], &uploads))
	to, err := url.Parse(uploads.URLs[0])
	e.Must(err)
	e.Must(e.AWS.UploadPart(bucket, to.Query().Get("uploadId"), 1, []byte(text)))
}

// failing returns a pod whose container fails with this message.
func failing(container, words string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{
			{Name: container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: words}}},
		}}
	}
}

func (e *fakeBackup) status() hyperv1.HCPEtcdBackupStatus {
	e.T.Helper()
	b := &hyperv1.HCPEtcdBackup{}
	e.Must(e.Admin().Get(e.T.Context(), client.ObjectKey{Namespace: namespace, Name: "daily"}, b))
	return b.Status
}

// random matches what differs between runs: URLs and times.
var random = regexp.MustCompile(`(uploads.json|startTime|attemptTime|completionTime|lastFailureTime): \S+`)

func (e *fakeBackup) scenario() *crashtest.Scenario {
	s := e.Scenario(hyperv1.BackupCompleted)
	s.Mask = func(text string) string { return random.ReplaceAllString(text, "$1: ...") }
	return s
}

// withoutBackups hides complete backups, which stay when the object is deleted.
func (e *fakeBackup) withoutBackups(s *crashtest.Scenario) *crashtest.Scenario {
	s.Cloud = func() string { return fmt.Sprint(e.AWS.Uploads(bucket)) }
	return s
}
