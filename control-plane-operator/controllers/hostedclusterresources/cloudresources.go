package hostedclusterresources

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// cloudResources are the objects of the hosted cluster for which controllers create load balancers, volumes and snapshots.
// Volumes and snapshots that their owner wants to keep (Retain) are not among them, nor volumes outside the cloud.
type cloudResources struct {
	services  []corev1.Service
	ingresses []networkingv1.Ingress
	claims    []corev1.PersistentVolumeClaim
	volumes   []corev1.PersistentVolume
	snapshots []unstructured.Unstructured
	// pools are the NodePools of Karpenter, nodes its NodeClaims, and classes its EC2NodeClasses, which have launch templates.
	pools, nodes, classes []unstructured.Unstructured
}

func (c *cloudResources) empty() bool {
	return c.onlyNodes() && len(c.pools)+len(c.nodes)+len(c.classes) == 0
}

// onlyNodes reports whether nothing else is left than nodes on demand.
func (c *cloudResources) onlyNodes() bool {
	return len(c.services)+len(c.ingresses)+len(c.claims)+len(c.volumes)+len(c.snapshots) == 0
}

// findCloudResources searches the hosted cluster. An operator with permissions of an earlier version may not search yet.
func (r *Reconciler) findCloudResources(ctx context.Context, s *scope) error {
	found := &cloudResources{}
	lists := []func(context.Context, client.Client) error{found.listServices, found.listIngresses, found.listVolumes, found.listSnapshots}
	if s.hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] != yes {
		lists = nil // the user keeps them
	}
	if s.hcp.Spec.AutoNode.Karpenter() != nil {
		lists = append(lists, found.listNodes)
	}
	for _, list := range lists {
		if err := list(ctx, s.hosted.client); apierrors.IsForbidden(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	s.cloud = found
	return nil
}

func (c *cloudResources) listServices(ctx context.Context, from client.Client) error {
	list := &corev1.ServiceList{}
	if err := from.List(ctx, list); err != nil {
		return fmt.Errorf("listing Services: %w", err)
	}
	for _, svc := range list.Items {
		if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
			c.services = append(c.services, svc)
		}
	}
	return nil
}

// awsIngressFinalizer is in the finalizers of an Ingress that has a load balancer of its own. Other Ingresses share the one of
// a Service.
const awsIngressFinalizer = "ingress.k8s.aws/"

func (c *cloudResources) listIngresses(ctx context.Context, from client.Client) error {
	list := &networkingv1.IngressList{}
	if err := from.List(ctx, list); err != nil {
		return fmt.Errorf("listing Ingresses: %w", err)
	}
	for _, ingress := range list.Items {
		if strings.Contains(strings.Join(ingress.Finalizers, " "), awsIngressFinalizer) {
			c.ingresses = append(c.ingresses, ingress)
		}
	}
	return nil
}

// listVolumes lists claims before volumes: otherwise a claim that is bound in between would be in neither list.
func (c *cloudResources) listVolumes(ctx context.Context, from client.Client) error {
	claims, volumes := &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}
	if err := from.List(ctx, claims); err != nil {
		return fmt.Errorf("listing PersistentVolumeClaims: %w", err)
	}
	if err := from.List(ctx, volumes); err != nil {
		return fmt.Errorf("listing PersistentVolumes: %w", err)
	}
	removed := sets.New("") // a claim without a volume may be bound at any moment
	for _, pv := range volumes.Items {
		if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && driver(&pv) != "" {
			removed.Insert(pv.Name)
			c.volumes = append(c.volumes, pv)
		}
	}
	for _, claim := range claims.Items {
		if removed.Has(claim.Spec.VolumeName) {
			c.claims = append(c.claims, claim)
		}
	}
	return nil
}

// driver returns the CSI driver of a volume, or nothing if the volume is not in the cloud.
func driver(pv *corev1.PersistentVolume) string {
	switch {
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.Driver
	case pv.Spec.AWSElasticBlockStore != nil:
		return "ebs.csi.aws.com" // it has taken over the volumes of the in-tree driver
	}
	return ""
}

func (c *cloudResources) listSnapshots(ctx context.Context, from client.Client) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: snapshotGroup, Version: "v1", Kind: "VolumeSnapshotContentList"})
	err := from.List(ctx, list)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil // the cluster has no snapshots
	}
	if err != nil {
		return fmt.Errorf("listing VolumeSnapshotContents: %w", err)
	}
	for _, content := range list.Items {
		if field(&content, "spec", "deletionPolicy") == "Delete" {
			c.snapshots = append(c.snapshots, content)
		}
	}
	return nil
}

// listNodes lists the nodes on demand, and the NodePools that would create them again.
func (c *cloudResources) listNodes(ctx context.Context, from client.Client) error {
	for into, kind := range map[*[]unstructured.Unstructured]schema.GroupVersionKind{&c.pools: nodePoolKind, &c.nodes: nodeClaimKind, &c.classes: nodeClassKind} {
		list := listOf(kind)
		err := from.List(ctx, list)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue // Karpenter has never run
		}
		if err != nil {
			return fmt.Errorf("listing %ss: %w", kind.Kind, err)
		}
		*into = list.Items
	}
	return nil
}

const snapshotGroup = "snapshot.storage.k8s.io"

func field(obj *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(obj.Object, path...)
	return text
}

// A leftover is a cloud resource that is not deleted yet.
type leftover struct {
	hyperv1.LeftBehindResource
	// object is the object for which it was created.
	object string
	// lease is the Lease of the controller that deletes the resource, if that controller runs in the hosted cluster; empty for the
	// cloud-controller-manager, which runs in the control plane.
	lease string
}

func (l leftover) String() string {
	name := l.Type
	if l.ID != l.object {
		name += " " + l.ID
	}
	return name + " of " + l.object
}

// The types of leftovers.
const (
	typeLoadBalancer = "load balancer"
	typeVolume       = "volume"
	typeSnapshot     = "snapshot"
	typeInstance     = "instance"
	typeTemplate     = "launch templates"
)

// newLeftover describes a resource by its object if its ID is not known.
func newLeftover(service, kind, id, object, lease string) leftover {
	return leftover{LeftBehindResource: hyperv1.LeftBehindResource{Service: service, Type: kind, ID: cmp.Or(id, object)}, object: object, lease: lease}
}

// leftovers returns the resources. A claim counts as long as it has no volume.
func (c *cloudResources) leftovers() []leftover {
	var all []leftover
	for _, svc := range c.services {
		id := ""
		for _, in := range svc.Status.LoadBalancer.Ingress {
			id = cmp.Or(in.Hostname, in.IP)
		}
		lease := ""
		if svc.Spec.LoadBalancerClass != nil || strings.Contains(strings.Join(svc.Finalizers, " "), "service.k8s.aws/") {
			lease = leaseOfLoadBalancers
		}
		all = append(all, newLeftover("ELB", typeLoadBalancer, id, "Service "+svc.Namespace+"/"+svc.Name, lease))
	}
	for _, ingress := range c.ingresses {
		id := ""
		for _, in := range ingress.Status.LoadBalancer.Ingress {
			id = cmp.Or(in.Hostname, in.IP)
		}
		all = append(all, newLeftover("ELB", typeLoadBalancer, id, "Ingress "+ingress.Namespace+"/"+ingress.Name, leaseOfLoadBalancers))
	}
	for _, pv := range c.volumes {
		id := ""
		if pv.Spec.CSI != nil {
			id = pv.Spec.CSI.VolumeHandle
		} else if pv.Spec.AWSElasticBlockStore != nil {
			id = pv.Spec.AWSElasticBlockStore.VolumeID
		}
		all = append(all, newLeftover("EC2", typeVolume, id, "PersistentVolume "+pv.Name, leaseOfVolumes(driver(&pv))))
	}
	for _, claim := range c.claims {
		if claim.Spec.VolumeName == "" {
			all = append(all, newLeftover("EC2", typeVolume, "", "PersistentVolumeClaim "+claim.Namespace+"/"+claim.Name, ""))
		}
	}
	for i := range c.nodes {
		claim := readNodeClaim(&c.nodes[i])
		all = append(all, newLeftover("EC2", typeInstance, claim.instance, "NodeClaim "+claim.name, ""))
	}
	for i := range c.classes {
		all = append(all, newLeftover("EC2", typeTemplate, "", "EC2NodeClass "+c.classes[i].GetName(), ""))
	}
	for i := range c.snapshots {
		content := &c.snapshots[i]
		all = append(all, newLeftover("EC2", typeSnapshot, field(content, "status", "snapshotHandle"), "VolumeSnapshotContent "+content.GetName(), leaseOfSnapshots(field(content, "spec", "driver"))))
	}
	return all
}
