package hostedcluster

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/validation"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// limitsName is that of the ResourceQuota and of the LimitRange.
const limitsName = "control-plane"

func (s *scope) limitsSet() apply.Set {
	return apply.Set{Name: setLimits, Namespace: s.plane.Name, Kinds: []client.ObjectList{&corev1.ResourceQuotaList{}, &corev1.LimitRangeList{}}}
}

// ensureLimits bounds the resources of the control plane's namespace, including what
// the control-plane-operator creates.
func (r *Reconciler) ensureLimits(ctx context.Context, s *scope) error {
	_, err := r.apply.Apply(ctx, s.limitsSet(), r.desiredLimits(s)...)
	return err
}

func (r *Reconciler) desiredLimits(s *scope) []client.Object {
	var out []client.Object
	meta := metav1.ObjectMeta{Namespace: s.plane.Name, Name: limitsName, Annotations: s.plane.Annotations()}
	if len(r.Limits.Quota) > 0 {
		out = append(out, &corev1.ResourceQuota{ObjectMeta: *meta.DeepCopy(), Spec: corev1.ResourceQuotaSpec{Hard: r.Limits.Quota.DeepCopy()}})
	}
	if m := r.Limits.Container; !m.Request.IsZero() {
		out = append(out, &corev1.LimitRange{ObjectMeta: *meta.DeepCopy(), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, DefaultRequest: memory(m.Request), Default: memory(m.Limit), Max: memory(m.Max),
		}}}})
	}
	return out
}

func memory(q resource.Quantity) corev1.ResourceList {
	if q.IsZero() {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceMemory: q}
}

// checkLimits rejects what would let one tenant displace others: a priority class
// that the installer does not allow, or too large a memory factor. A class that
// the control plane has already stays in use, and is reported.
func (r *Reconciler) checkLimits(s *scope) field.ErrorList {
	factor := s.hc.Annotations[hyperv1.MemoryLimitFactorAnnotation]
	_, err := r.Limits.Factor(factor)
	errs := validation.MemoryLimitFactor(factor, err)
	allowed := append(component.PriorityClasses(), r.Limits.PriorityClasses...)
	for _, annotation := range component.PriorityAnnotations() {
		class := s.hc.Annotations[annotation]
		rejected := validation.PriorityClass(annotation, class, allowed)
		if s.hcp != nil && s.hcp.Annotations[annotation] == class {
			s.tolerated = append(s.tolerated, rejected...)
			continue
		}
		errs = append(errs, rejected...)
	}
	return errs
}

// quotaChanged ignores the status of a quota, which changes with every pod.
var quotaChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, ok := e.ObjectOld.(*corev1.ResourceQuota)
	is, also := e.ObjectNew.(*corev1.ResourceQuota)
	return !ok || !also || !equality.Semantic.DeepEqual(was.Spec, is.Spec) || !equality.Semantic.DeepEqual(was.Annotations, is.Annotations)
}}

// publishedNames returns the host names that objects of the control plane may
// request from external-dns and routers: those that the HostedCluster publishes, and
// all in the cluster's local zone, which begins with a dot. An admission policy of
// the installation reads them from the namespace, which the control-plane-operator
// cannot write.
func publishedNames(hc *hyperv1.HostedCluster) string {
	hosts := append(byHostname(hc), "."+names.LocalZone(hc.Name))
	slices.Sort(hosts)
	return strings.Join(hosts, ",")
}
