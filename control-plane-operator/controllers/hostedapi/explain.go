package hostedapi

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// explain adds the reports of the components that may cause the problem.
func (r *Reconciler) explain(ctx context.Context, s *scope) (err error) {
	hcp, health := s.hcp, &s.answer
	if health.problem == nil || hcp.Sleeps() {
		return nil
	}
	if health.server, err = r.componentProblem(ctx, hcp, names.KubeAPIServer); err != nil {
		return err
	}
	if health.etcd = r.corruption(ctx, hcp, health); health.etcd != nil {
		return nil
	}
	health.etcd, err = r.componentProblem(ctx, hcp, names.Etcd)
	return err
}

// corruption returns a problem if etcd reports that the data of its members differs. The alarms are read only when the
// API server cannot read from etcd. An etcd that does not respond has other problems, which its pods report.
func (r *Reconciler) corruption(ctx context.Context, hcp *hyperv1.HostedControlPlane, health *answer) *problem {
	if fine, named := health.checks["etcd"]; fine || !named || hcp.Spec.Etcd.ManagementType == hyperv1.Unmanaged {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	corrupt, err := r.CorruptMembers(ctx, hcp)
	if err != nil || len(corrupt) == 0 {
		return nil
	}
	return &problem{hyperv1.EtcdDataCorruptReason, "the data of " + strings.Join(corrupt, ", ") + " differs from that of the other members, and etcd has stopped: " +
		"replace the volume as described in docs/etcd.md"}
}

// componentProblem returns the problem that a component reports. It is nil if the component is available, is being rolled out, or
// does not exist.
func (r *Reconciler) componentProblem(ctx context.Context, hcp *hyperv1.HostedControlPlane, name string) (*problem, error) {
	part := &hyperv1.ControlPlaneComponent{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: name}, part); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("getting component %s: %w", name, err)
		}
		return nil, nil
	}
	c := meta.FindStatusCondition(part.Status.Conditions, hyperv1.ControlPlaneComponentAvailable)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil, nil
	}
	switch c.Reason {
	case hyperv1.WaitingForRolloutCompleteReason, hyperv1.WaitingForDependenciesReason:
		return nil, nil
	}
	return &problem{c.Reason, c.Message}, nil
}
