package defragmentation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/metrics"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// API contains the etcd calls of maintenance.
type API interface {
	Status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error)
	Defragment(ctx context.Context, endpoint string) (*clientv3.DefragmentResponse, error)
	AlarmList(context.Context) (*clientv3.AlarmResponse, error)
	AlarmDisarm(context.Context, *clientv3.AlarmMember) (*clientv3.AlarmResponse, error)
	io.Closer
}

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Secrets are read past the cache, once in a while.
	Secrets  client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Connect returns a client of the members; nil connects to the cluster's members.
	Connect func(context.Context, *hyperv1.HostedControlPlane) (API, error)
}

const (
	// interval is how often the members are checked, and pause how long a member is
	// left alone after a defragmentation before the next one.
	interval = 10 * time.Minute
	pause    = time.Minute
	// firstCheck is when the members are checked after the start of the operator. A check also measures the databases, so that
	// a restart does not leave a long gap in their metrics.
	firstCheck = time.Minute
	// statusTimeout is how long the members may take to report their status, and
	// copyTimeout how long a defragmentation may take: minutes for the largest database.
	statusTimeout = 15 * time.Second
	copyTimeout   = 10 * time.Minute
)

// Reconciler defragments the etcd of a control plane.
type Reconciler struct {
	Options
	// checked is when a control plane was checked. One reconcile runs at a time.
	checked map[client.ObjectKey]time.Time
}

// scope holds the facts of one reconcile.
type scope struct {
	hcp *hyperv1.HostedControlPlane
	// more is true if there may be another member to defragment. Set by maintain.
	more bool
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{Options: opts, checked: map[client.ObjectKey]time.Time{}}
	if r.Connect == nil {
		r.Connect = r.connect
	}
	steps := []reconcile.Step[*scope]{{Name: "etcd databases", Run: r.maintain}}
	return &Controller{
		Name: "defragmentation", Client: opts.Client, Clock: opts.Clock,
		Scope: r.scope,
		Phase: func(*scope) []reconcile.Step[*scope] { return steps },
		Resync: func(s *scope) time.Duration {
			if s.more {
				return pause
			}
			return interval
		},
		Timeout: copyTimeout,
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	return c.Builder(mgr).For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).Complete(c)
}

// scope skips a control plane with members that need no check yet. A new cluster needs no defragmentation, and a change of the spec is no
// reason for a check.
func (r *Reconciler) scope(_ context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
	key, now := client.ObjectKeyFromObject(hcp), r.Clock.Now()
	if hcp.Spec.Etcd.ManagementType == hyperv1.Unmanaged || !hcp.DeletionTimestamp.IsZero() {
		delete(r.checked, key)
		return nil, reconcile.Skip(0)
	}
	if paused, remaining := hcp.Spec.PausedUntil.Paused(now); paused {
		return nil, reconcile.Skip(remaining)
	}
	if hcp.Sleeps() {
		return nil, reconcile.Skip(interval)
	}
	last, exists := r.checked[key]
	if !exists {
		last = now.Add(firstCheck - interval)
		r.checked[key] = last
	}
	if wait := interval - now.Sub(last); wait > 0 {
		return nil, reconcile.Skip(wait)
	}
	return &scope{hcp: hcp}, nil
}

func (r *Reconciler) maintain(ctx context.Context, s *scope) error {
	key := client.ObjectKeyFromObject(s.hcp)
	r.checked[key] = r.Clock.Now()
	more, err := r.maintainOne(ctx, s.hcp)
	if err != nil {
		// EtcdAvailable reports a member that does not answer.
		ctrl.LoggerFrom(ctx).Info("The databases of etcd are left as they are", "because", err.Error())
	}
	if s.more = more; more {
		r.checked[key] = r.Clock.Now().Add(pause - interval)
	}
	return nil
}

// maintainOne does one thing; more is true if there may be another.
func (r *Reconciler) maintainOne(ctx context.Context, hcp *hyperv1.HostedControlPlane) (more bool, err error) {
	api, err := r.Connect(ctx, hcp)
	if err != nil {
		return false, err
	}
	defer api.Close()
	statusCtx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	members, err := statuses(statusCtx, api, etcd.Of(hcp))
	if err != nil {
		return false, err
	}
	for _, m := range members {
		metrics.EtcdMember(hcp, m.name, m.DbSize, m.DbSizeInUse, m.DbSizeQuota)
	}
	if !agree(members) {
		return false, errors.New("its members do not all follow the same leader")
	}
	alarms, err := api.AlarmList(statusCtx)
	if err != nil {
		return false, fmt.Errorf("listing the alarms of etcd: %w", err)
	}
	full := aboutSpace(alarms.Alarms)
	if m, ok := next(members, len(full) > 0); ok {
		return true, r.defragment(ctx, hcp, api, m)
	}
	if len(full) > 0 && hasRoom(members) {
		return false, r.disarm(statusCtx, hcp, api, full)
	}
	return false, nil
}

func aboutSpace(alarms []*etcdserverpb.AlarmMember) (full []*clientv3.AlarmMember) {
	for _, a := range alarms {
		if a.Alarm == etcdserverpb.AlarmType_NOSPACE {
			full = append(full, (*clientv3.AlarmMember)(a))
		}
	}
	return full
}

// statuses returns the status of each member.
func statuses(ctx context.Context, api API, cluster etcd.Cluster) ([]member, error) {
	var members []member
	for _, name := range cluster.Members() {
		endpoint := cluster.ClientURL(name)
		status, err := api.Status(ctx, endpoint)
		if err != nil {
			return nil, fmt.Errorf("getting the status of %s: %w", name, err)
		}
		members = append(members, member{name: name, endpoint: endpoint, StatusResponse: status})
	}
	return members, nil
}

func (r *Reconciler) defragment(ctx context.Context, hcp *hyperv1.HostedControlPlane, api API, m member) error {
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	ctrl.LoggerFrom(ctx).Info("Defragmenting", "member", m.name, "size", m.DbSize, "inUse", m.DbSizeInUse)
	if _, err := api.Defragment(ctx, m.endpoint); err != nil {
		return fmt.Errorf("defragmenting %s: %w", m.name, err)
	}
	r.Recorder.Eventf(hcp, nil, corev1.EventTypeNormal, "EtcdDefragmented", "Defragment",
		"the database of %s had %d MiB, of which %d MiB were in use", m.name, m.DbSize>>20, m.DbSizeInUse>>20)
	return nil
}

// disarm turns off the alarm about space, so that etcd accepts writes again.
func (r *Reconciler) disarm(ctx context.Context, hcp *hyperv1.HostedControlPlane, api API, alarms []*clientv3.AlarmMember) error {
	for _, alarm := range alarms {
		if _, err := api.AlarmDisarm(ctx, alarm); err != nil {
			return fmt.Errorf("turning off the alarm about space of member %x: %w", alarm.MemberID, err)
		}
	}
	r.Recorder.Eventf(hcp, nil, corev1.EventTypeNormal, "EtcdHasSpace", "Disarm", "etcd was full and took no writes; there is space again, and it takes them")
	return nil
}

// connect returns a client of the members with the certificate of the operator.
func (r *Reconciler) connect(ctx context.Context, hcp *hyperv1.HostedControlPlane) (API, error) {
	return etcd.Open(ctx, r.Secrets, hcp)
}
