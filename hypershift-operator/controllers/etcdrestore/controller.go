package etcdrestore

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/backupstorage"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/etcdrestores"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/backupbucket"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/etcdvolume"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// pollInterval is how often a restore looks at the control plane.
	pollInterval = 2 * time.Second
	// waitInterval is how often a restore looks at what it waits for before it has begun.
	waitInterval = 10 * time.Second
	// urlExpires is the validity of a presigned URL, and resign is its age when it is replaced.
	urlExpires = time.Hour
	resign     = 15 * time.Minute
	workers    = 5
)

// signedKey is the key of the Secret with the time of the signature.
const signedKey = "signed"

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Reader reads objects that are not cached.
	Reader   client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Buckets opens the buckets.
	Buckets backupstorage.Opener
}

// Reconciler restores backups.
type Reconciler struct{ Options }

// Controller reconciles EtcdRestores.
type Controller = reconcile.Controller[*hyperv1.EtcdRestore, *scope]

// New returns the controller.
func New(o Options) *Controller {
	r := &Reconciler{o}
	live := []reconcile.Step[*scope]{
		{Name: "HostedCluster", Run: r.findCluster},
		{Name: "other restores", Run: r.waitForTurn},
		{Name: "object", Run: r.checkObject},
		{Name: "request", Run: r.ensureRequest},
		{Name: "control plane", Run: r.awaitControlPlane},
		{Name: "removal", Run: r.removeRequest},
	}
	removal := []reconcile.Step[*scope]{{Name: "removal", Run: r.removeRequest}}
	return &Controller{
		Name: "etcdrestore", Client: o.Client, Reader: o.Reader, Clock: o.Clock,
		Scope: func(_ context.Context, obj *hyperv1.EtcdRestore, status *reconcile.Writer[*hyperv1.EtcdRestore]) (*scope, error) {
			if obj.Unreadable() != "" && obj.DeletionTimestamp.IsZero() {
				return nil, reconcile.Skip(0)
			}
			return &scope{restore: obj, status: status}, nil
		},
		Phase: func(s *scope) []reconcile.Step[*scope] {
			switch {
			case !hyperv1.IsRestoreFinished(s.restore) && (etcdrestores.Begun(s.restore) || !s.deleting()):
				return live // a restore that has begun is finished, even if it is deleted
			case controllerutil.ContainsFinalizer(s.restore, hyperv1.EtcdRestoreFinalizer):
				return removal
			}
			return nil
		},
		FieldOwner: names.HypershiftOperator, Fields: func(r *hyperv1.EtcdRestore) any { return r.Status },
		Summary: func(s *scope) string {
			if s.deleting() && !etcdrestores.Begun(s.restore) || hyperv1.IsRestoreFinished(s.restore) {
				return ""
			}
			return hyperv1.EtcdRestored
		},
		Status:     report,
		Classify:   reconcile.Classifier{Transient: awsx.IsTransient},
		MaxBackoff: 5 * time.Minute,
		Workers:    workers,
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, o Options) error {
	c := New(o)
	return c.Builder(mgr).For(&hyperv1.EtcdRestore{}).Complete(c)
}

// scope holds the facts of one reconcile.
type scope struct {
	restore *hyperv1.EtcdRestore
	status  *reconcile.Writer[*hyperv1.EtcdRestore]

	hc      *hyperv1.HostedCluster       // findCluster
	hcp     *hyperv1.HostedControlPlane  // findCluster
	owner   *hyperv1.HostedControlPlane  // findBackup: the control plane whose identity reads the backup
	storage hyperv1.HCPEtcdBackupStorage // findBackup
	key     string                       // findBackup
	bucket  *backupbucket.Bucket         // openBucket
	object  backupbucket.Object          // checkObject
}

func (s *scope) deleting() bool { return !s.restore.DeletionTimestamp.IsZero() }

// cluster is the key of the HostedCluster.
func (s *scope) cluster() client.ObjectKey {
	return client.ObjectKey{Namespace: s.restore.Namespace, Name: s.restore.Spec.HostedClusterName}
}

// plane is the key of the HostedControlPlane of a HostedCluster in the namespace of the restore.
func (s *scope) plane(hostedCluster string) client.ObjectKey {
	return client.ObjectKey{Namespace: names.ControlPlaneNamespace(s.restore.Namespace, hostedCluster), Name: hostedCluster}
}

// findCluster waits for the HostedCluster and for its control plane. A restore that has begun ends with its cluster.
func (r *Reconciler) findCluster(ctx context.Context, s *scope) error {
	s.hc = &hyperv1.HostedCluster{}
	err := r.Client.Get(ctx, s.cluster(), s.hc)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting HostedCluster %s: %w", s.cluster().Name, err)
	}
	gone := apierrors.IsNotFound(err) || !s.hc.DeletionTimestamp.IsZero()
	switch {
	case gone && etcdrestores.Begun(s.restore):
		return reconcile.Block(hyperv1.RestoreRejectedReason, "HostedCluster %s was deleted during the restore", s.cluster().Name)
	case gone:
		return reconcile.Wait(waitInterval, hyperv1.RestorePendingReason, "waiting for HostedCluster %s, which does not exist in namespace %s", s.cluster().Name, s.restore.Namespace)
	case s.hc.Spec.Etcd.ManagementType == hyperv1.Unmanaged:
		return reconcile.Block(hyperv1.RestoreRejectedReason, "etcd of HostedCluster %s is not managed: its owner restores it", s.hc.Name)
	}
	if s.hcp, err = r.controlPlane(ctx, s, s.hc.Name); err != nil {
		return err
	}
	if s.hcp == nil {
		return reconcile.Wait(waitInterval, hyperv1.RestorePendingReason, "waiting for the control plane of HostedCluster %s", s.hc.Name)
	}
	return nil
}

// controlPlane returns the control plane of a HostedCluster of the namespace, or nil. Two HostedClusters of different namespaces may have names
// that lead to the same namespace of a control plane, so the owner is compared.
func (r *Reconciler) controlPlane(ctx context.Context, s *scope, hostedCluster string) (*hyperv1.HostedControlPlane, error) {
	hcp := &hyperv1.HostedControlPlane{}
	err := r.Client.Get(ctx, s.plane(hostedCluster), hcp)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting the control plane of HostedCluster %s: %w", hostedCluster, err)
	}
	if err != nil || hcp.Annotations[hyperv1.HostedClusterAnnotation] != s.restore.Namespace+"/"+hostedCluster {
		return nil, nil
	}
	return hcp, nil
}

// waitForTurn waits for other restores of the cluster.
func (r *Reconciler) waitForTurn(ctx context.Context, s *scope) error {
	current, err := etcdrestores.Current(ctx, r.Client, s.cluster())
	switch {
	case err != nil || current == nil || current.UID == s.restore.UID:
		return err
	case s.deleting():
		return reconcile.Block(hyperv1.RestoreRejectedReason, "EtcdRestore %s replaces it", current.Name)
	}
	return reconcile.Wait(waitInterval, hyperv1.RestorePendingReason, "it waits for the EtcdRestore %s of the same cluster", current.Name)
}

// findBackup finds where the backup is stored, and with which identity it is read. A restore that has begun needs it only to sign the URL again.
func (r *Reconciler) findBackup(ctx context.Context, s *scope) error {
	if o := s.restore.Spec.Object; o != nil {
		s.owner, s.key = s.hcp, o.Key
		s.storage = hyperv1.HCPEtcdBackupStorage{StorageType: hyperv1.S3BackupStorage, S3: &hyperv1.HCPEtcdBackupS3{
			Bucket: o.Bucket, Region: o.Region, RoleARN: o.RoleARN, BucketOwner: o.BucketOwner,
		}}
		return nil
	}
	ref := s.restore.Spec.Backup
	s.owner = s.hcp
	if ref == nil {
		return reconcile.Block(hyperv1.RestoreRejectedReason, "spec has neither backup, object nor member")
	}
	if name := ref.HostedClusterName; name != "" && name != s.hc.Name {
		var err error
		if s.owner, err = r.controlPlane(ctx, s, name); err != nil {
			return err
		}
		if s.owner == nil {
			return reconcile.Wait(waitInterval, hyperv1.BackupUnreadableReason,
				"HostedCluster %s of namespace %s has no control plane with HCPEtcdBackups: name the backup in spec.object of another EtcdRestore", name, s.restore.Namespace)
		}
	}
	backup := &hyperv1.HCPEtcdBackup{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.owner.Namespace, Name: ref.Name}, backup)
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Wait(waitInterval, hyperv1.BackupUnreadableReason, "there is no HCPEtcdBackup %s in namespace %s", ref.Name, s.owner.Namespace)
	case err != nil:
		return fmt.Errorf("getting HCPEtcdBackup %s: %w", ref.Name, err)
	case backup.Unreadable() != "":
		return reconcile.Block(hyperv1.RestoreRejectedReason, "HCPEtcdBackup %s cannot be read: %s", ref.Name, backup.Unreadable())
	case !hyperv1.IsBackupStored(backup) && hyperv1.IsBackupFinished(backup):
		return reconcile.Block(hyperv1.RestoreRejectedReason, "HCPEtcdBackup %s has failed: name another backup", ref.Name)
	case !hyperv1.IsBackupStored(backup):
		return reconcile.Wait(waitInterval, hyperv1.RestorePendingReason, "waiting until HCPEtcdBackup %s is stored", ref.Name)
	}
	s.storage, s.key = backup.Spec.Storage, backup.Status.ObjectKey
	return nil
}

// checkMember accepts a member whose data is all that is left.
func checkMember(s *scope) error {
	switch {
	case s.hc.Spec.ControllerAvailabilityPolicy != hyperv1.HighlyAvailable:
		return reconcile.Block(hyperv1.RestoreRejectedReason, "etcd of HostedCluster %s has one member: restore a backup", s.hc.Name)
	case !meta.IsStatusConditionFalse(s.hcp.Status.Conditions, hyperv1.EtcdAvailable):
		return reconcile.Block(hyperv1.RestoreRejectedReason, "etcd of HostedCluster %s has a majority (EtcdAvailable is not False), from which a lost member gets its data", s.hc.Name)
	}
	return nil
}

// openBucket opens the bucket of the backup.
func (r *Reconciler) openBucket(ctx context.Context, s *scope) (err error) {
	if s.bucket != nil {
		return nil
	}
	if err := r.findBackup(ctx, s); err != nil {
		return err
	}
	s.bucket, err = r.Buckets.Open(ctx, s.owner, s.storage)
	if err != nil {
		return unreadable(err)
	}
	return nil
}

// checkObject checks the backup before anything is stopped.
func (r *Reconciler) checkObject(ctx context.Context, s *scope) (err error) {
	if etcdrestores.Begun(s.restore) {
		return nil
	}
	if s.restore.Spec.Member != "" {
		return checkMember(s)
	}
	if err := r.openBucket(ctx, s); err != nil {
		return err
	}
	if s.object, err = s.bucket.Describe(ctx, s.key); err != nil {
		return unreadable(err)
	}
	url := s.bucket.URL(s.key)
	owner := s.object.InfraID
	if owner == "" {
		owner = path.Base(path.Dir(s.key)) // the metadata is lost when the object is copied by hand
	}
	expected := s.hcp.Spec.InfraID
	if from := s.restore.Spec.FromInfraID; from != "" {
		expected = from
	}
	size := etcdvolume.Size(&s.hcp.Spec.Etcd)
	switch largest := etcdvolume.LargestSnapshot(size); {
	case s.object.SHA256 == "":
		return reconcile.Wait(waitInterval, hyperv1.BackupUnreadableReason, "%s has no checksum: store it in %s%s", url, url, backupbucket.ChecksumSuffix)
	case owner != expected:
		return reconcile.Block(hyperv1.RestoreRejectedReason,
			"%s is a backup of the cluster with infraID %q, but %q is expected: if you want its data, create another EtcdRestore with fromInfraID", url, owner, expected)
	case s.object.Size > largest:
		return reconcile.Block(hyperv1.RestoreRejectedReason, "%s has %d MiB, more than the %d MiB that fit on a volume of %s: restore it into a HostedCluster with larger volumes",
			url, s.object.Size>>20, largest>>20, size.String())
	}
	return nil
}

// unreadable is the outcome of a call that failed. Outcomes of other steps stay as they are.
func unreadable(err error) error {
	var block *reconcile.Blocked
	var wait *reconcile.Waiting
	switch {
	case errors.As(err, &block):
		return reconcile.Block(hyperv1.RestoreRejectedReason, "%s", block.Message)
	case errors.As(err, &wait):
		return reconcile.Wait(wait.After, hyperv1.BackupUnreadableReason, "%s", wait.Message)
	}
	return reconcile.Wait(3*waitInterval, hyperv1.BackupUnreadableReason, "%s", awsx.Message(err))
}

// ensureRequest begins the restore: it records the start, and writes the Secret for the members. A URL that may expire is replaced.
func (r *Reconciler) ensureRequest(ctx context.Context, s *scope) error {
	if s.restored() {
		return nil
	}
	if !etcdrestores.Begun(s.restore) {
		if paused, _ := s.hc.Spec.PausedUntil.Paused(r.Clock.Now()); paused {
			return reconcile.Wait(waitInterval, hyperv1.RestorePendingReason, "spec.pausedUntil of HostedCluster %s stops changes", s.hc.Name)
		}
		if err := s.status.AddFinalizer(ctx, hyperv1.EtcdRestoreFinalizer); err != nil {
			return err
		}
		// The revisions of the members depend on the time.
		s.restore.Status.StartTime = &metav1.Time{Time: r.Clock.Now().Truncate(time.Second)}
		if s.bucket != nil {
			s.restore.Status.SnapshotURL = s.bucket.URL(s.key)
		}
		if err := s.status.Write(ctx); err != nil {
			return err
		}
		r.Recorder.Eventf(s.hc, nil, corev1.EventTypeNormal, "EtcdRestoreStarted", "Restore", "EtcdRestore %s: etcd goes back to %s", s.restore.Name, source(s.restore))
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.hcp.Namespace, Name: etcdbackup.RestoreSecret}
	err := r.Reader.Get(ctx, key, secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Secret %s: %w", key.Name, err)
	}
	signed, parseErr := time.Parse(time.RFC3339, string(secret.Data[signedKey]))
	if err == nil && parseErr == nil && secret.Annotations[hyperv1.EtcdRestoreAnnotation] == string(s.restore.UID) && r.Clock.Since(signed) < resign {
		return nil
	}
	data, signErr := r.signed(ctx, s)
	if signErr != nil {
		return signErr
	}
	before := secret.DeepCopy()
	secret.Namespace, secret.Name, secret.Data = key.Namespace, key.Name, data
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, hyperv1.EtcdRestoreAnnotation, string(s.restore.UID))
	if err == nil {
		err = r.Client.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	} else {
		err = r.Client.Create(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s: %w", key.Name, err)
	}
	return nil
}

// source is what the cluster goes back to, for users.
func source(r *hyperv1.EtcdRestore) string {
	if r.Spec.Member != "" {
		return "the data of " + r.Spec.Member
	}
	return r.Status.SnapshotURL
}

// signed returns the content of the Secret.
func (r *Reconciler) signed(ctx context.Context, s *scope) (map[string][]byte, error) {
	spec := s.restore.Spec
	request := etcdbackup.Restore{ID: string(s.restore.UID), Member: spec.Member, ReplaceVolumes: spec.ReplaceVolumes, Revisions: revisions(s.restore)}
	content := func() map[string][]byte {
		return map[string][]byte{etcdbackup.RestoreKey: request.Encode(), signedKey: []byte(r.Clock.Now().UTC().Format(time.RFC3339))}
	}
	if spec.Member != "" {
		return content(), nil
	}
	if err := r.openBucket(ctx, s); err != nil {
		return nil, err
	}
	object, err := s.bucket.Describe(ctx, s.key)
	if err != nil {
		return nil, unreadable(err)
	}
	url, err := s.bucket.ObjectURL(ctx, s.key, urlExpires)
	if err != nil {
		return nil, unreadable(err)
	}
	request.URL = url + "#sha256=" + object.SHA256
	return content(), nil
}

// revisions is what a restore adds to the revision of the snapshot: the microseconds since 1970. Clients have seen revisions after the
// snapshot, perhaps of an earlier restore of the same one, and must not mistake them for revisions of the new history. etcd makes fewer than
// a million revisions each second.
func revisions(r *hyperv1.EtcdRestore) uint64 {
	return uint64(r.Status.StartTime.UnixMicro())
}

// restored reports whether the cluster runs with the backup, or is about to.
func (s *scope) restored() bool {
	return s.hcp.Status.EtcdRestore == string(s.restore.UID) && s.hcp.SleepPhase() == hyperv1.SleepPhaseAwake &&
		meta.IsStatusConditionTrue(s.hcp.Status.Conditions, hyperv1.EtcdAvailable) && meta.IsStatusConditionTrue(s.hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable)
}

// awaitControlPlane waits until the cluster runs with the backup.
func (r *Reconciler) awaitControlPlane(_ context.Context, s *scope) error {
	switch {
	case s.restored():
	case s.hcp.Status.EtcdRestore != string(s.restore.UID):
		return reconcile.Wait(pollInterval, hyperv1.StoppingControlPlaneReason, "waiting until the control plane has no pods: %s", conditionMessage(s.hc.Status.Conditions, hyperv1.HostedClusterAsleep))
	case s.hcp.Sleeps():
		return reconcile.Wait(pollInterval, hyperv1.RestoreInProgressReason, "the cluster sleeps: etcd begins with the backup when it wakes")
	default:
		return reconcile.Wait(pollInterval, hyperv1.RestoreInProgressReason, "etcd begins with the backup: %s", conditionMessage(s.hcp.Status.Conditions, hyperv1.EtcdAvailable))
	}
	if s.restore.Status.CompletionTime == nil {
		s.restore.Status.CompletionTime = &metav1.Time{Time: r.Clock.Now()}
		r.Recorder.Eventf(s.hc, nil, corev1.EventTypeNormal, hyperv1.EtcdRestored, "Restore", "EtcdRestore %s: the cluster runs with %s", s.restore.Name, source(s.restore))
	}
	return nil
}

// report names what a complete restore has restored.
func report(s *scope, steps reconcile.Report, conditions *reconcile.Conditions) {
	if st := s.restore.Status; st.CompletionTime != nil && steps.Done() && !hyperv1.IsRestoreFinished(s.restore) {
		conditions.Set(hyperv1.EtcdRestored, metav1.ConditionTrue, hyperv1.RestoreSucceededReason,
			fmt.Sprintf("the cluster runs with %s, after %s", source(s.restore), st.CompletionTime.Sub(st.StartTime.Time).Round(time.Second)))
	}
}

func conditionMessage(conditions []metav1.Condition, conditionType string) string {
	if c := meta.FindStatusCondition(conditions, conditionType); c != nil && c.Message != "" {
		return c.Message
	}
	return "it starts"
}

// removeRequest removes the Secret of an ended restore.
func (r *Reconciler) removeRequest(ctx context.Context, s *scope) error {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.plane(s.restore.Spec.HostedClusterName).Namespace, Name: etcdbackup.RestoreSecret}
	err := r.Reader.Get(ctx, key, secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Secret %s: %w", key.Name, err)
	}
	if err == nil && secret.Annotations[hyperv1.EtcdRestoreAnnotation] == string(s.restore.UID) {
		if err := reconcile.Delete(ctx, r.Client, secret); err != nil {
			return err
		}
	}
	return s.status.RemoveFinalizer(ctx, hyperv1.EtcdRestoreFinalizer)
}
