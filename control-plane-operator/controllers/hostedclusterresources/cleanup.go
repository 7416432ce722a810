package hostedclusterresources

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// cleanupPolicy keeps everybody from making load balancers and volumes while
// they are being removed. The API server itself refuses them: a webhook would
// need somebody to answer.
var cleanupPolicy = part{
	name:    "cleanup",
	kinds:   []client.ObjectList{&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}},
	desired: func(*Reconciler, context.Context, *scope) ([]client.Object, error) { return assets("cleanup.yaml") },
}

const (
	// takesEffect is how long API servers take to obey a new policy. What slips
	// through before is seen after.
	takesEffect = 3 * time.Second
	// cleanupPause is how long to let controllers of the cloud work.
	cleanupPause = 5 * time.Second
)

func (r *Reconciler) blockCreation(ctx context.Context, s *scope) error {
	return r.ensureBy(ctx, s, cleanupPolicy, func(objs []client.Object) error {
		changed, err := s.hosted.apply.Apply(ctx, cleanupPolicy.set(), objs...)
		if err == nil && changed {
			return reconcile.Wait(takesEffect, hyperv1.WaitingForPermissionsReason, "the hosted cluster stops making load balancers and volumes")
		}
		return err
	})
}

// removeCloudResources deletes what stands for something in the cloud, and waits
// until those who made that have removed it. It names what is left.
func (r *Reconciler) removeCloudResources(ctx context.Context, s *scope) error {
	balancers, err := r.removeBalancers(ctx, s)
	if err != nil {
		return err
	}
	volumes, err := r.removeVolumes(ctx, s)
	if err != nil {
		return err
	}
	s.looked = true
	if left := append(balancers, volumes...); len(left) > 0 {
		return reconcile.Wait(cleanupPause, hyperv1.CloudResourcesRemainingReason, "%s", some(left))
	}
	return nil
}

// removeBalancers deletes the Services with a load balancer. One stays until the
// cloud controller has removed that.
func (r *Reconciler) removeBalancers(ctx context.Context, s *scope) (left []string, err error) {
	list := &corev1.ServiceList{}
	if err := s.hosted.client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	for i := range list.Items {
		svc := &list.Items[i]
		if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		name := ""
		for _, in := range svc.Status.LoadBalancer.Ingress {
			name = " " + cmp.Or(in.Hostname, in.IP)
		}
		left = append(left, fmt.Sprintf("load balancer%s of Service %s/%s", name, svc.Namespace, svc.Name))
		if err := reconcile.Delete(ctx, s.hosted.client, svc); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// removeVolumes deletes the claims, and the pods that hold them, of all volumes
// that go with their claim. One that its user wants to retain stays in the cloud.
func (r *Reconciler) removeVolumes(ctx context.Context, s *scope) (left []string, err error) {
	volumes := &corev1.PersistentVolumeList{}
	if err := s.hosted.client.List(ctx, volumes); err != nil {
		return nil, fmt.Errorf("listing PersistentVolumes: %w", err)
	}
	retained := map[string]bool{}
	for i := range volumes.Items {
		pv := &volumes.Items[i]
		if pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
			retained[pv.Name] = true
			continue
		}
		left = append(left, "volume"+handle(pv)+" of PersistentVolume "+pv.Name)
		if pv.Spec.ClaimRef == nil { // nobody's claim takes it along
			if err := reconcile.Delete(ctx, s.hosted.client, pv); err != nil {
				return nil, err
			}
		}
	}
	claims := &corev1.PersistentVolumeClaimList{}
	if err := s.hosted.client.List(ctx, claims); err != nil {
		return nil, fmt.Errorf("listing PersistentVolumeClaims: %w", err)
	}
	claims.Items = slices.DeleteFunc(claims.Items, func(c corev1.PersistentVolumeClaim) bool { return retained[c.Spec.VolumeName] })
	if len(claims.Items) == 0 {
		return left, nil
	}
	for i := range claims.Items {
		if err := reconcile.Delete(ctx, s.hosted.client, &claims.Items[i]); err != nil {
			return nil, err
		}
		if claims.Items[i].Spec.VolumeName == "" { // it may be getting one this moment
			left = append(left, fmt.Sprintf("PersistentVolumeClaim %s/%s", claims.Items[i].Namespace, claims.Items[i].Name))
		}
	}
	return left, r.removeHolders(ctx, s, claims.Items)
}

// handle is what the cloud calls the volume, after a blank, if that is known.
func handle(pv *corev1.PersistentVolume) string {
	if pv.Spec.CSI != nil {
		return " " + pv.Spec.CSI.VolumeHandle
	}
	return ""
}

// removeHolders deletes the pods that use the claims, at once: the nodes on
// which they could end in peace are gone.
func (r *Reconciler) removeHolders(ctx context.Context, s *scope, claims []corev1.PersistentVolumeClaim) error {
	going := map[client.ObjectKey]bool{}
	for i := range claims {
		going[client.ObjectKeyFromObject(&claims[i])] = true
	}
	pods := &corev1.PodList{}
	if err := s.hosted.client.List(ctx, pods); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && going[client.ObjectKey{Namespace: pod.Namespace, Name: v.PersistentVolumeClaim.ClaimName}]
		}) {
			continue
		}
		if err := s.hosted.client.Delete(ctx, pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return nil
}

// mostNamed is how many things a sentence can name.
const mostNamed = 10

func some(things []string) string {
	slices.Sort(things)
	if more := len(things) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(things[:mostNamed], ", "), more)
	}
	return strings.Join(things, ", ")
}
