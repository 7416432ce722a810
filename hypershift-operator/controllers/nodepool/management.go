package nodepool

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkManagement refuses upgrade types that are not implemented.
func (r *Reconciler) checkManagement(_ context.Context, s *scope) error {
	switch t := s.np.Spec.Management.UpgradeType; t {
	case hyperv1.UpgradeTypeReplace:
		return nil
	case hyperv1.UpgradeTypeInPlace:
		return reconcile.Block(hyperv1.NodePoolReservedReason,
			"management.upgradeType InPlace is kept for later, and no machines are made: create a pool with Replace (labels, taints, tags and timeouts are changed in place there too)")
	default:
		return reconcile.Block(hyperv1.NodePoolValidationFailedReason, "management.upgradeType is %q: create a pool with Replace", t)
	}
}

func strategyOf(np *hyperv1.NodePool) hyperv1.UpgradeStrategy {
	if r := np.Spec.Management.Replace; r != nil && r.Strategy != "" {
		return r.Strategy
	}
	return hyperv1.UpgradeStrategyRollingUpdate
}

// rollingUpdateOf returns maxSurge and maxUnavailable, with the defaults of the API.
func rollingUpdateOf(np *hyperv1.NodePool) (surge, unavailable intstr.IntOrString) {
	surge, unavailable = intstr.FromInt32(1), intstr.FromInt32(0)
	if r := np.Spec.Management.Replace; r != nil && r.RollingUpdate != nil {
		if r.RollingUpdate.MaxSurge != nil {
			surge = *r.RollingUpdate.MaxSurge
		}
		if r.RollingUpdate.MaxUnavailable != nil {
			unavailable = *r.RollingUpdate.MaxUnavailable
		}
	}
	return surge, unavailable
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
