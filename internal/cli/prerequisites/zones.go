package prerequisites

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/zone"
	"github.com/hosted-control-planes/hypershift/internal/servedzones"
)

// Served are the zones that the load balancers of the management cluster serve. An endpoint is possible in these zones only.
type Served struct {
	// IDs are sorted. None: they are not known.
	IDs []string
	// Source names the source of the ids.
	Source string
}

// String lists the zones as the account names them.
func (s Served) String() string { return strings.Join(s.IDs, ", ") }

// in lists the zones with the names that the account has for them.
func (s Served) in(account zone.List) string {
	var all []string
	for _, id := range s.IDs {
		if found := account.Of([]string{id}); len(found) == 1 {
			id += " (" + found[0].Name + ")"
		}
		all = append(all, id)
	}
	return strings.Join(all, ", ")
}

// GatherZones reads which zones the management cluster serves. Failed reads are in Errors. Users without the permission get the zones
// that the operator publishes.
func GatherZones(ctx context.Context, reader client.Reader, f *Facts) {
	services, nodes := &hyperv1.AWSEndpointServiceList{}, &corev1.NodeList{}
	f.report("EndpointServices", reader.List(ctx, services))
	f.report("Nodes", reader.List(ctx, nodes))
	f.EndpointServices, f.Nodes = services.Items, nodes.Items
	published := &corev1.ConfigMap{}
	if err := reader.Get(ctx, servedzones.ConfigMap, published); err == nil {
		f.PublishedZones = servedzones.Published(published)
	}
}

// Served returns the zones that the load balancers of the management cluster serve: the zones of the newest endpoint service, which AWS
// reports, else the zones of the nodes, else the zones that the operator publishes. The names of nodes' zones are compared only if the
// zones' account is the nodes' account.
func (f *Facts) Served() Served {
	var labels []string
	for i := range f.Nodes {
		labels = append(labels, f.Nodes[i].Labels[servedzones.NodeLabel])
	}
	if ids, source := servedzones.Of(f.EndpointServices, labels); len(ids) > 0 {
		return Served{ids, source}
	}
	if len(f.PublishedZones) > 0 {
		return Served{f.PublishedZones, "ConfigMap " + servedzones.ConfigMap.String()}
	}
	if f.AWS == nil || !f.AWS.Nodes {
		return Served{}
	}
	ids, names := map[string]bool{}, map[string]bool{}
	for i := range f.Nodes {
		names[f.Nodes[i].Labels[zoneLabel]] = true
	}
	for _, z := range f.AWS.AvailabilityZones {
		if names[z.Name] && z.ID != "" {
			ids[z.ID] = true
		}
	}
	return Served{sorted(ids), "label " + zoneLabel + " of the nodes, in account " + f.AWS.Account}
}

func sorted(set map[string]bool) (all []string) {
	for text := range set {
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// Zones compares the zones of a cluster with those that the management cluster serves.
func (f *Facts) Zones() Result {
	result := f.zones()
	result.Check = zonesCheck
	return result
}

const zonesCheck = "Zones"

func (f *Facts) zones() Result {
	var c *Cluster
	if f.AWS != nil {
		c = f.AWS.Cluster
	}
	if c != nil && !c.Private {
		return passed("a public cluster has no endpoint, and its nodes can be in any zone")
	}
	served := f.Served()
	if len(served.IDs) == 0 {
		for _, fact := range []string{"EndpointServices", "Nodes"} {
			if err := f.Errors[fact]; err != nil {
				return unknown("compare the zone ids by hand: docs/private-cluster.md, section Subnets of the endpoint", "%v", err)
			}
		}
		return unknown("set the label "+servedzones.NodeLabel+" of the nodes, or compare the zone ids by hand: docs/private-cluster.md, section Subnets of the endpoint",
			"no AWSEndpointService has reported the zones of its load balancer, and no node has the label %s", servedzones.NodeLabel)
	}
	if f.AWS != nil && f.AWS.Errors["zones"] != nil {
		return unknown("allow the calls in config/iam/commandline/doctor.json, and compare the zone ids", "the load balancers of the management cluster serve %s (%s); %v", served, served.Source, f.AWS.Errors["zones"])
	}
	if f.AWS == nil || len(f.AWS.AvailabilityZones) == 0 {
		return passed("the load balancers of the management cluster serve %s (%s)", served, served.Source)
	}
	usable := f.AWS.AvailabilityZones.Usable()
	of := usable.Of(served.IDs)
	text := fmt.Sprintf("the load balancers of the management cluster serve %s (%s)", served.in(usable), served.Source)
	if len(of) == 0 {
		return failed("use the region of the management cluster", "%s, and region %s of the account has %s", text, f.AWS.Region, usable)
	}
	choose := "--zones " + strings.Join(of.Names(), ",")
	if c == nil || len(c.Zones) == 0 {
		return passed("%s: private clusters can use %s", text, choose)
	}
	outside := c.Zones.Without(served.IDs)
	switch {
	case len(outside) == len(c.Zones):
		return failed("choose among them: "+choose, "%s, and the endpoint of a private cluster needs one of these zones. The zones of the cluster are %s", text, outside)
	case len(outside) > 0:
		return warning("choose among them: "+choose, "%s. Nodes in %s reach the API server through another zone", text, outside)
	}
	return passed("%s, with the cluster's %s", text, c.Zones)
}

// FirstZone returns the first usable zone of the account. For an endpoint it is a zone that the management cluster serves. If that is not
// known because of the permissions of the user, there is no default: a private cluster in another zone never becomes available.
func (f *Facts) FirstZone(endpoint bool) (zone.Zone, error) {
	usable, served := f.AWS.AvailabilityZones.Usable(), f.Served()
	if of := usable.Of(served.IDs); endpoint && len(of) > 0 {
		return of[0], nil
	}
	for _, fact := range []string{"EndpointServices", "Nodes"} {
		if err := f.Errors[fact]; endpoint && len(served.IDs) == 0 && err != nil {
			return zone.Zone{}, fmt.Errorf("pass --zones with a zone that the load balancers of the management cluster serve: which these are is not known, because ConfigMap %s has none, and: %w", servedzones.ConfigMap, err)
		}
	}
	if len(usable) == 0 {
		return zone.Zone{}, fmt.Errorf("region %s has no zones", f.AWS.Region)
	}
	return usable[0], nil
}
