//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// TestPrivate runs a private cluster with a node in each of three zones. PrivateLink is the only way to the control plane.
// Then it breaks each part of that way, and waits until it is repaired. The deletion of the cluster removes the load balancer of
// its user, too.
func TestPrivate(t *testing.T) {
	begin(t)
	h := newHosted(t, "private", on.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
	h.create()
	pools := h.poolPerZone(3)
	h.available()
	for _, pool := range pools {
		h.eventually("the node of "+pool.Name+" is ready", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	}
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	h.startedOnce()
	runAll(t, h.kubeconfig, onNodes(on.Images["busybox"]))
	h.breakPrivateLink()
	h.balanced() // the deletion removes the load balancer
}

// breakage is one way to break the connection.
type breakage struct {
	name string
	do   func(context.Context) error
	// mend is the repair by the user, nil if the operators repair it.
	mend func(context.Context) error
	// repaired returns an error until it is repaired.
	repaired func(context.Context) error
}

// watchedConditions are the conditions of the HostedCluster that report the connection.
var watchedConditions = []string{
	hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable, hyperv1.DataPlaneConnectionAvailable, hyperv1.HostedClusterAvailable,
}

// turned returns the first watched condition that is not True, with its reason.
func (h *hosted) turned(ctx context.Context) (string, error) {
	hc := &hyperv1.HostedCluster{}
	if err := h.management.Get(ctx, client.ObjectKeyFromObject(h.hc), hc); err != nil {
		return "", err
	}
	for _, name := range watchedConditions {
		if c := meta.FindStatusCondition(hc.Status.Conditions, name); c == nil || c.Status != metav1.ConditionTrue {
			reason := "missing"
			if c != nil {
				reason = c.Reason
			}
			return name + " (" + reason + ")", nil
		}
	}
	return "", nil
}

// breakPrivateLink breaks the connection in several ways, and logs the conditions that users see and how long it takes until it is repaired
// and all nodes are ready. The nodes need not be lost before: a node is not ready 40 seconds after its last heartbeat.
func (h *hosted) breakPrivateLink() {
	h.t.Helper()
	p := h.privateLink()
	const row = "%-40s %-60s %12s %12s %12s"
	table := []string{fmt.Sprintf(row, "broken", "first condition that turns", "nodes lost", "repaired", "nodes ready")}
	for _, b := range []breakage{p.principal(), p.rejection(), p.rules(), p.deletion(), p.record(), p.zone(), p.route()} {
		h.t.Run(b.name, func(*testing.T) {
			h.eventually("all conditions are True", func(ctx context.Context) error {
				problem, err := h.turned(ctx)
				if err == nil && problem != "" {
					err = errors.New(problem)
				}
				return err
			})
			h.must(b.do(h.t.Context()))
			began := time.Now()
			since := func() string { return fmt.Sprintf("%.0f s", time.Since(began).Seconds()) }
			seen, lost, mended := "none", "never", b.mend == nil
			observe := func(ctx context.Context) {
				if seen == "none" {
					if problem, err := h.turned(ctx); err == nil && problem != "" {
						seen = problem + " after " + since()
					}
				}
				if lost == "never" && h.nodesReady(ctx, 3) != nil {
					lost = since()
				}
			}
			h.eventually("it is repaired", func(ctx context.Context) error {
				observe(ctx)
				if !mended {
					if time.Since(began) < unmended {
						return errors.New("the user has not noticed it yet")
					}
					if err := b.mend(ctx); err != nil {
						return err
					}
					mended = true
				}
				return b.repaired(ctx)
			})
			repaired := since()
			if b.mend != nil {
				repaired += " (user)"
			}
			h.eventually("all nodes are ready", func(ctx context.Context) error {
				observe(ctx)
				return h.nodesReady(ctx, 3)
			})
			ready := since()
			h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
			table = append(table, fmt.Sprintf(row, b.name, seen, lost, repaired, ready))
		})
	}
	h.t.Log("\n" + strings.Join(table, "\n"))
}

// unmended is the time in which the user does not repair their own resources. A lost node would be not ready by then.
const unmended = time.Minute

// nodesReady returns an error unless that many nodes exist and are ready.
func (h *hosted) nodesReady(ctx context.Context, want int) error {
	config, err := clientcmd.BuildConfigFromFlags("", h.kubeconfig)
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: h.management.Scheme()})
	if err != nil {
		return err
	}
	nodes := &corev1.NodeList{}
	if err := c.List(ctx, nodes); err != nil {
		return err
	}
	ready := 0
	for _, n := range nodes.Items {
		if slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			ready++
		}
	}
	if ready != want {
		return fmt.Errorf("%d of %d nodes are ready", ready, want)
	}
	return nil
}

// privateLink is the PrivateLink connection of a cluster, in both accounts.
type privateLink struct {
	h                *hosted
	provider, tenant *ec2.Client
	service          types.ServiceConfiguration
	endpoint         types.VpcEndpoint
}

func (h *hosted) privateLink() *privateLink {
	h.t.Helper()
	p := &privateLink{
		h: h, provider: ec2.NewFromConfig(on.AWS.Config(on.Management.Account)), tenant: ec2.NewFromConfig(on.AWS.Config(h.customer.Account)),
	}
	h.must(p.read(h.t.Context()))
	return p
}

// read reads the endpoint and its service.
func (p *privateLink) read(ctx context.Context) error {
	endpoints, err := p.tenant.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(endpoints.VpcEndpoints, func(e types.VpcEndpoint) bool {
		return strings.EqualFold(string(e.State), string(types.StateAvailable))
	})
	if at < 0 {
		return fmt.Errorf("no endpoint of account %s is available", p.h.customer.Account)
	}
	p.endpoint = endpoints.VpcEndpoints[at]
	services, err := p.provider.DescribeVpcEndpointServiceConfigurations(ctx, &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	if err != nil {
		return err
	}
	at = slices.IndexFunc(services.ServiceConfigurations, func(s types.ServiceConfiguration) bool {
		return aws.ToString(s.ServiceName) == aws.ToString(p.endpoint.ServiceName)
	})
	if at < 0 {
		return fmt.Errorf("the service %s does not exist", aws.ToString(p.endpoint.ServiceName))
	}
	p.service = services.ServiceConfigurations[at]
	return nil
}

// principal removes all principals that may connect to the service.
func (p *privateLink) principal() breakage {
	principals := func(ctx context.Context) ([]string, error) {
		allowed, err := p.provider.DescribeVpcEndpointServicePermissions(ctx, &ec2.DescribeVpcEndpointServicePermissionsInput{ServiceId: p.service.ServiceId})
		if err != nil {
			return nil, err
		}
		var all []string
		for _, a := range allowed.AllowedPrincipals {
			all = append(all, aws.ToString(a.Principal))
		}
		return all, nil
	}
	return breakage{
		name: "the only allowed principal is removed",
		do: func(ctx context.Context) error {
			all, err := principals(ctx)
			if err != nil {
				return err
			}
			_, err = p.provider.ModifyVpcEndpointServicePermissions(ctx, &ec2.ModifyVpcEndpointServicePermissionsInput{ServiceId: p.service.ServiceId, RemoveAllowedPrincipals: all})
			return err
		},
		repaired: func(ctx context.Context) error {
			all, err := principals(ctx)
			if err == nil && len(all) == 0 {
				err = errors.New("the service has no principal")
			}
			return err
		},
	}
}

// rejection rejects the connection.
func (p *privateLink) rejection() breakage {
	return breakage{
		name: "the connection is rejected",
		do: func(ctx context.Context) error {
			_, err := p.provider.RejectVpcEndpointConnections(ctx, &ec2.RejectVpcEndpointConnectionsInput{ServiceId: p.service.ServiceId, VpcEndpointIds: []string{*p.endpoint.VpcEndpointId}})
			return err
		},
		repaired: p.read,
	}
}

// rules removes the rules of the security groups of the endpoint.
func (p *privateLink) rules() breakage {
	groups := func(ctx context.Context) ([]types.SecurityGroup, error) {
		if err := p.read(ctx); err != nil {
			return nil, err
		}
		var ids []string
		for _, g := range p.endpoint.Groups {
			ids = append(ids, aws.ToString(g.GroupId))
		}
		described, err := p.tenant.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: ids})
		if err != nil {
			return nil, err
		}
		return described.SecurityGroups, nil
	}
	return breakage{
		name: "the security group has no rules",
		do: func(ctx context.Context) error {
			all, err := groups(ctx)
			for _, g := range all {
				_, revokeErr := p.tenant.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: g.GroupId, IpPermissions: g.IpPermissions})
				err = errors.Join(err, revokeErr)
			}
			return err
		},
		repaired: func(ctx context.Context) error {
			all, err := groups(ctx)
			for _, g := range all {
				if len(g.IpPermissions) == 0 {
					err = fmt.Errorf("group %s has no rules", aws.ToString(g.GroupId))
				}
			}
			return err
		},
	}
}

// deletion deletes the endpoint.
func (p *privateLink) deletion() breakage {
	deleted := ""
	return breakage{
		name: "the endpoint is deleted",
		do: func(ctx context.Context) error {
			if err := p.read(ctx); err != nil {
				return err
			}
			deleted = aws.ToString(p.endpoint.VpcEndpointId)
			_, err := p.tenant.DeleteVpcEndpoints(ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{deleted}})
			return err
		},
		repaired: func(ctx context.Context) error {
			err := p.read(ctx)
			if err == nil && aws.ToString(p.endpoint.VpcEndpointId) == deleted {
				err = errors.New("the endpoint is still being deleted")
			}
			return err
		},
	}
}

// record deletes the records that lead to the endpoint.
func (p *privateLink) record() breakage {
	zones := route53.NewFromConfig(on.AWS.Config(p.h.customer.Account))
	// records returns the hosted zone of the cluster, and its records of addresses.
	records := func(ctx context.Context) (*string, []route53types.ResourceRecordSet, error) {
		list, err := zones.ListHostedZones(ctx, &route53.ListHostedZonesInput{})
		if err != nil {
			return nil, nil, err
		}
		at := slices.IndexFunc(list.HostedZones, func(z route53types.HostedZone) bool {
			return strings.TrimSuffix(aws.ToString(z.Name), ".") == p.h.hc.Name+".hypershift.local"
		})
		if at < 0 {
			return nil, nil, fmt.Errorf("account %s has no hosted zone of the cluster", p.h.customer.Account)
		}
		id := list.HostedZones[at].Id
		sets, err := zones.ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: id})
		if err != nil {
			return nil, nil, err
		}
		return id, slices.DeleteFunc(sets.ResourceRecordSets, func(r route53types.ResourceRecordSet) bool {
			return r.Type == route53types.RRTypeNs || r.Type == route53types.RRTypeSoa || r.Type == route53types.RRTypeTxt
		}), nil
	}
	count := 0
	return breakage{
		name: "the records are deleted",
		do: func(ctx context.Context) error {
			zone, all, err := records(ctx)
			if err != nil {
				return err
			}
			count = len(all)
			batch := &route53types.ChangeBatch{}
			for i := range all {
				batch.Changes = append(batch.Changes, route53types.Change{Action: route53types.ChangeActionDelete, ResourceRecordSet: &all[i]})
			}
			_, err = zones.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: zone, ChangeBatch: batch})
			return err
		},
		repaired: func(ctx context.Context) error {
			_, all, err := records(ctx)
			if err == nil && (count == 0 || len(all) != count) {
				err = fmt.Errorf("the zone has %d of %d records", len(all), count)
			}
			return err
		},
	}
}

// zone removes the endpoint from one of the zones.
func (p *privateLink) zone() breakage {
	removed := ""
	return breakage{
		name: "the endpoint loses a zone",
		do: func(ctx context.Context) error {
			if err := p.read(ctx); err != nil {
				return err
			}
			removed = p.endpoint.SubnetIds[0]
			_, err := p.tenant.ModifyVpcEndpoint(ctx, &ec2.ModifyVpcEndpointInput{VpcEndpointId: p.endpoint.VpcEndpointId, RemoveSubnetIds: []string{removed}})
			return err
		},
		repaired: func(ctx context.Context) error {
			err := p.read(ctx)
			if err == nil && !slices.Contains(p.endpoint.SubnetIds, removed) {
				err = fmt.Errorf("the endpoint is in %v", p.endpoint.SubnetIds)
			}
			return err
		},
	}
}

// route deletes the route of a subnet to the internet. It belongs to the customer, and the way through the endpoint does not
// need it.
func (p *privateLink) route() breakage {
	var table string
	var route types.Route
	return breakage{
		name: "a route to the internet is deleted",
		do: func(ctx context.Context) error {
			tables, err := p.tenant.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: []types.Filter{
				{Name: aws.String("association.subnet-id"), Values: []string{p.h.customer.Subnets[0].ID}},
			}})
			if err != nil {
				return err
			}
			for _, t := range tables.RouteTables {
				for _, r := range t.Routes {
					if aws.ToString(r.DestinationCidrBlock) == everywhere {
						table, route = aws.ToString(t.RouteTableId), r
						_, err := p.tenant.DeleteRoute(ctx, &ec2.DeleteRouteInput{RouteTableId: t.RouteTableId, DestinationCidrBlock: r.DestinationCidrBlock})
						return err
					}
				}
			}
			return fmt.Errorf("subnet %s has no route to %s", p.h.customer.Subnets[0].ID, everywhere)
		},
		mend: func(ctx context.Context) error {
			_, err := p.tenant.CreateRoute(ctx, &ec2.CreateRouteInput{
				RouteTableId: &table, DestinationCidrBlock: route.DestinationCidrBlock, NatGatewayId: route.NatGatewayId,
			})
			return err
		},
		repaired: func(context.Context) error { return nil },
	}
}

const everywhere = "0.0.0.0/0"
