package isolation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/limits"
	"github.com/hosted-control-planes/hypershift/internal/apply"
)

// LimitsSet is the set of the ResourceQuota and of the LimitRange.
const LimitsSet = "limits"

// limitsName is the name of both.
const limitsName = "control-plane"

// Limits bound the resources of the control plane's namespace, including the objects that the control-plane-operator creates.
func Limits(n controlplane.Namespace, l limits.Limits) (apply.Set, []client.Object) {
	var out []client.Object
	if len(l.Quota) > 0 {
		out = append(out, &corev1.ResourceQuota{ObjectMeta: n.ObjectMeta(limitsName), Spec: corev1.ResourceQuotaSpec{Hard: l.Quota.DeepCopy()}})
	}
	if m := l.Container; !m.Request.IsZero() {
		out = append(out, &corev1.LimitRange{ObjectMeta: n.ObjectMeta(limitsName), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, DefaultRequest: memory(m.Request), Default: memory(m.Limit), Max: memory(m.Max),
		}}}})
	}
	return n.Set(LimitsSet, &corev1.ResourceQuotaList{}, &corev1.LimitRangeList{}), out
}

func memory(q resource.Quantity) corev1.ResourceList {
	if q.IsZero() {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceMemory: q}
}
