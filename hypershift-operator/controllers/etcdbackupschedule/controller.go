package etcdbackupschedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// defaultCount is the default of spec.retention.count.
	defaultCount = 7
	// ageInterval is how often the age of backups is compared.
	ageInterval = time.Hour
	// named is how many clusters a message names.
	named = 5
)

// Options configure a Reconciler.
type Options struct {
	Client   client.Client
	Reader   client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Namespace is the namespace of the hypershift-operator. Its schedules select clusters of all namespaces.
	Namespace string
}

// Reconciler makes backups at scheduled times.
type Reconciler struct{ Options }

// Controller reconciles EtcdBackupSchedules.
type Controller = reconcile.Controller[*hyperv1.EtcdBackupSchedule, *scope]

// New returns the controller.
func New(o Options) *Controller {
	r := &Reconciler{o}
	live := []reconcile.Step[*scope]{
		{Name: "schedule", Run: r.readSchedule},
		{Name: "clusters", Run: r.findClusters},
		{Name: "finalizers", Run: r.ensureFinalizers},
		{Name: "backups", Run: r.ensureBackups},
		{Name: "retention", Run: r.expire},
	}
	deleting := []reconcile.Step[*scope]{{Name: "clusters", Run: r.findClusters}, {Name: "finalizers", Run: r.removeFinalizers}}
	return &Controller{
		Name: "etcdbackupschedule", Client: o.Client, Reader: o.Reader, Clock: o.Clock,
		Scope: func(_ context.Context, obj *hyperv1.EtcdBackupSchedule, status *reconcile.Writer[*hyperv1.EtcdBackupSchedule]) (*scope, error) {
			if obj.Unreadable() != "" && obj.DeletionTimestamp.IsZero() {
				return nil, reconcile.Skip(0)
			}
			return &scope{object: obj, status: status, now: r.Clock.Now()}, nil
		},
		Phase: func(s *scope) []reconcile.Step[*scope] {
			if s.deleting() {
				return deleting
			}
			return live
		},
		FieldOwner: names.HypershiftOperator, Fields: func(s *hyperv1.EtcdBackupSchedule) any { return s.Status },
		Summary: func(s *scope) string {
			if s.deleting() {
				return ""
			}
			return hyperv1.BackupsOnSchedule
		},
		Status:      report,
		NoLaterThan: func(s *scope) time.Duration { return s.wake },
		MaxBackoff:  5 * time.Minute,
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, o Options) error {
	c := New(o)
	all := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []ctrlreconcile.Request { return schedules(ctx, o.Client) })
	return c.Builder(mgr).
		For(&hyperv1.EtcdBackupSchedule{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&hyperv1.HostedCluster{}, all, builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() || !mapsEqual(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
		}})).
		Watches(&hyperv1.HCPEtcdBackup{}, all, builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { return false },
			UpdateFunc: func(e event.UpdateEvent) bool {
				was, is := e.ObjectOld.(*hyperv1.HCPEtcdBackup), e.ObjectNew.(*hyperv1.HCPEtcdBackup)
				return is.Labels[hyperv1.EtcdBackupScheduleLabel] != "" && hyperv1.IsBackupFinished(was) != hyperv1.IsBackupFinished(is)
			},
		})).
		Complete(c)
}

func mapsEqual(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// schedules returns requests for all schedules: there are few.
func schedules(ctx context.Context, c client.Reader) []ctrlreconcile.Request {
	var list hyperv1.EtcdBackupScheduleList
	if err := c.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing EtcdBackupSchedules to wake up")
		return nil
	}
	var requests []ctrlreconcile.Request
	for i := range list.Items {
		requests = append(requests, ctrlreconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// scope holds the facts of one reconcile.
type scope struct {
	object *hyperv1.EtcdBackupSchedule
	status *reconcile.Writer[*hyperv1.EtcdBackupSchedule]
	now    time.Time

	times *times // readSchedule
	last  time.Time
	// clusters are the selected HostedClusters with a control plane. Set by findClusters.
	clusters []*cluster
	// missed are clusters without a backup. Set by ensureBackups.
	missed []string
	// wake is when the next cluster has its turn, or is missed.
	wake time.Duration
}

// cluster is a selected HostedCluster with its backups of this schedule. They are those of the cache, and copied before they are written.
type cluster struct {
	*hyperv1.HostedCluster
	namespace string
	// backups are ordered by their scheduled time.
	backups []*hyperv1.HCPEtcdBackup
}

func (s *scope) deleting() bool { return !s.object.DeletionTimestamp.IsZero() }

// wakeIn makes the schedule be reconciled again after that time at the latest.
func (s *scope) wakeIn(after time.Duration) {
	if after > 0 && (s.wake == 0 || after < s.wake) {
		s.wake = after
	}
}

// readSchedule reads the spec.
func (r *Reconciler) readSchedule(_ context.Context, s *scope) error {
	spec := &s.object.Spec
	if s3 := spec.Storage.S3; s3 != nil && s3.RoleARN == "" && s.object.Namespace != r.Namespace {
		return reconcile.Block(hyperv1.InvalidScheduleReason, "spec.storage.s3.credentials is a Secret of the namespace %s, which this schedule may not use: set roleARN", r.Namespace)
	}
	var err error
	if s.times, err = parse(spec, s.now); err != nil {
		return reconcile.Block(hyperv1.InvalidScheduleReason, "%s", err)
	}
	s.last = s.times.last(s.now)
	next := s.times.schedule.Next(s.now)
	s.object.Status.NextScheduleTime = &metav1.Time{Time: next}
	s.object.Status.LastScheduleTime = nil
	if !s.last.IsZero() && s.last.After(s.object.CreationTimestamp.Time) {
		s.object.Status.LastScheduleTime = &metav1.Time{Time: s.last}
	}
	s.wakeIn(next.Sub(s.now))
	return nil
}

// findClusters finds the selected clusters and their backups.
func (r *Reconciler) findClusters(ctx context.Context, s *scope) error {
	selector, err := metav1.LabelSelectorAsSelector(&s.object.Spec.HostedClusterSelector)
	if err != nil {
		return reconcile.Block(hyperv1.InvalidScheduleReason, "spec.hostedClusterSelector cannot be read: %s", err)
	}
	options := []client.ListOption{client.MatchingLabelsSelector{Selector: selector}}
	if s.object.Namespace != r.Namespace {
		options = append(options, client.InNamespace(s.object.Namespace))
	}
	var list hyperv1.HostedClusterList
	if err := r.Client.List(ctx, &list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return fmt.Errorf("listing HostedClusters: %w", err)
	}
	var backups hyperv1.HCPEtcdBackupList
	if err := r.Client.List(ctx, &backups, client.MatchingLabels{hyperv1.EtcdBackupScheduleLabel: string(s.object.UID)}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing backups: %w", err)
	}
	byNamespace := map[string][]*hyperv1.HCPEtcdBackup{}
	for i := range backups.Items {
		if b := &backups.Items[i]; b.DeletionTimestamp.IsZero() {
			byNamespace[b.Namespace] = append(byNamespace[b.Namespace], b)
		}
	}
	for i := range list.Items {
		hc := &list.Items[i]
		c := &cluster{HostedCluster: hc, namespace: names.ControlPlaneNamespace(hc.Namespace, hc.Name)}
		c.backups = byNamespace[c.namespace]
		slices.SortFunc(c.backups, func(a, b *hyperv1.HCPEtcdBackup) int { return scheduledTime(a).Compare(scheduledTime(b)) })
		s.clusters = append(s.clusters, c)
	}
	s.object.Status.Clusters = int32(len(s.clusters)) //nolint:gosec // it fits into memory
	return nil
}

// scheduledTime returns the time that a backup is of.
func scheduledTime(b *hyperv1.HCPEtcdBackup) time.Time {
	at, err := time.Parse(time.RFC3339, b.Annotations[hyperv1.ScheduledTimeAnnotation])
	if err != nil {
		return b.CreationTimestamp.Time
	}
	return at
}

// ensureFinalizers makes the deletion of clusters wait for a last backup, if the schedule asks for it.
func (r *Reconciler) ensureFinalizers(ctx context.Context, s *scope) error {
	if !s.object.Spec.BeforeDeletion {
		return r.removeFinalizers(ctx, s)
	}
	if err := s.status.AddFinalizer(ctx, hyperv1.EtcdBackupScheduleFinalizer); err != nil {
		return err
	}
	for _, c := range s.clusters {
		if c.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(c, hyperv1.LastBackupFinalizer) {
			patch := mergepatch.Metadata(map[string]any{"finalizers": append(slices.Clone(c.Finalizers), hyperv1.LastBackupFinalizer), "resourceVersion": c.ResourceVersion})
			if err := r.Client.Patch(ctx, c.DeepCopy(), patch); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("adding a finalizer to HostedCluster %s: %w", client.ObjectKeyFromObject(c), err)
			}
		}
	}
	return nil
}

// removeFinalizers lets clusters be deleted without a last backup.
func (r *Reconciler) removeFinalizers(ctx context.Context, s *scope) error {
	if !controllerutil.ContainsFinalizer(s.object, hyperv1.EtcdBackupScheduleFinalizer) {
		return nil
	}
	for _, c := range s.clusters {
		if err := reconcile.RemoveFinalizer(ctx, r.Client, c.DeepCopy(), hyperv1.LastBackupFinalizer); err != nil {
			return err
		}
	}
	return s.status.RemoveFinalizer(ctx, hyperv1.EtcdBackupScheduleFinalizer)
}

// ensureBackups creates the backups that are due. An error of one cluster does not stop the others.
func (r *Reconciler) ensureBackups(ctx context.Context, s *scope) error {
	var errs []error
	for _, c := range s.clusters {
		if !c.DeletionTimestamp.IsZero() {
			errs = append(errs, r.ensureLastBackup(ctx, s, c))
		} else if !s.object.Spec.Suspend {
			errs = append(errs, r.ensureBackup(ctx, s, c))
		}
	}
	s.object.Status.Missed = int32(len(s.missed)) //nolint:gosec // it fits into memory
	return errors.Join(errs...)
}

// ensureBackup creates the backup of the last scheduled time.
func (r *Reconciler) ensureBackup(ctx context.Context, s *scope, c *cluster) error {
	// What was scheduled before the cluster or the schedule existed is not made up for.
	if s.last.IsZero() || s.last.Before(s.object.CreationTimestamp.Time) || s.last.Before(c.CreationTimestamp.Time) {
		return nil
	}
	turn := s.last.Add(s.times.offset(string(c.UID)))
	if left := turn.Sub(s.now); left > 0 {
		s.wakeIn(left)
		return nil
	}
	existing := slices.IndexFunc(c.backups, func(b *hyperv1.HCPEtcdBackup) bool { return !scheduledTime(b).Before(s.last) })
	switch left := turn.Add(grace).Sub(s.now); {
	case existing >= 0 && hyperv1.IsBackupStored(c.backups[existing]):
		return nil
	case left > 0:
		s.wakeIn(left)
	case meta.IsStatusConditionTrue(c.Status.Conditions, hyperv1.HostedClusterAsleep):
		// etcd has no pods, and its data does not change: the backup is made when the cluster is awake.
		s.wakeIn(grace)
	default:
		s.missed = append(s.missed, client.ObjectKeyFromObject(c).String())
	}
	if existing >= 0 {
		return nil
	}
	return r.create(ctx, s, c, s.last, s.last.UTC().Format("200601021504"))
}

// create creates the backup of a time. A cluster without a control plane has none.
func (r *Reconciler) create(ctx context.Context, s *scope, c *cluster, at time.Time, suffix string) error {
	name := s.object.Name
	b := &hyperv1.HCPEtcdBackup{
		ObjectMeta: metav1.ObjectMeta{
			// Schedules of different namespaces may have one name.
			Namespace: c.namespace, Name: fmt.Sprintf("%s-%.5s-%s", name[:min(len(name), 230)], s.object.UID, suffix),
			Labels:      map[string]string{hyperv1.EtcdBackupScheduleLabel: string(s.object.UID)},
			Annotations: map[string]string{hyperv1.ScheduledTimeAnnotation: at.UTC().Format(time.RFC3339)},
		},
		Spec: hyperv1.HCPEtcdBackupSpec{Storage: *s.object.Spec.Storage.DeepCopy()},
	}
	hcp := &hyperv1.HostedControlPlane{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: c.Name}, hcp)
	if err == nil {
		err = r.Client.Create(ctx, b)
	}
	if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("creating HCPEtcdBackup %s: %w", client.ObjectKeyFromObject(b), err)
	}
	return nil
}

// ensureLastBackup makes the backup for which the deletion of a cluster waits, and ends the wait. The deletion bounds it.
func (r *Reconciler) ensureLastBackup(ctx context.Context, s *scope, c *cluster) error {
	if !controllerutil.ContainsFinalizer(c, hyperv1.LastBackupFinalizer) {
		return nil
	}
	existing := slices.IndexFunc(c.backups, func(b *hyperv1.HCPEtcdBackup) bool { return !scheduledTime(b).Before(c.DeletionTimestamp.Time) })
	switch {
	case existing < 0:
		return r.create(ctx, s, c, c.DeletionTimestamp.Time, "last")
	case !hyperv1.IsBackupFinished(c.backups[existing]):
		return nil
	case !hyperv1.IsBackupStored(c.backups[existing]):
		r.Recorder.Eventf(c.HostedCluster, nil, corev1.EventTypeWarning, hyperv1.LastBackupMissingReason, "Delete", "The cluster is deleted without its last backup, which schedule %s should have made", s.object.Name)
	}
	return reconcile.RemoveFinalizer(ctx, r.Client, c.DeepCopy(), hyperv1.LastBackupFinalizer)
}

// expire marks backups that are no longer kept. Failed ones are deleted once there is a later stored one.
func (r *Reconciler) expire(ctx context.Context, s *scope) error {
	retention := s.object.Spec.Retention
	if s.object.Spec.Suspend {
		return nil
	}
	if retention.MaxAge != nil {
		s.wakeIn(ageInterval)
	}
	var errs []error
	for _, c := range s.clusters {
		for _, b := range expired(c.backups, retention, s.now) {
			patch := mergepatch.Metadata(map[string]any{"annotations": map[string]any{hyperv1.EtcdBackupExpiredAnnotation: "true"}})
			if err := r.Client.Patch(ctx, b.DeepCopy(), patch); client.IgnoreNotFound(err) != nil {
				errs = append(errs, fmt.Errorf("marking HCPEtcdBackup %s: %w", client.ObjectKeyFromObject(b), err))
			}
		}
	}
	return errors.Join(errs...)
}

// expired returns those of the backups of a cluster, which are ordered by time, that are no longer kept.
func expired(backups []*hyperv1.HCPEtcdBackup, retention hyperv1.EtcdBackupRetention, now time.Time) (doomed []*hyperv1.HCPEtcdBackup) {
	count := int(retention.Count)
	if count == 0 {
		count = defaultCount
	}
	stored := 0
	for _, b := range slices.Backward(backups) {
		switch {
		case !hyperv1.IsBackupFinished(b):
			continue
		case !hyperv1.IsBackupStored(b):
			if stored == 0 {
				continue // its message has the reason why there is no later backup
			}
		default:
			stored++
			old := retention.MaxAge != nil && now.Sub(scheduledTime(b)) > retention.MaxAge.Duration
			if stored == 1 || stored <= count && !old {
				continue
			}
		}
		if b.Annotations[hyperv1.EtcdBackupExpiredAnnotation] != "true" {
			doomed = append(doomed, b)
		}
	}
	return doomed
}

// report sets the condition.
func report(s *scope, steps reconcile.Report, conditions *reconcile.Conditions) {
	if s.deleting() || !steps.Done() {
		return
	}
	switch {
	case s.object.Spec.Suspend:
		conditions.Set(hyperv1.BackupsOnSchedule, metav1.ConditionFalse, hyperv1.SuspendedReason, "spec.suspend is true: no backups are made or deleted")
	case len(s.missed) > 0:
		slices.Sort(s.missed)
		text := strings.Join(s.missed[:min(len(s.missed), named)], ", ")
		if more := len(s.missed) - named; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		conditions.Set(hyperv1.BackupsOnSchedule, metav1.ConditionFalse, hyperv1.BackupsMissedReason, fmt.Sprintf(
			"%d of %d clusters have no stored backup of %s: %s", len(s.missed), len(s.clusters), s.last.UTC().Format(time.RFC3339), text))
	}
}
