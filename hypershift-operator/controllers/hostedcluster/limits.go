package hostedcluster

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// limitsName is that of the ResourceQuota and of the LimitRange.
const limitsName = "control-plane"

func (s *scope) limitsSet() apply.Set {
	return apply.Set{Name: setLimits, Namespace: s.controlPlane, Kinds: []client.ObjectList{&corev1.ResourceQuotaList{}, &corev1.LimitRangeList{}}}
}

// ensureLimits bounds what the control plane's namespace can take, whoever
// makes it there: a control-plane-operator may create Services and pods.
func (r *Reconciler) ensureLimits(ctx context.Context, s *scope) error {
	_, err := r.apply.Apply(ctx, s.limitsSet(), r.desiredLimits(s)...)
	return err
}

func (r *Reconciler) desiredLimits(s *scope) []client.Object {
	var out []client.Object
	meta := metav1.ObjectMeta{Namespace: s.controlPlane, Name: limitsName, Annotations: s.ownerAnnotations()}
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

// checkLimits refuses what would let one tenant take the place of others: a
// priority class that the installer does not allow, or too large a factor. A
// class that the control plane has already is kept, and reported.
func (r *Reconciler) checkLimits(s *scope) []problem {
	var problems []problem
	if _, err := r.Limits.Factor(s.hc.Annotations[hyperv1.MemoryLimitFactorAnnotation]); err != nil {
		problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "annotation %s %v", hyperv1.MemoryLimitFactorAnnotation, err))
	}
	allowed := append(component.PriorityClasses(), r.Limits.PriorityClasses...)
	for _, annotation := range component.PriorityAnnotations() {
		class := s.hc.Annotations[annotation]
		if class == "" || slices.Contains(allowed, class) {
			continue
		}
		p := problemf(hyperv1.InvalidConfigurationReason,
			"annotation %s names PriorityClass %s, which this installation does not allow: use one of %s, or have the installer allow it (controlPlaneLimits.priorityClasses)", annotation, class, strings.Join(allowed, ", "))
		if s.hcp != nil && s.hcp.Annotations[annotation] == class {
			s.refused = append(s.refused, p)
			continue
		}
		problems = append(problems, p)
	}
	return problems
}

// quotaChanged leaves out what is counted, which changes with every pod.
var quotaChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, ok := e.ObjectOld.(*corev1.ResourceQuota)
	is, also := e.ObjectNew.(*corev1.ResourceQuota)
	return !ok || !also || !equality.Semantic.DeepEqual(was.Spec, is.Spec) || !equality.Semantic.DeepEqual(was.Annotations, is.Annotations)
}}

// publishedNames are the host names that objects of the control plane may ask
// external-dns and routers for: those that the HostedCluster publishes, and all
// below the cluster's local zone, which begins with a dot. An admission policy
// of the installation reads them from the namespace, which the
// control-plane-operator cannot write.
func publishedNames(hc *hyperv1.HostedCluster) string {
	hosts := append(byHostname(hc), "."+names.LocalZone(hc.Name))
	slices.Sort(hosts)
	return strings.Join(hosts, ",")
}
