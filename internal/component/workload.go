package component

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workload has the fields that Deployments and StatefulSets share.
type workload struct {
	client.Object
	replicas **int32
	selector **metav1.LabelSelector
	template *corev1.PodTemplateSpec
	// revision is the label that distinguishes new pods from those that they replace, for workloads that run both at the same
	// time.
	revision []string
}

// asWorkload returns nil for other objects.
func asWorkload(obj client.Object) *workload {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &workload{o, &o.Spec.Replicas, &o.Spec.Selector, &o.Spec.Template, []string{appsv1.DefaultDeploymentUniqueLabelKey}}
	case *appsv1.StatefulSet:
		return &workload{o, &o.Spec.Replicas, &o.Spec.Selector, &o.Spec.Template, nil}
	}
	return nil
}

func workloadIn(objs []client.Object) (*workload, error) {
	for _, obj := range objs {
		if w := asWorkload(obj); w != nil {
			return w, nil
		}
	}
	return nil, fmt.Errorf("its workload was left out: say so in Wanted")
}

func (w *workload) pod() *corev1.PodSpec { return &w.template.Spec }

func (w *workload) count() int32 { return **w.replicas }
