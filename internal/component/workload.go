package component

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Workload holds the fields that Deployments, StatefulSets and DaemonSets share.
type Workload struct {
	client.Object
	// Replicas is nil for a DaemonSet.
	Replicas **int32
	Selector **metav1.LabelSelector
	Template *corev1.PodTemplateSpec
	// RevisionLabels distinguish new pods from those that they replace, for workloads that run both at the same time.
	RevisionLabels []string
}

// AsWorkload returns nil for other objects.
func AsWorkload(obj client.Object) *Workload {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &Workload{o, &o.Spec.Replicas, &o.Spec.Selector, &o.Spec.Template, []string{appsv1.DefaultDeploymentUniqueLabelKey}}
	case *appsv1.StatefulSet:
		return &Workload{o, &o.Spec.Replicas, &o.Spec.Selector, &o.Spec.Template, nil}
	case *appsv1.DaemonSet:
		return &Workload{o, nil, &o.Spec.Selector, &o.Spec.Template, nil}
	}
	return nil
}

func workloadIn(objs []client.Object) (*Workload, error) {
	for _, obj := range objs {
		if w := AsWorkload(obj); w != nil {
			return w, nil
		}
	}
	return nil, fmt.Errorf("its workload was left out: say so in Wanted")
}

// Pod returns the pods' spec.
func (w *Workload) Pod() *corev1.PodSpec { return &w.Template.Spec }
