package cloudcleanup

import (
	"context"
	"fmt"
	"slices"
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
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/traefik"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/autonode"
)

// Resources are the objects of the hosted cluster for which controllers create load balancers, volumes and snapshots.
// Volumes and snapshots that their owner wants to keep (Retain) are not among them, nor volumes outside the cloud.
type Resources struct {
	services  []corev1.Service
	ingresses []networkingv1.Ingress
	claims    []corev1.PersistentVolumeClaim
	volumes   []corev1.PersistentVolume
	snapshots []unstructured.Unstructured
	// pools are the NodePools of Karpenter, nodes its NodeClaims, and classes its EC2NodeClasses, which have launch templates.
	pools, nodes, classes []unstructured.Unstructured
}

// Empty reports whether there are no cloud resources.
func (c *Resources) Empty() bool {
	return c.onlyNodes() && len(c.pools)+len(c.nodes)+len(c.classes) == 0
}

// onlyNodes reports whether only nodes on demand remain.
func (c *Resources) onlyNodes() bool {
	return len(c.services)+len(c.ingresses)+len(c.claims)+len(c.volumes)+len(c.snapshots) == 0
}

// Find searches the hosted cluster. It returns nil if the operator may not search yet: it had permissions of an earlier version.
func Find(ctx context.Context, hosted client.Client, hcp *hyperv1.HostedControlPlane) (*Resources, error) {
	found := &Resources{}
	lists := []func(context.Context, client.Client) error{found.listServices, found.listIngresses, found.listVolumes, found.listSnapshots}
	if hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] != "true" {
		lists = nil // the user keeps them
	}
	if hcp.MayHaveIngress() && lists == nil {
		lists = append(lists, found.listIngressController)
	}
	if hcp.Spec.AutoNode.Karpenter() != nil {
		lists = append(lists, found.listNodes)
	}
	for _, list := range lists {
		if err := list(ctx, hosted); apierrors.IsForbidden(err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (c *Resources) listServices(ctx context.Context, from client.Client) error {
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

// listIngressController finds the load balancer of the release's ingress controller. It is no resource of the user, who may keep others.
func (c *Resources) listIngressController(ctx context.Context, from client.Client) (err error) {
	c.services, err = traefik.Services(ctx, from)
	c.services = slices.DeleteFunc(c.services, func(svc corev1.Service) bool { return svc.Spec.Type != corev1.ServiceTypeLoadBalancer })
	return err
}

// awsIngressFinalizer is in the finalizers of an Ingress with its own load balancer. Other Ingresses share the load balancer
// of a Service.
const awsIngressFinalizer = "ingress.k8s.aws/"

func (c *Resources) listIngresses(ctx context.Context, from client.Client) error {
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
func (c *Resources) listVolumes(ctx context.Context, from client.Client) error {
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

// driver returns the CSI driver of a volume, or "" if the volume is not in the cloud.
func driver(pv *corev1.PersistentVolume) string {
	switch {
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.Driver
	case pv.Spec.AWSElasticBlockStore != nil:
		return "ebs.csi.aws.com" // it has taken over the volumes of the in-tree driver
	}
	return ""
}

func (c *Resources) listSnapshots(ctx context.Context, from client.Client) error {
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
func (c *Resources) listNodes(ctx context.Context, from client.Client) error {
	for into, kind := range map[*[]unstructured.Unstructured]schema.GroupVersionKind{&c.pools: autonode.NodePool, &c.nodes: autonode.NodeClaim, &c.classes: autonode.EC2NodeClass} {
		list := autonode.ListOf(kind)
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
