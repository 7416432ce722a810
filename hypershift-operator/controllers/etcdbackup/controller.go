package etcdbackup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/backupstorage"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/backupbucket"
	"github.com/hosted-control-planes/hypershift/internal/clusterbundle"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// pollInterval is how often a backup looks at its pod, and at what it waits for.
	pollInterval = 5 * time.Second
	// maxAttempts is how many pods may fail.
	maxAttempts = 6
	// deadline is how long a backup is tried.
	deadline = 24 * time.Hour
	// giveUpAfter is how long a deleted backup tries to abort its upload.
	giveUpAfter = 2 * time.Minute
	workers     = 5
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Reader reads objects that are not cached.
	Reader   client.Reader
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Egress are environment variables with the endpoints of AWS and the proxy.
	Egress []corev1.EnvVar
	// Buckets opens the buckets.
	Buckets backupstorage.Opener
}

// Reconciler makes backups.
type Reconciler struct{ Options }

// Controller reconciles HCPEtcdBackups.
type Controller = reconcile.Controller[*hyperv1.HCPEtcdBackup, *scope]

// New returns the controller.
func New(o Options) *Controller {
	r := &Reconciler{Options: o}
	live := []reconcile.Step[*scope]{
		{Name: "HostedControlPlane", Run: r.findControlPlane},
		{Name: "deadline", Run: r.checkDeadline},
		{Name: "other backups", Run: r.waitForTurn},
		{Name: "failed attempt", Run: r.removeAttempt},
		{Name: "next attempt", Run: r.waitForAttempt},
		{Name: "etcd", Run: r.checkEtcd},
		{Name: "snapshot", Run: r.takeSnapshot},
		{Name: "completion", Run: r.completeUpload},
		{Name: "removal", Run: r.removeLeftovers},
	}
	deleting := []reconcile.Step[*scope]{{Name: "removal", Run: r.abandon}}
	expired := []reconcile.Step[*scope]{
		{Name: "HostedControlPlane", Run: r.findControlPlane},
		{Name: "deletion", Run: r.deleteObject},
	}
	return &Controller{
		Name: "etcdbackup", Client: o.Client, Reader: o.Reader, Clock: o.Clock,
		Scope: r.scope,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			switch {
			case s.deleting():
				return deleting
			case s.finished() && s.backup.Annotations[hyperv1.EtcdBackupExpiredAnnotation] == "true":
				return expired
			case s.finished(), s.imported():
				return nil
			}
			return live
		},
		FieldOwner: names.HypershiftOperator, Fields: func(b *hyperv1.HCPEtcdBackup) any { return b.Status },
		Summary: func(s *scope) string {
			if s.deleting() || s.finished() || s.imported() {
				return ""
			}
			return hyperv1.BackupCompleted
		},
		Status:     report,
		MaxBackoff: 5 * time.Minute,
		Workers:    workers,
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, o Options) error {
	c := New(o)
	return c.Builder(mgr).For(&hyperv1.HCPEtcdBackup{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			e.ObjectOld.GetAnnotations()[hyperv1.EtcdBackupExpiredAnnotation] != e.ObjectNew.GetAnnotations()[hyperv1.EtcdBackupExpiredAnnotation]
	}})).Complete(c)
}

// scope holds the facts of one reconcile.
type scope struct {
	backup *hyperv1.HCPEtcdBackup
	status *reconcile.Writer[*hyperv1.HCPEtcdBackup]

	hcp    *hyperv1.HostedControlPlane // findControlPlane
	etcd   *appsv1.StatefulSet         // checkEtcd
	bucket *backupbucket.Bucket        // openBucket, which the steps call that need it
	facts  etcdbackup.Facts            // takeSnapshot
}

func (r *Reconciler) scope(_ context.Context, b *hyperv1.HCPEtcdBackup, status *reconcile.Writer[*hyperv1.HCPEtcdBackup]) (*scope, error) {
	if b.Unreadable() != "" && b.DeletionTimestamp.IsZero() {
		return nil, reconcile.Skip(0)
	}
	return &scope{backup: b, status: status}, nil
}

func (s *scope) deleting() bool { return !s.backup.DeletionTimestamp.IsZero() }

func (s *scope) finished() bool { return hyperv1.IsBackupFinished(s.backup) }

// imported reports whether another management cluster has stored the backup. The status of a new object follows its creation.
func (s *scope) imported() bool {
	return s.backup.Annotations[hyperv1.EtcdBackupImportedAnnotation] == "true"
}

// findControlPlane finds the control plane in the namespace of the backup.
func (r *Reconciler) findControlPlane(ctx context.Context, s *scope) error {
	var list hyperv1.HostedControlPlaneList
	if err := r.Client.List(ctx, &list, client.InNamespace(s.backup.Namespace)); err != nil {
		return fmt.Errorf("listing control planes: %w", err)
	}
	switch {
	case len(list.Items) != 1:
		return reconcile.Block(hyperv1.BackupRejectedReason,
			"namespace %s has no control plane: create the HCPEtcdBackup in the namespace of a control plane, <namespace>-<name> of its HostedCluster", s.backup.Namespace)
	case list.Items[0].Spec.Etcd.ManagementType == hyperv1.Unmanaged:
		return reconcile.Block(hyperv1.BackupRejectedReason, "etcd of this cluster is not managed: its owner makes the backups")
	}
	s.hcp = &list.Items[0]
	return nil
}

// checkDeadline records the start, and ends a backup that was tried for too long.
func (r *Reconciler) checkDeadline(_ context.Context, s *scope) error {
	started := s.backup.Status.StartTime
	if started == nil {
		s.backup.Status.StartTime = &metav1.Time{Time: r.Clock.Now()}
	} else if r.Clock.Since(started.Time) > deadline {
		return reconcile.Block(hyperv1.BackupFailedReason, "it was tried for %s: %s", deadline, s.lastFailure())
	}
	return nil
}

// lastFailure returns why the backup is not complete, as the status reports it.
func (s *scope) lastFailure() string {
	for _, c := range s.backup.Status.Conditions {
		if c.Type == hyperv1.BackupCompleted {
			return c.Message
		}
	}
	return "no attempt was made"
}

// waitForTurn waits for other backups of the control plane: two snapshots at once would burden etcd twice. A backup that waits for
// something else, such as its bucket, lets the others pass.
func (r *Reconciler) waitForTurn(ctx context.Context, s *scope) error {
	var list hyperv1.HCPEtcdBackupList
	if err := r.Client.List(ctx, &list, client.InNamespace(s.backup.Namespace)); err != nil {
		return fmt.Errorf("listing backups: %w", err)
	}
	for i := range list.Items {
		if other := &list.Items[i]; other.DeletionTimestamp.IsZero() && other.Unreadable() == "" && !hyperv1.IsBackupFinished(other) && goesFirst(other, s.backup) {
			return reconcile.Wait(pollInterval, hyperv1.BackupInProgressReason, "it waits for the backup %s of the same cluster", other.Name)
		}
	}
	return nil
}

// goesFirst reports whether b waits for a: while a has a pod, or if a is older and has not begun either.
func goesFirst(a, b *hyperv1.HCPEtcdBackup) bool {
	switch {
	case a.UID == b.UID:
		return false
	case a.Status.AttemptTime != nil || b.Status.AttemptTime != nil:
		return b.Status.AttemptTime == nil
	case a.Status.StartTime != nil:
		return false
	case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// waitForAttempt waits until the pause after a failed attempt is over.
func (r *Reconciler) waitForAttempt(_ context.Context, s *scope) error {
	st := &s.backup.Status
	if st.FailedAttempts >= maxAttempts {
		return reconcile.Block(hyperv1.BackupFailedReason, "%d attempts have failed, the last one: %s", st.FailedAttempts, st.LastFailureMessage)
	}
	if st.LastFailureTime == nil {
		return nil
	}
	pause := time.Minute << (st.FailedAttempts - 1)
	if left := pause - r.Clock.Since(st.LastFailureTime.Time); left > 0 {
		return reconcile.Wait(left, hyperv1.BackupInProgressReason, "attempt %d of %d has failed, the next one follows after %s: %s",
			st.FailedAttempts, maxAttempts, pause, st.LastFailureMessage)
	}
	return nil
}

// checkEtcd checks that a majority of etcd is ready.
func (r *Reconciler) checkEtcd(ctx context.Context, s *scope) error {
	if s.backup.Status.Snapshot != nil {
		return nil
	}
	s.etcd = &appsv1.StatefulSet{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.backup.Namespace, Name: names.Etcd}, s.etcd); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the StatefulSet of etcd: %w", err)
	}
	if ready, members := s.etcd.Status.ReadyReplicas, s.etcd.Status.Replicas; ready == 0 || ready <= members/2 {
		return reconcile.Wait(pollInterval, hyperv1.EtcdUnhealthyReason, "%d of %d members of etcd are ready", ready, members)
	}
	return nil
}

// openBucket opens the bucket with the identity that the backup names. It calls STS, so that a backup that looks at its pod does not need it.
func (r *Reconciler) openBucket(ctx context.Context, s *scope) error {
	if s.bucket != nil {
		return nil
	}
	bucket, err := r.Buckets.Open(ctx, s.hcp, s.backup.Spec.Storage)
	s.bucket = bucket
	return err
}

// beginUpload records the key, and begins the upload of the object.
func (r *Reconciler) beginUpload(ctx context.Context, s *scope) (id string, err error) {
	if err := s.status.AddFinalizer(ctx, hyperv1.HCPEtcdBackupFinalizer); err != nil {
		return "", err
	}
	st := &s.backup.Status
	if st.ObjectKey == "" {
		st.ObjectKey = objectKey(s.backup, s.hcp)
		if err := s.status.Write(ctx); err != nil {
			return "", err
		}
	}
	return s.bucket.Begin(ctx, st.ObjectKey, s.hcp.Spec.InfraID)
}

// completeUpload makes the uploaded parts an object.
func (r *Reconciler) completeUpload(ctx context.Context, s *scope) error {
	st := &s.backup.Status
	if st.Snapshot != nil {
		return nil
	}
	if err := r.openBucket(ctx, s); err != nil {
		return err
	}
	if err := r.storeObjects(ctx, s); err != nil {
		return err
	}
	err := s.bucket.Complete(ctx, st.ObjectKey, s.facts.SizeBytes, s.facts.SHA256)
	var incomplete *backupbucket.IncompleteError
	if errors.As(err, &incomplete) {
		return r.fail(ctx, s, incomplete.Error())
	}
	if err != nil {
		return err
	}
	st.AttemptTime = nil
	st.CompletionTime = &metav1.Time{Time: r.Clock.Now()}
	st.SnapshotURL = s.bucket.URL(st.ObjectKey)
	if arn := s.bucket.KMSKeyARN; arn != "" {
		st.EncryptionMetadata = &hyperv1.HCPEtcdBackupEncryptionMetadata{AWS: &hyperv1.HCPEtcdBackupConfigAWS{KMSKeyARN: hyperv1.KMSKeyARN(arn)}}
	}
	st.Snapshot = &hyperv1.EtcdSnapshot{
		SizeBytes: s.facts.SizeBytes, SHA256: s.facts.SHA256, Revision: s.facts.Revision, Keys: s.facts.Keys, Hash: int64(s.facts.Hash), Version: s.facts.Version,
	}
	// The pod, which is removed next, is the only other record of these facts.
	if err := s.status.Write(ctx); err != nil {
		return err
	}
	return r.recordTime(ctx, s)
}

// storeObjects stores the objects of the cluster before the backup is complete: both together replace a lost management cluster. The HostedCluster
// may have disappeared meanwhile; its data is stored nevertheless.
func (r *Reconciler) storeObjects(ctx context.Context, s *scope) error {
	namespace, name, _ := strings.Cut(s.hcp.Annotations[hyperv1.HostedClusterAnnotation], "/")
	bundle, err := clusterbundle.CollectForBucket(ctx, r.Reader, client.ObjectKey{Namespace: namespace, Name: name})
	if apierrors.IsNotFound(err) {
		r.Recorder.Eventf(s.backup, nil, corev1.EventTypeWarning, "ObjectsMissing", "Store", "The backup is stored without the objects of the cluster: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	content, err := bundle.Encode()
	if err != nil {
		return err
	}
	return s.bucket.Write(ctx, s.backup.Status.ObjectKey+backupbucket.ObjectsSuffix, "application/gzip", content)
}

// recordTime annotates the control plane with the time of its last snapshot, from which its operator derives a metric.
func (r *Reconciler) recordTime(ctx context.Context, s *scope) error {
	patch := mergepatch.Metadata(map[string]any{"annotations": map[string]any{names.EtcdSnapshotTimeAnnotation: r.Clock.Now().UTC().Format(time.RFC3339)}})
	if err := r.Client.Patch(ctx, s.hcp, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotating HostedControlPlane %s: %w", s.hcp.Name, err)
	}
	return nil
}

// removeLeftovers removes what a complete backup needs no more.
func (r *Reconciler) removeLeftovers(ctx context.Context, s *scope) error {
	if err := r.removeObjects(ctx, s, s.backup.Status.FailedAttempts+1); err != nil {
		return err
	}
	return s.status.RemoveFinalizer(ctx, hyperv1.HCPEtcdBackupFinalizer)
}

// deleteObject deletes a backup with its object.
func (r *Reconciler) deleteObject(ctx context.Context, s *scope) error {
	if key := s.backup.Status.ObjectKey; s.backup.Status.Snapshot != nil {
		bucket, err := r.Buckets.Open(ctx, s.hcp, s.backup.Spec.Storage)
		if err != nil {
			return err
		}
		if err := bucket.Delete(ctx, key); err != nil {
			return err
		}
	}
	return reconcile.Delete(ctx, r.Client, s.backup)
}

// fail counts a failed attempt. The message names the failure until the next attempt.
func (r *Reconciler) fail(ctx context.Context, s *scope, message string) error {
	st := &s.backup.Status
	st.FailedAttempts++
	st.LastFailureTime, st.LastFailureMessage = &metav1.Time{Time: r.Clock.Now()}, message
	if err := s.status.Write(ctx); err != nil {
		return err
	}
	if err := r.removeAttempt(ctx, s); err != nil {
		return err
	}
	return r.waitForAttempt(ctx, s)
}

// removeAttempt removes the pod, the Secret and the upload of an attempt that was counted as failed.
func (r *Reconciler) removeAttempt(ctx context.Context, s *scope) error {
	st := &s.backup.Status
	if st.AttemptTime == nil || st.LastFailureTime == nil || st.LastFailureTime.Before(st.AttemptTime) {
		return nil
	}
	if err := r.removeObjects(ctx, s, st.FailedAttempts); err != nil {
		return err
	}
	if err := r.openBucket(ctx, s); err != nil {
		return err
	}
	if err := s.bucket.Abort(ctx, st.ObjectKey); err != nil {
		return err
	}
	st.AttemptTime = nil
	return nil
}

// abandon aborts the upload of a deleted backup. A complete backup stays in the bucket: it is kept longer than the cluster.
func (r *Reconciler) abandon(ctx context.Context, s *scope) error {
	if st := s.backup.Status; st.ObjectKey != "" && st.Snapshot == nil {
		if err := r.abort(ctx, s); err != nil {
			if r.Clock.Since(s.backup.DeletionTimestamp.Time) < giveUpAfter {
				// Whatever the reason: a Block would never be tried again, and the namespace would stay.
				return reconcile.Unknown(pollInterval, hyperv1.BackupInProgressReason, "aborting the upload: %s", awsx.Message(err))
			}
			r.Recorder.Eventf(s.backup, nil, corev1.EventTypeWarning, "UploadLeft", "Delete", "Parts of the unfinished upload s3://%s/%s may be left: %s",
				s.backup.Spec.Storage.S3.Bucket, st.ObjectKey, awsx.Message(err))
		}
	}
	return r.removeLeftovers(ctx, s)
}

func (r *Reconciler) abort(ctx context.Context, s *scope) error {
	if err := r.findControlPlane(ctx, s); err != nil {
		return err
	}
	if err := r.openBucket(ctx, s); err != nil {
		return err
	}
	if err := r.removeObjects(ctx, s, s.backup.Status.FailedAttempts+1); err != nil {
		return err
	}
	if err := s.bucket.Abort(ctx, s.backup.Status.ObjectKey); !backupbucket.IsNoBucket(err) {
		return err
	}
	return nil
}

// report derives the conditions from the outcome of the steps.
func report(s *scope, steps reconcile.Report, conditions *reconcile.Conditions) {
	if s.deleting() || s.finished() || s.imported() {
		return
	}
	snapshot := s.backup.Status.Snapshot
	if snapshot == nil {
		return
	}
	conditions.Set(hyperv1.BackupVerified, metav1.ConditionTrue, hyperv1.BackupSucceededReason, fmt.Sprintf(
		"An etcd that was started from the snapshot has the same %d keys and the same hash at revision %d", snapshot.Keys, snapshot.Revision))
	if steps.Done() {
		conditions.Set(hyperv1.BackupCompleted, metav1.ConditionTrue, hyperv1.BackupSucceededReason, fmt.Sprintf("%d bytes are stored", snapshot.SizeBytes))
	}
}
