package nodepool

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/deletion"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machines"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/repair"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/requirements"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Options are the dependencies and settings of a Reconciler.
type Options struct {
	// Client reads from the cache, which contains only our own objects.
	Client client.Client
	// Reader reads the user's ConfigMaps, whose change no watch reports here, and objects that may not be in the cache yet.
	Reader client.Reader
	// UserObjects reads the user's pull secret.
	UserObjects client.Reader
	Scheme      *runtime.Scheme
	Recorder    events.EventRecorder
	Clock       clock.PassiveClock

	Releases release.Resolver
	// InstanceTypes is nil if this installation may not call EC2.
	InstanceTypes requirements.InstanceTypes

	// Resync is the interval at which a pool is reconciled without a change.
	Resync time.Duration
}

// Reconciler manages NodePools.
type Reconciler struct {
	Options
	releases requirements.Releases
	machines machines.Applier
	repair   repair.Repair
	deletion deletion.Deletion
	// missing names the CRDs that the management cluster lacks. Set by Setup.
	missing string
}

func newReconciler(o Options) *Reconciler {
	return &Reconciler{
		Options:  o,
		releases: requirements.Releases{Client: o.Client, UserObjects: o.UserObjects, Resolver: o.Releases},
		machines: machines.Applier{Client: o.Client, Apply: apply.New(o.Client, o.Scheme, names.HypershiftOperator), Recorder: o.Recorder},
		repair:   repair.Repair{Client: o.Client, Recorder: o.Recorder, Clock: o.Clock},
		deletion: deletion.Deletion{Client: o.Client, Reader: o.Reader, Clock: o.Clock},
	}
}

// Controller reconciles NodePools.
type Controller = reconcile.Controller[*hyperv1.NodePool, *scope]

// New returns the controller, for a management cluster that has all CRDs.
func New(o Options) *Controller { return newReconciler(o).controller() }

func (r *Reconciler) controller() *Controller {
	live, paused, deleting := r.live(), r.paused(), r.deleting()
	return &Controller{
		Name: "nodepool", Client: r.Client, Reader: r.Reader, Clock: r.Clock,
		Gone: r.deleteLost,
		Scope: func(ctx context.Context, np *hyperv1.NodePool, status *reconcile.Writer[*hyperv1.NodePool]) (*scope, error) {
			s, err := r.gather(ctx, np)
			if s != nil {
				s.status = status
			}
			return s, err
		},
		Phase: func(s *scope) []reconcile.Step[*scope] {
			switch {
			case s.Dying() && r.missing != "":
				return deleting[len(deleting)-1:] // there are no objects of kinds that are not served
			case s.Dying():
				return deleting
			case s.paused:
				return paused
			}
			return live
		},
		FieldOwner: names.HypershiftOperator, Fields: func(np *hyperv1.NodePool) any { return np.Status },
		Spacing: reconcile.DefaultSpacing, CanWait: []string{"replicas", "selector", "version", "nodesInfo"},
		Status: r.summarize, Classify: classifier,
		Resync: func(s *scope) time.Duration {
			if spec := s.NodePool.Spec; len(spec.Config)+len(spec.TuningConfig) > 0 && !s.paused {
				return min(r.Resync, requirements.PollInterval)
			}
			return r.Resync
		},
		NoLaterThan: func(s *scope) time.Duration { return cmp.Or(s.pauseLeft, s.repair.RequeueAfter) },
		MaxBackoff:  5 * time.Minute,
		Workers:     workers,
	}
}
