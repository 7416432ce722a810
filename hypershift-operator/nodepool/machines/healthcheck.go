package machines

import (
	"cmp"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// Health defines when a machine is broken.
type Health struct {
	// Timeout is how long a Node may be not ready, and Startup how long a machine may take to become a Node.
	Timeout, Startup time.Duration
	// MaxUnhealthy is the number or percentage of broken machines above which none is replaced.
	MaxUnhealthy intstr.IntOrString
}

// HealthOf reads the annotations of the NodePool, or else of the HostedCluster. Errors name the annotation.
func HealthOf(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) (Health, field.ErrorList) {
	h := Health{Timeout: 8 * time.Minute, Startup: 20 * time.Minute, MaxUnhealthy: intstr.FromInt32(2)}
	if Market(np.Spec.Platform.AWS.Placement) == hyperv1.MarketTypeSpot {
		// AWS may stop any number of spot instances at once.
		h.MaxUnhealthy = intstr.FromString("100%")
	}
	var errs field.ErrorList
	valueOf := func(annotation string) string { return cmp.Or(np.Annotations[annotation], hc.Annotations[annotation]) }
	for annotation, into := range map[string]*time.Duration{
		hyperv1.MachineHealthCheckTimeoutAnnotation:            &h.Timeout,
		hyperv1.MachineHealthCheckNodeStartupTimeoutAnnotation: &h.Startup,
	} {
		text := valueOf(annotation)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Second || d > maxTimeout {
			errs = append(errs, invalidAnnotation(annotation, text, "a duration such as 10m"))
			continue
		}
		*into = d
	}
	if text := valueOf(hyperv1.MachineHealthCheckMaxUnhealthyAnnotation); text != "" {
		h.MaxUnhealthy = intstr.Parse(text)
		if n, err := intstr.GetScaledValueFromIntOrPercent(&h.MaxUnhealthy, 100, true); err != nil || n < 0 {
			errs = append(errs, invalidAnnotation(hyperv1.MachineHealthCheckMaxUnhealthyAnnotation, text, "a number or a percentage such as 40%"))
		}
	}
	validation.Sort(errs)
	return h, errs
}

func invalidAnnotation(annotation, value, example string) *field.Error {
	return validation.Errorf(hyperv1.NodePoolValidationFailedReason, field.NewPath("metadata", "annotations").Key(annotation), value,
		"annotation %s is %q: write %s", annotation, value, example)
}

// desiredHealthCheck selects only the machines of this pool. It checks their nodes.
func desiredHealthCheck(s *Spec) *clusterv1.MachineHealthCheck {
	condition := func(status corev1.ConditionStatus) clusterv1.UnhealthyNodeCondition {
		return clusterv1.UnhealthyNodeCondition{Type: corev1.NodeReady, Status: status, TimeoutSeconds: wholeSeconds(s.Health.Timeout)}
	}
	mhc := &clusterv1.MachineHealthCheck{ObjectMeta: s.clusterMeta(s.NodePool.Name)}
	mhc.Spec = clusterv1.MachineHealthCheckSpec{
		ClusterName: s.HostedCluster.Spec.InfraID,
		Selector:    metav1.LabelSelector{MatchLabels: s.Identity()},
		Checks: clusterv1.MachineHealthCheckChecks{
			NodeStartupTimeoutSeconds: ptr.To[int32](0), // package repair replaces machines without a node
			UnhealthyNodeConditions:   []clusterv1.UnhealthyNodeCondition{condition(corev1.ConditionFalse), condition(corev1.ConditionUnknown)},
		},
		Remediation: clusterv1.MachineHealthCheckRemediation{
			TriggerIf: clusterv1.MachineHealthCheckRemediationTriggerIf{UnhealthyLessThanOrEqualTo: ptr.To(s.Health.MaxUnhealthy)},
		},
	}
	return mhc
}

// maxTimeout is the longest duration that a field with seconds has. A longer one would become negative.
const maxTimeout = math.MaxInt32 * time.Second

func wholeSeconds(d time.Duration) *int32 {
	return ptr.To(int32(min(d, maxTimeout) / time.Second)) //nolint:gosec // limited by maxTimeout
}
