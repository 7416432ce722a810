package component

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestPodsLeaveDeadNodes(t *testing.T) {
	const soon = "60 s where it is not-ready, 60 s where it is unreachable"
	for name, tc := range map[string]struct {
		users []corev1.Toleration
		want  string
	}{
		"soon, if nobody says more":         {nil, soon},
		"others are of no concern":          {[]corev1.Toleration{{Key: "control", Operator: corev1.TolerationOpExists}}, soon},
		"to be scheduled there says little": {[]corev1.Toleration{{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}, soon},
		"when the user says": {
			[]corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](600)}},
			"60 s where it is not-ready, 600 s where it is unreachable",
		},
		"never, if the user tolerates everything": {[]corev1.Toleration{{Operator: corev1.TolerationOpExists}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.PodSpec{Tolerations: slices.Clone(tc.users)}
			LeaveDeadNodes(pod)
			if got := stays(pod); got != tc.want {
				t.Errorf("it stays %q, want %q", got, tc.want)
			}
		})
	}
}

// stays is for how long the pod stays on which nodes.
func stays(pod *corev1.PodSpec) string {
	var out []string
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		for _, t := range pod.Tolerations {
			if t.Key == key && t.Effect == corev1.TaintEffectNoExecute {
				out = append(out, fmt.Sprintf("%d s where it is %s", *t.TolerationSeconds, strings.TrimPrefix(key, "node.kubernetes.io/")))
			}
		}
	}
	return strings.Join(out, ", ")
}
