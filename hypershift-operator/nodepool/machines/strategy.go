package machines

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Strategy returns the upgrade strategy, with the default of the API.
func Strategy(np *hyperv1.NodePool) hyperv1.UpgradeStrategy {
	if r := np.Spec.Management.Replace; r != nil && r.Strategy != "" {
		return r.Strategy
	}
	return hyperv1.UpgradeStrategyRollingUpdate
}

// RollingUpdate returns maxSurge and maxUnavailable, with the defaults of the API.
func RollingUpdate(np *hyperv1.NodePool) (surge, unavailable intstr.IntOrString) {
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
