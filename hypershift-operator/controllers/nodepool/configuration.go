package nodepool

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// checkConfiguration blocks on errors of the spec, with what to change. The CRD
// rejects most of them; what passes it was written before a rule existed, or needs
// another object to detect.
func (r *Reconciler) checkConfiguration(_ context.Context, s *scope) error {
	if r.missing != "" {
		return reconcile.Block(hyperv1.UnsupportedClusterReason, "the management cluster has no kind %s, by which machines are made: install the CRDs of Cluster API, and start the hypershift-operator again", r.missing)
	}
	return blockOn(validation.NodePool(s.np, s.hc, defaultsOf(s.np)))
}

// blockOn returns nil without errors.
func blockOn(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return reconcile.Block(validation.Reason(errs), "%s", validation.Message(errs))
}

// defaultsOf returns what validation needs in addition to the spec of a pool.
func defaultsOf(np *hyperv1.NodePool) validation.NodePoolDefaults {
	d := validation.NodePoolDefaults{Strategy: strategyOf(np), InstanceTags: 1}
	d.MaxSurge, d.MaxUnavailable = rollingUpdateOf(np)
	if aws := np.Spec.Platform.AWS; aws != nil && marketOf(aws.Placement) == hyperv1.MarketTypeSpot {
		d.InstanceTags++
	}
	return d
}
