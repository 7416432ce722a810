package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// placement rejects values that the API server would reject in a pod of the control plane: no pod could be created.
func placement(s *hyperv1.HostedClusterSpec) field.ErrorList {
	errs := append(labels(s.Labels, "labels"), labels(s.NodeSelector, "nodeSelector")...)
	errs = append(errs, reservedLabels(s.Labels)...)
	errs = append(errs, tolerations(s.Tolerations, "tolerations")...)
	if m := s.Etcd.Managed; m != nil && m.Scheduling != nil {
		errs = append(errs, labels(m.Scheduling.NodeSelector, "etcd.managed.scheduling.nodeSelector")...)
		errs = append(errs, tolerations(m.Scheduling.Tolerations, "etcd.managed.scheduling.tolerations")...)
	}
	return errs
}

func tolerations(list []corev1.Toleration, name string) field.ErrorList {
	var errs field.ErrorList
	for i, t := range list {
		if text := toleration(t); text != "" {
			errs = append(errs, configuration.invalid(spec.Child(name).Index(i), t.Key, "spec.%s has one for key %q %s", name, t.Key, text))
		}
	}
	return errs
}

func labels(labels map[string]hyperv1.LabelValue, name string) field.ErrorList {
	var errs field.ErrorList
	for _, key := range sortedKeys(labels) {
		faults := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(string(labels[key]))...)
		if len(faults) > 0 {
			errs = append(errs, configuration.invalid(spec.Child(name).Key(key), labels[key], "spec.%s has %s=%s, which is not a label: %s", name, key, labels[key], strings.Join(faults, ", ")))
		}
	}
	return errs
}

// reservedKeys select pods: for their workloads, for Services, and for the
// network policies that isolate them from the management cluster.
var reservedKeys = []string{"app", "pod-template-hash", "controller-revision-hash"}

// reservedDomains, with their subdomains, have keys with a meaning to Kubernetes,
// to Cluster API or to the operators.
var reservedDomains = []string{"hypershift.openshift.io", "network.openshift.io", "cluster.x-k8s.io", "kubernetes.io", "k8s.io"}

// descriptiveDomain is not reserved: its labels describe objects and select none.
const descriptiveDomain = "app.kubernetes.io"

// isReserved reports whether users may not set the label on pods. The CRD contains the same rule.
func isReserved(key string) bool {
	domain, _, qualified := strings.Cut(key, "/")
	if !qualified {
		return slices.Contains(reservedKeys, key)
	}
	return domain != descriptiveDomain && slices.ContainsFunc(reservedDomains, func(of string) bool {
		return domain == of || strings.HasSuffix(domain, "."+of)
	})
}

// reservedLabels rejects labels that would take a pod out of its network policies,
// or add it to the pods of another workload.
func reservedLabels(labels map[string]hyperv1.LabelValue) field.ErrorList {
	var errs field.ErrorList
	for _, key := range sortedKeys(labels) {
		if isReserved(key) {
			errs = append(errs, configuration.forbidden(spec.Child("labels").Key(key), "spec.labels has %s, which is reserved: remove it, and use keys of your own domain, such as example.com/name", key))
		}
	}
	return errs
}

// toleration returns the end of a sentence about an invalid toleration, and ""
// for a valid one.
func toleration(t corev1.Toleration) string {
	exists := t.Operator == corev1.TolerationOpExists
	operators := []corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}
	effects := []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	switch {
	case t.Key != "" && len(validation.IsQualifiedName(t.Key)) > 0:
		return "that is not the key of a taint: write it like example.com/name"
	case t.Key == "" && !exists:
		return "and not operator Exists: name the key, or use Exists to tolerate every taint"
	case exists && t.Value != "":
		return "with operator Exists and a value: remove the value, or use operator Equal"
	case !slices.Contains(operators, t.Operator):
		return "with operator " + string(t.Operator) + ": use Equal or Exists"
	case len(validation.IsValidLabelValue(t.Value)) > 0:
		return "with a value that no taint can have: " + t.Value
	case !slices.Contains(effects, t.Effect):
		return "with effect " + string(t.Effect) + ": use NoSchedule, PreferNoSchedule or NoExecute, or leave it out for all"
	case t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute:
		return "with tolerationSeconds and not effect NoExecute: remove one of them"
	}
	return ""
}
