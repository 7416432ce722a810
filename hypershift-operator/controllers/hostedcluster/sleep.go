package hostedcluster

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/etcdrestores"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/sleep"
)

// gatherSleep decides whether the cluster sleeps. The phase counts as soon as the HostedControlPlane has it: ensureControlPlane
// records it, and this reconcile already acts on it, except that Cluster API is stopped only after that.
func (r *Reconciler) gatherSleep(ctx context.Context, s *scope) (err error) {
	f := sleep.Facts{Annotations: s.hc.Annotations, Now: r.Clock.Now(), Phase: s.hcp.SleepPhase()}
	if s.hcp != nil {
		f.Restore = !s.deleting() && etcdrestores.Stops(s.restore, s.hcp)
		f.Initialized = s.hcp.Status.Initialized
		f.Ready = meta.IsStatusConditionTrue(s.hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable)
	}
	s.sleep = sleep.Decide(f)
	if r.MissingCRDs != "" || s.sleep.Phase == hyperv1.SleepPhaseAwake {
		return nil
	}
	if s.machines, err = r.capi.RunningMachines(ctx, s.plane); err != nil {
		return err
	}
	f.Machines = len(s.machines) > 0
	s.sleep = sleep.Decide(f)
	return nil
}
