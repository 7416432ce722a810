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

// cleanupPolicy prevents the creation of load balancers and volumes during their removal. The API server itself enforces
// the policy: a webhook would need a server.
var cleanupPolicy = part{
	name:    "cleanup",
	kinds:   []client.ObjectList{&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}},
	desired: func(*Reconciler, context.Context, *scope) ([]client.Object, error) { return assets("cleanup.yaml") },
}

const (
	// policyDelay is the time until API servers enforce a new policy. The next reconcile finds what is created before.
	policyDelay = 3 * time.Second
	// cleanupInterval is the interval for checking the progress of the cloud controllers.
	cleanupInterval = 5 * time.Second
)

func (r *Reconciler) blockCreation(ctx context.Context, s *scope) error {
	return r.ensureBy(ctx, s, cleanupPolicy, func(objs []client.Object) error {
		changed, err := s.hosted.apply.Apply(ctx, cleanupPolicy.set(), objs...)
		if err == nil && changed {
			return reconcile.Wait(policyDelay, hyperv1.WaitingForPermissionsReason, "waiting until the hosted cluster rejects new load balancers and volumes")
		}
		return err
	})
}

// removeCloudResources deletes the objects of cloud resources, and waits until the cloud controllers have deleted the
// resources. The condition lists what is left.
func (r *Reconciler) removeCloudResources(ctx context.Context, s *scope) error {
	balancers, err := r.removeBalancers(ctx, s)
	if err != nil {
		return err
	}
	volumes, err := r.removeVolumes(ctx, s)
	if err != nil {
		return err
	}
	s.leftoversKnown = true
	if left := append(balancers, volumes...); len(left) > 0 {
		return reconcile.Wait(cleanupInterval, hyperv1.CloudResourcesRemainingReason, "%s", summarize(left))
	}
	return nil
}

// removeBalancers deletes the Services with a load balancer. A finalizer keeps the Service until the cloud controller
// has deleted the load balancer.
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

// removeVolumes deletes the claims of all volumes with reclaim policy Delete, and the pods that use them. Volumes with
// policy Retain stay in the cloud.
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
		if pv.Spec.ClaimRef == nil { // no claim deletes it
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
		if claims.Items[i].Spec.VolumeName == "" { // it may be bound at this moment
			left = append(left, fmt.Sprintf("PersistentVolumeClaim %s/%s", claims.Items[i].Namespace, claims.Items[i].Name))
		}
	}
	return left, r.removeHolders(ctx, s, claims.Items)
}

// handle returns the volume's ID in the cloud, after a space, if it is known.
func handle(pv *corev1.PersistentVolume) string {
	if pv.Spec.CSI != nil {
		return " " + pv.Spec.CSI.VolumeHandle
	}
	return ""
}

// removeHolders deletes the pods that use the claims without a grace period: the nodes on which they could terminate are
// gone.
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

// maxListed is the largest number of items in a message.
const maxListed = 10

// summarize lists the first things.
func summarize(things []string) string {
	slices.Sort(things)
	if more := len(things) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(things[:maxListed], ", "), more)
	}
	return strings.Join(things, ", ")
}
