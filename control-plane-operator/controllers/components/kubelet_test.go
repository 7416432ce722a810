package components

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// revision is the label that distinguishes the pods of two templates.
const revision = "revision"

// kubelet simulates the workload controllers and the kubelets. Each call takes one step and returns whether there was
// one.
func (e *fakeKubelet) kubelet(ctx context.Context) error {
	deployments, statefulSets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	e.Must(e.Admin().List(ctx, deployments))
	e.Must(e.Admin().List(ctx, statefulSets))
	for i := range deployments.Items {
		d := &deployments.Items[i]
		f := e.fleetOf(ctx, d, d.Spec.Template, int(*d.Spec.Replicas))
		if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && len(f.old) > 0 {
			for _, pod := range f.old {
				e.Must(e.Admin().Delete(ctx, pod))
			}
		} else {
			e.surge(ctx, f)
		}
		f = e.fleetOf(ctx, d, d.Spec.Template, int(*d.Spec.Replicas))
		before := d.DeepCopy()
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = int32(len(f.pods)), int32(len(f.fresh)), f.available()
		d.Status.Conditions = f.progress()
		e.publish(ctx, d, before)
	}
	for i := range statefulSets.Items {
		s := &statefulSets.Items[i]
		f := e.fleetOf(ctx, s, s.Spec.Template, int(*s.Spec.Replicas))
		e.replace(ctx, f)
		f = e.fleetOf(ctx, s, s.Spec.Template, int(*s.Spec.Replicas))
		before := s.DeepCopy()
		s.Status.Replicas, s.Status.ReadyReplicas = int32(len(f.pods)), f.available()
		s.Status.UpdateRevision = f.revision
		if s.Status.CurrentRevision == "" || len(f.old) == 0 && int(f.available()) == f.replicas { // the rollout ends when all are ready
			s.Status.CurrentRevision = f.revision
		}
		e.publish(ctx, s, before)
	}
	return nil
}

func (e *fakeKubelet) publish(ctx context.Context, obj, before client.Object) bool {
	if text(obj) == text(before) {
		return false
	}
	e.Must(e.Admin().Status().Patch(ctx, obj, client.MergeFrom(before)))
	return true
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// fleet manages the pods of one workload.
type fleet struct {
	owner            client.Object
	template         corev1.PodTemplateSpec
	revision         string
	replicas         int
	pods, fresh, old []*corev1.Pod
}

func (e *fakeKubelet) fleetOf(ctx context.Context, owner client.Object, template corev1.PodTemplateSpec, replicas int) *fleet {
	sum := sha256.Sum256([]byte(text(template)))
	f := &fleet{owner: owner, template: template, replicas: replicas, revision: hex.EncodeToString(sum[:4])}
	list := &corev1.PodList{}
	e.Must(e.Admin().List(ctx, list, client.InNamespace(owner.GetNamespace())))
	for i := range list.Items {
		pod := &list.Items[i]
		switch {
		case !metav1.IsControlledBy(pod, owner):
			continue
		case pod.Labels[revision] == f.revision:
			f.fresh = append(f.fresh, pod)
		default:
			f.old = append(f.old, pod)
		}
		f.pods = append(f.pods, pod)
	}
	return f
}

// progress is the condition of a Deployment: its rollout goes on until all pods are new and ready.
func (f *fleet) progress() []appsv1.DeploymentCondition {
	reason := "NewReplicaSetAvailable"
	if len(f.old) > 0 || int(f.available()) < f.replicas {
		reason = "ReplicaSetUpdated"
	}
	return []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason}}
}

func (f *fleet) available() (n int32) {
	for _, pod := range f.pods {
		if healthy(pod) {
			n++
		}
	}
	return n
}

func healthy(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// surge creates the new pods of a Deployment, makes them ready and deletes the old ones.
func (e *fakeKubelet) surge(ctx context.Context, f *fleet) {
	if e.stop(ctx, f) {
		return
	}
	for i := range f.replicas {
		name := fmt.Sprintf("%s-%s-%d", f.owner.GetName(), f.revision, i)
		if !slices.ContainsFunc(f.fresh, func(p *corev1.Pod) bool { return p.Name == name }) {
			e.run(ctx, f, name)
			return
		}
	}
	if e.heal(ctx, f.fresh) {
		return
	}
	if len(f.old) == 0 || slices.ContainsFunc(f.fresh, func(p *corev1.Pod) bool { return !healthy(p) }) {
		return
	}
	for _, pod := range f.old {
		e.Must(e.Admin().Delete(ctx, pod))
	}
}

// stop deletes all pods of a workload without replicas.
func (e *fakeKubelet) stop(ctx context.Context, f *fleet) bool {
	for _, pod := range f.pods {
		if f.replicas == 0 {
			e.Must(e.Admin().Delete(ctx, pod))
		}
	}
	return f.replicas == 0
}

// replace does it for a StatefulSet. Its pods have fixed names and are deleted first.
func (e *fakeKubelet) replace(ctx context.Context, f *fleet) {
	if e.stop(ctx, f) {
		return
	}
	made := false
	for i := range f.replicas {
		name := fmt.Sprintf("%s-%d", f.owner.GetName(), i)
		if !slices.ContainsFunc(f.pods, func(p *corev1.Pod) bool { return p.Name == name }) {
			e.run(ctx, f, name)
			made = true
		}
	}
	if made || e.heal(ctx, f.pods) {
		return
	}
	if len(f.old) == 0 || slices.ContainsFunc(f.pods, func(p *corev1.Pod) bool { return !healthy(p) }) {
		return
	}
	e.Must(e.Admin().Delete(ctx, f.old[len(f.old)-1]))
}

func (e *fakeKubelet) run(ctx context.Context, f *fleet, name string) {
	pod := &corev1.Pod{ObjectMeta: *f.template.ObjectMeta.DeepCopy(), Spec: *f.template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = f.owner.GetNamespace(), name
	pod.CreationTimestamp = metav1.NewTime(e.Clock.Now())
	pod.Labels[revision] = f.revision
	pod.Spec.NodeName = "node-1"
	e.Must(controllerutil.SetControllerReference(f.owner, pod, scheme))
	e.Must(client.IgnoreAlreadyExists(e.Admin().Create(ctx, pod))) // an orphan of that name is being deleted
}

// heal makes a pod ready, or sets the status of its failure.
func (e *fakeKubelet) heal(ctx context.Context, pods []*corev1.Pod) bool {
	moved := false
	for _, pod := range pods {
		if healthy(pod) {
			continue
		}
		before := pod.DeepCopy()
		status, sick := e.sick[pod.Spec.Containers[0].Name]
		if !sick {
			status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		}
		pod.Status = status
		moved = e.publish(ctx, pod, before) || moved
	}
	return moved
}
