//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// TestBackups stores backups of a cluster in a bucket of the provider: once, on a schedule, and before its deletion. The role, in the account of
// the cluster, has the policy of config/iam.
func TestBackups(t *testing.T) {
	begin(t)
	b := &backups{hosted: newHosted(t, "backups", on.Versions[0]), bucket: "etcd-backups"}
	b.hc.Labels = map[string]string{"tier": "production"}
	b.prepare()
	b.create()
	b.available()
	b.kubectl("create configmap kept --from-literal=what=this")

	t.Run("a bucket of another account", func(t *testing.T) {
		stolen := b.backup("stolen", func(s3 *hyperv1.HCPEtcdBackupS3) { s3.BucketOwner = "999999999999" })
		b.eventually("it is refused", func(ctx context.Context) error {
			return b.reports(ctx, stolen, metav1.ConditionFalse, "AWSAccessDenied")
		})
		b.must(b.management.Delete(t.Context(), stolen))
	})
	t.Run("a backup", func(t *testing.T) {
		began := time.Now()
		once := b.backup("once", nil)
		b.eventually("it is stored", func(ctx context.Context) error {
			return b.reports(ctx, once, metav1.ConditionTrue, hyperv1.BackupSucceededReason)
		})
		t.Logf("stored after %.1f s: %d bytes, %d keys, hash %d at revision %d", time.Since(began).Seconds(), once.Status.Snapshot.SizeBytes, once.Status.Snapshot.Keys, once.Status.Snapshot.Hash, once.Status.Snapshot.Revision)
		t.Log(kubectl(t, "get", "hcpetcdbackups", "-n", b.namespace()))
		b.waitForCondition(hyperv1.EtcdBackupSucceeded, "True")
		b.must(b.management.Get(t.Context(), client.ObjectKeyFromObject(b.hc), b.hc))
		if got := b.hc.Status.LastSuccessfulEtcdBackupURL; got != once.Status.SnapshotURL {
			t.Errorf("the HostedCluster has the URL %q, want %s", got, once.Status.SnapshotURL)
		}
		b.expectObject(once.Status.SnapshotURL, once.Status.Snapshot.SizeBytes)
		b.nothingRuns()
	})
	t.Run("a schedule", func(t *testing.T) {
		b.schedule()
		b.eventually("the first backup is stored", func(ctx context.Context) error {
			var list hyperv1.HCPEtcdBackupList
			if err := b.management.List(ctx, &list, client.InNamespace(b.namespace()), client.HasLabels{hyperv1.EtcdBackupScheduleLabel}); err != nil {
				return err
			}
			for i := range list.Items {
				if hyperv1.IsBackupStored(&list.Items[i]) {
					return nil
				}
			}
			return fmt.Errorf("%d backups, none is stored", len(list.Items))
		})
		t.Log(kubectl(t, "get", "etcdbackupschedules", "-n", b.hc.Namespace))
	})
	before := len(b.objects())
	b.must(b.management.Delete(t.Context(), b.hc))
	b.eventually("the cluster is gone", func(ctx context.Context) error {
		err := b.management.Get(ctx, client.ObjectKeyFromObject(b.hc), b.hc)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it exists"))
	})
	after := b.objects()
	if len(after) < before+2 || !strings.Contains(strings.Join(after, " "), "-last.db") {
		t.Errorf("the deletion made no last backup: %v", after)
	}
	b.emptyBucket(t.Context())
	b.delete(t.Context())
}

// backups is a cluster with a bucket.
type backups struct {
	*hosted
	bucket, role string
}

// prepare makes the role and the bucket.
func (b *backups) prepare() {
	b.t.Helper()
	ctx, account := b.t.Context(), b.customer.Account
	name := b.hc.Spec.InfraID + "-etcd-backup"
	b.must(on.AWS.Given(ctx, account, func() (err error) {
		b.role, err = on.AWS.Role(ctx, account, name, awsemulator.TrustWebIdentity(b.customer.OIDCProvider, names.EtcdBackupSubject))
		return err
	}))
	policy, err := iam.Fill(iam.EtcdBackup, map[string]string{"BACKUP_BUCKET": b.bucket, "INFRA_ID": b.hc.Spec.InfraID})
	b.must(err)
	b.must(on.AWS.Permit(ctx, account, name, policy))
	b.makeBucket()
}

// makeBucket makes the bucket, which the role of the other account may use.
func (b *backups) makeBucket() {
	b.t.Helper()
	_, err := b.provider().CreateBucket(b.t.Context(), &s3.CreateBucketInput{Bucket: &b.bucket})
	b.must(err)
	permit := fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": %q}, "Action": "s3:*", "Resource": ["arn:aws:s3:::%s", "arn:aws:s3:::%s/*"]}]}`,
		b.role, b.bucket, b.bucket)
	_, err = b.provider().PutBucketPolicy(b.t.Context(), &s3.PutBucketPolicyInput{Bucket: &b.bucket, Policy: &permit})
	b.must(err)
}

// provider is a client of S3 in the account of the bucket.
func (b *backups) provider() *s3.Client {
	return s3.NewFromConfig(on.AWS.Config(on.Management.Account))
}

func (b *backups) storage() hyperv1.HCPEtcdBackupStorage {
	return hyperv1.HCPEtcdBackupStorage{StorageType: hyperv1.S3BackupStorage, S3: &hyperv1.HCPEtcdBackupS3{
		Bucket: b.bucket, Region: b.hc.Spec.Platform.AWS.Region, KeyPrefix: "prod", RoleARN: hyperv1.RoleARN(b.role), BucketOwner: on.Management.Account,
	}}
}

// backup creates an HCPEtcdBackup.
func (b *backups) backup(name string, change func(*hyperv1.HCPEtcdBackupS3)) *hyperv1.HCPEtcdBackup {
	b.t.Helper()
	backup := &hyperv1.HCPEtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace(), Name: name}, Spec: hyperv1.HCPEtcdBackupSpec{Storage: b.storage()}}
	if change != nil {
		change(backup.Spec.Storage.S3)
	}
	b.must(b.management.Create(b.t.Context(), backup))
	return backup
}

// reports returns an error until BackupCompleted has this status and reason.
func (b *backups) reports(ctx context.Context, backup *hyperv1.HCPEtcdBackup, status metav1.ConditionStatus, reason string) error {
	if err := b.management.Get(ctx, client.ObjectKeyFromObject(backup), backup); err != nil {
		return err
	}
	for _, c := range backup.Status.Conditions {
		if c.Type == hyperv1.BackupCompleted && c.Status == status && c.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("its conditions are %+v", backup.Status.Conditions)
}

// schedule creates a schedule. Its first time is a few minutes away.
func (b *backups) schedule() {
	b.t.Helper()
	s := &hyperv1.EtcdBackupSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: b.hc.Namespace, Name: "often"}, Spec: hyperv1.EtcdBackupScheduleSpec{
		HostedClusterSelector: metav1.LabelSelector{MatchLabels: b.hc.Labels}, Schedule: "*/5 * * * *", Jitter: &metav1.Duration{},
		BeforeDeletion: true, Storage: b.storage(),
	}}
	b.must(b.management.Create(b.t.Context(), s))
	b.t.Cleanup(func() { b.must(client.IgnoreNotFound(b.management.Delete(context.WithoutCancel(b.t.Context()), s))) })
}

// emptyBucket deletes the backups, which are kept longer than their cluster.
func (b *backups) emptyBucket(ctx context.Context) {
	b.t.Helper()
	out, err := b.provider().ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.bucket})
	b.must(err)
	for _, o := range out.Contents {
		_, err := b.provider().DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.bucket, Key: o.Key})
		b.must(err)
	}
}

// objects returns the keys of the bucket.
func (b *backups) objects() (keys []string) {
	b.t.Helper()
	out, err := b.provider().ListObjectsV2(b.t.Context(), &s3.ListObjectsV2Input{Bucket: &b.bucket})
	b.must(err)
	for _, o := range out.Contents {
		keys = append(keys, *o.Key)
	}
	return keys
}

func (b *backups) expectObject(url string, size int64) {
	b.t.Helper()
	key := strings.TrimPrefix(url, "s3://"+b.bucket+"/")
	out, err := b.provider().HeadObject(b.t.Context(), &s3.HeadObjectInput{Bucket: &b.bucket, Key: &key})
	b.must(err)
	if *out.ContentLength != size {
		b.t.Errorf("%s has %d bytes, want %d", url, *out.ContentLength, size)
	}
}

// nothingRuns checks that the pod and its Secret are removed.
func (b *backups) nothingRuns() {
	b.t.Helper()
	var pods corev1.PodList
	b.must(b.management.List(b.t.Context(), &pods, client.InNamespace(b.namespace()), client.MatchingLabels{"app": etcdbackup.App}))
	for _, p := range pods.Items {
		if p.DeletionTimestamp.IsZero() {
			b.t.Errorf("pod %s is left", p.Name)
		}
	}
	var secrets corev1.SecretList
	b.must(b.management.List(b.t.Context(), &secrets, client.InNamespace(b.namespace())))
	for _, s := range secrets.Items {
		if strings.HasPrefix(s.Name, etcdbackup.App) {
			b.t.Errorf("Secret %s is left", s.Name)
		}
	}
}
