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
