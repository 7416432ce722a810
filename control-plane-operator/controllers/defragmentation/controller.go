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
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// API is what maintenance takes.
type API interface {
	Status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error)
	Defragment(ctx context.Context, endpoint string) (*clientv3.DefragmentResponse, error)
	AlarmList(context.Context) (*clientv3.AlarmResponse, error)
	AlarmDisarm(context.Context, *clientv3.AlarmMember) (*clientv3.AlarmResponse, error)
	io.Closer
}

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Secrets are read past the cache, once in a while.
	Secrets  client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Connect returns a client of the members; nil for those of the cluster.
	Connect func(context.Context, *hyperv1.HostedControlPlane) (API, error)
}

const (
	// lookEvery is how often the members are asked how they are, and again how
	// long one has to settle after a copy before the next.
	lookEvery = 10 * time.Minute
	again     = time.Minute
	jitter    = 0.2
	// patience is how long the members have to say how they are, and copying how
	// long a copy may take: several minutes for the largest.
	patience = 15 * time.Second
	copying  = 10 * time.Minute
)

// Reconciler looks after the etcd of a control plane.
type Reconciler struct {
	Options
	// looked is when a control plane has been looked at. One pass runs at a time.
	looked map[client.ObjectKey]time.Time
}

// New returns a Reconciler.
func New(opts Options) *Reconciler {
	r := &Reconciler{Options: opts, looked: map[client.ObjectKey]time.Time{}}
	if r.Connect == nil {
		r.Connect = r.connect
	}
	return r
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	return ctrl.NewControllerManagedBy(mgr).Named("defragmentation").
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		// A copy takes longer than other reconciles may.
		WithOptions(controller.Options{ReconciliationTimeout: copying + time.Minute}).
		Complete(reconcile.AsReconciler(opts.Client, New(opts)))
}

// Reconcile looks after the etcd of one control plane.
func (r *Reconciler) Reconcile(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(hcp)
	if hcp.Spec.Etcd.ManagementType == hyperv1.Unmanaged || !hcp.DeletionTimestamp.IsZero() {
		delete(r.looked, key)
		return ctrl.Result{}, nil
	}
	if paused, remaining := hcp.Spec.PausedUntil.Paused(r.Clock.Now()); paused {
		return ctrl.Result{RequeueAfter: remaining}, nil
	}
	// A new cluster has no holes, and whoever changes its spec asks for nothing here.
	last, known := r.looked[key]
	if !known {
		last = r.Clock.Now()
		r.looked[key] = last
	}
	if left := lookEvery - r.Clock.Since(last); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	r.looked[key] = r.Clock.Now()
	more, err := r.lookAfter(ctx, hcp)
	if err != nil {
		// That a member does not answer is the business of others, who say so.
		ctrl.LoggerFrom(ctx).Info("The databases of etcd are left as they are", "because", err.Error())
	}
	if more {
		r.looked[key] = r.Clock.Now().Add(again - lookEvery)
		return ctrl.Result{RequeueAfter: wait.Jitter(again, jitter)}, nil
	}
	return ctrl.Result{RequeueAfter: wait.Jitter(lookEvery, jitter)}, nil
}

// lookAfter does one thing, and says whether there may be another.
func (r *Reconciler) lookAfter(ctx context.Context, hcp *hyperv1.HostedControlPlane) (more bool, err error) {
	api, err := r.Connect(ctx, hcp)
	if err != nil {
		return false, err
	}
	defer api.Close()
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	members, err := ask(asked, api, etcd.Of(hcp))
	if err != nil {
		return false, err
	}
	measure(hcp.Namespace, members)
	if !agree(members) {
		return false, errors.New("its members do not all follow the same leader")
	}
	alarms, err := api.AlarmList(asked)
	if err != nil {
		return false, fmt.Errorf("listing the alarms of etcd: %w", err)
	}
	full := aboutSpace(alarms.Alarms)
	if m, ok := next(members, len(full) > 0); ok {
		return true, r.defragment(ctx, hcp, api, m)
	}
	if len(full) > 0 && hasRoom(members) {
		return false, r.disarm(asked, hcp, api, full)
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

// ask has each member say how it is.
func ask(ctx context.Context, api API, cluster etcd.Cluster) ([]member, error) {
	var members []member
	for _, name := range cluster.Members() {
		endpoint := cluster.ClientURL(name)
		status, err := api.Status(ctx, endpoint)
		if err != nil {
			return nil, fmt.Errorf("asking %s how it is: %w", name, err)
		}
		members = append(members, member{name: name, endpoint: endpoint, StatusResponse: status})
	}
	return members, nil
}

func (r *Reconciler) defragment(ctx context.Context, hcp *hyperv1.HostedControlPlane, api API, m member) error {
	ctx, cancel := context.WithTimeout(ctx, copying)
	defer cancel()
	ctrl.LoggerFrom(ctx).Info("Defragmenting", "member", m.name, "size", m.DbSize, "inUse", m.DbSizeInUse)
	if _, err := api.Defragment(ctx, m.endpoint); err != nil {
		return fmt.Errorf("defragmenting %s: %w", m.name, err)
	}
	r.Recorder.Eventf(hcp, nil, corev1.EventTypeNormal, "EtcdDefragmented", "Defragment",
		"the database of %s had %d MiB, of which %d MiB were in use", m.name, m.DbSize>>20, m.DbSizeInUse>>20)
	return nil
}

// disarm lets etcd take writes again.
func (r *Reconciler) disarm(ctx context.Context, hcp *hyperv1.HostedControlPlane, api API, alarms []*clientv3.AlarmMember) error {
	for _, alarm := range alarms {
		if _, err := api.AlarmDisarm(ctx, alarm); err != nil {
			return fmt.Errorf("turning off the alarm about space of member %x: %w", alarm.MemberID, err)
		}
	}
	r.Recorder.Eventf(hcp, nil, corev1.EventTypeNormal, "EtcdHasSpace", "Disarm", "etcd was full and took no writes; there is space again, and it takes them")
	return nil
}

// connect reaches the members as who the operator is to them.
func (r *Reconciler) connect(ctx context.Context, hcp *hyperv1.HostedControlPlane) (API, error) {
	return etcd.Open(ctx, r.Secrets, hcp)
}
