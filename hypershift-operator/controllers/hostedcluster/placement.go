package hostedcluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// checkPlacement wants what goes into the pods of the control plane to be
// something that a pod takes: otherwise none of them could be made.
func checkPlacement(hc *hyperv1.HostedCluster) []problem {
	problems := append(checkLabels("labels", hc.Spec.Labels), checkLabels("nodeSelector", hc.Spec.NodeSelector)...)
	problems = append(problems, checkReserved(hc.Spec.Labels)...)
	for _, t := range hc.Spec.Tolerations {
		if text := faultOfToleration(t); text != "" {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "spec.tolerations has one for key %q %s", t.Key, text))
		}
	}
	return problems
}

func checkLabels(field string, labels map[string]hyperv1.LabelValue) []problem {
	var problems []problem
	for _, key := range sortedKeys(labels) {
		faults := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(string(labels[key]))...)
		if len(faults) > 0 {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "spec.%s has %s=%s, which is not a label: %s", field, key, labels[key], strings.Join(faults, ", ")))
		}
	}
	return problems
}

// reservedLabels select pods: for their workloads, for Services, and for the
// network policies that keep them away from the management cluster.
var reservedLabels = []string{"app", "pod-template-hash", "controller-revision-hash"}

// reservedDomains have keys with a meaning to Kubernetes, to Cluster API or to
// the operators. Subdomains belong to them.
var reservedDomains = []string{"hypershift.openshift.io", "network.openshift.io", "cluster.x-k8s.io", "kubernetes.io", "k8s.io"}

// descriptiveDomain is kept free: its labels describe and select nothing.
const descriptiveDomain = "app.kubernetes.io"

// reserved tells whether users may not put the label on pods. The CRD has the same rule.
func reserved(key string) bool {
	domain, _, qualified := strings.Cut(key, "/")
	if !qualified {
		return slices.Contains(reservedLabels, key)
	}
	return domain != descriptiveDomain && slices.ContainsFunc(reservedDomains, func(of string) bool {
		return domain == of || strings.HasSuffix(domain, "."+of)
	})
}

// checkReserved refuses labels by which a pod would leave its network policies,
// or join the pods of another workload.
func checkReserved(labels map[string]hyperv1.LabelValue) []problem {
	var problems []problem
	for _, key := range sortedKeys(labels) {
		if reserved(key) {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "spec.labels has %s, which is reserved: remove it, and use keys of your own domain, such as example.com/name", key))
		}
	}
	return problems
}

// faultOfToleration ends a sentence about one toleration; empty for a good one.
func faultOfToleration(t corev1.Toleration) string {
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
