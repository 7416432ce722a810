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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// TestPrivate runs a private cluster with a node in each of three zones, whose only way to the control plane is PrivateLink.
// Then it breaks each part of that way, and waits until the operators have repaired it.
func TestPrivate(t *testing.T) {
	t.Parallel()
	h := newHosted(t, "private", on.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
	h.hc.Spec.Networking.AllocateNodeCIDRs = ptr.To(hyperv1.AllocateNodeCIDRsEnabled)
	h.create()
	var pools []*hyperv1.NodePool
	for i, subnet := range h.customer.Subnets {
		pool := h.nodePool(fmt.Sprintf("workers-%d", i), 1)
		pool.Spec.Platform.AWS.Subnet.ID = ptr.To(subnet.ID)
		h.must(h.management.Create(t.Context(), pool))
		pools = append(pools, pool)
	}
	h.available()
	for _, pool := range pools {
		h.eventually("the node of "+pool.Name+" is ready", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	}
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	runAll(t, h.kubeconfig, onNodes(on.Images["busybox"]))
	h.breakPrivateLink()
}

// breakage is one way to break the connection.
type breakage struct {
	name string
	do   func(context.Context) error
	// repaired returns an error until the operators have repaired it.
	repaired func(context.Context) error
}

// breakPrivateLink breaks the connection in several ways, and logs how long it takes until it is repaired and all nodes are
// ready. The nodes need not be lost before: a node is not ready 40 seconds after its last heartbeat.
func (h *hosted) breakPrivateLink() {
	h.t.Helper()
	p := h.privateLink()
	table := []string{fmt.Sprintf("%-40s %12s %12s %12s", "broken", "nodes lost", "repaired", "nodes ready")}
	for _, b := range []breakage{p.principal(), p.rejection(), p.rules(), p.deletion()} {
		h.t.Run(b.name, func(*testing.T) {
			h.must(b.do(h.t.Context()))
			began := time.Now()
			after := func(what string, check func(context.Context) error) string {
				h.eventually(what, check)
				return fmt.Sprintf("%.0f s", time.Since(began).Seconds())
			}
			lost := "never"
			repaired := after("it is repaired", func(ctx context.Context) error {
				if lost == "never" && h.nodesReady(ctx, 3) != nil {
					lost = fmt.Sprintf("%.0f s", time.Since(began).Seconds())
				}
				return b.repaired(ctx)
			})
			ready := after("all nodes are ready", func(ctx context.Context) error { return h.nodesReady(ctx, 3) })
			h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
			table = append(table, fmt.Sprintf("%-40s %12s %12s %12s", b.name, lost, repaired, ready))
		})
	}
	h.t.Log("\n" + strings.Join(table, "\n"))
}

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
