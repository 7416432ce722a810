package cloudcleanup

import (
	"cmp"
	"context"
	"slices"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/autonode"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// maxReported is the largest number of resources in the status, and maxListed in a message.
	maxReported = 1000
	maxListed   = 10
)

// A Report lists the remaining cloud resources.
type Report struct {
	// Resources are all of them, for the status.
	Resources []hyperv1.LeftBehindResource
	// remaining describes the resources that a controller is about to delete, and lost the resources that no controller deletes.
	remaining, lost []string
}

// Wait waits, by reconcile.Wait, until no resource remains. It does not wait for controllers that do not run.
func (r Report) Wait() error {
	switch {
	case len(r.remaining)+len(r.lost) == 0:
		return nil
	case len(r.remaining) == 0:
		return reconcile.Wait(Interval, hyperv1.ControllerNotRunningReason, "nothing deletes %s: the controllers do not run in the hosted cluster", oneline.List(r.lost, maxListed))
	}
	return reconcile.Wait(Interval, hyperv1.CloudResourcesRemainingReason, "%s", oneline.List(append(r.remaining, r.lost...), maxListed))
}

func (c *Resources) report(ctx context.Context, running *controllers) (r Report, err error) {
	for _, l := range c.leftovers() {
		runs := true
		if l.lease != "" {
			if runs, err = running.runs(ctx, l.lease); err != nil {
				return Report{}, err
			}
		}
		if runs {
			r.remaining = append(r.remaining, l.String())
		} else {
			r.lost = append(r.lost, l.String())
			l.Reason = hyperv1.ControllerNotRunningReason
		}
		r.Resources = append(r.Resources, l.LeftBehindResource)
	}
	slices.SortFunc(r.Resources, func(a, b hyperv1.LeftBehindResource) int { return strings.Compare(a.Type+a.ID, b.Type+b.ID) })
	r.Resources = r.Resources[:min(len(r.Resources), maxReported)]
	return r, nil
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
func (c *Resources) leftovers() []leftover {
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
		claim := autonode.ReadClaim(&c.nodes[i])
		all = append(all, newLeftover("EC2", typeInstance, claim.Instance, "NodeClaim "+claim.Name, ""))
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
