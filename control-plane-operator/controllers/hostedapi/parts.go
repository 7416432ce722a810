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

// explain adds to a problem what the components behind it say of themselves.
func (r *Reconciler) explain(ctx context.Context, s *scope) (err error) {
	hcp, said := s.hcp, &s.answer
	if said.problem == nil {
		return nil
	}
	if said.server, err = r.trouble(ctx, hcp, names.KubeAPIServer); err != nil {
		return err
	}
	if said.etcd = r.corruption(ctx, hcp, said); said.etcd != nil {
		return nil
	}
	said.etcd, err = r.trouble(ctx, hcp, names.Etcd)
	return err
}

// corruption is that members of etcd differ, which etcd reports in an alarm. It is
// asked when the API server cannot read from it. An etcd that does not answer has
// other problems, which its pods report.
func (r *Reconciler) corruption(ctx context.Context, hcp *hyperv1.HostedControlPlane, said *answer) *problem {
	if fine, named := said.checks["etcd"]; fine || !named || hcp.Spec.Etcd.ManagementType == hyperv1.Unmanaged {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	corrupt, err := r.CorruptMembers(ctx, hcp)
	if err != nil || len(corrupt) == 0 {
		return nil
	}
	return &problem{hyperv1.EtcdDataCorruptReason, "the data of " + strings.Join(corrupt, ", ") + " differs from that of the other members, and etcd has stopped: " +
		"replace the volume, as docs/control-plane.md says"}
}

// trouble is what keeps a component from its work, in the words of its pods; nil
// if it does its work, is on its way, or is not there.
func (r *Reconciler) trouble(ctx context.Context, hcp *hyperv1.HostedControlPlane, name string) (*problem, error) {
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
