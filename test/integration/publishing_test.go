package integration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// The API server uses its own load balancer, and in the private modes one more, which PrivateLink offers.
func TestAPIServerWithItsOwnLoadBalancer(t *testing.T) {
	const public, internal = "internet-facing", "internal"
	for mode, want := range map[hyperv1.AWSEndpointAccessType]struct {
		schemes map[string]string // of the load balancers, by Service
		ports   map[string]int32  // of the endpoints, by AWSEndpointService
		api     string
	}{
		hyperv1.Public: {
			schemes: map[string]string{names.KubeAPIServer: public, names.Router: public},
			api:     "api.by-balancer.example.test:6443",
		},
		hyperv1.PublicAndPrivate: {
			schemes: map[string]string{names.KubeAPIServer: public, names.KubeAPIServerPrivate: internal, names.PrivateRouter: internal},
			ports:   map[string]int32{names.KubeAPIServerPrivate: 6443, names.PrivateRouter: 443},
			api:     "api.by-balancer.example.test:6443",
		},
		hyperv1.Private: {
			schemes: map[string]string{names.KubeAPIServerPrivate: internal, names.PrivateRouter: internal},
			ports:   map[string]int32{names.KubeAPIServerPrivate: 6443, names.PrivateRouter: 443},
			api:     "api.example.hypershift.local:6443",
		},
	} {
		t.Run(string(mode), func(t *testing.T) {
			c := newCluster(t, mode)
			host := strings.Replace("api.by-balancer.example.test", "by-balancer", c.hc.Namespace, 1)
			for i := range c.hc.Spec.Services {
				if s := &c.hc.Spec.Services[i]; s.Service == hyperv1.APIServer {
					s.ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{
						Type: hyperv1.LoadBalancer, LoadBalancer: &hyperv1.LoadBalancerPublishingStrategy{Hostname: host},
					}
				}
			}
			c.start()
			c.pool("a", 0)
			eventually(t.Context(), t, "the cluster has the load balancers, endpoints and records of its access mode", func() error {
				return errors.Join(c.published(slices.Sorted(maps.Keys(want.schemes))...), c.connected(len(want.ports)), c.endpoints(len(want.ports)), c.recorded())
			})
			if err := errors.Join(c.schemes(want.schemes), c.open(want.ports)); err != nil {
				t.Error(err)
			}
			hcp := &hyperv1.HostedControlPlane{}
			c.must(kube.Get(t.Context(), client.ObjectKey{Namespace: c.controlPlane(), Name: c.hc.Name}, hcp))
			at := hcp.Status.ControlPlaneEndpoint
			if got, want := fmt.Sprintf("%s:%d", at.Host, at.Port), strings.Replace(want.api, "by-balancer", c.hc.Namespace, 1); got != want {
				t.Errorf("the API is published at %s, want %s", got, want)
			}
		})
	}
}

// recorded returns an error unless the record of each name of the private zone leads to the endpoint that serves it.
func (c *cluster) recorded() error {
	records, err := c.records(c.t.Context())
	if err != nil {
		return err
	}
	count := 0
	for _, es := range c.endpointServices() {
		for _, name := range es.Status.DNSNames {
			count++
			record, ok := records[strings.Replace(name, "*", `\052`, 1)]
			if !ok || len(record.ResourceRecords) != 1 || !strings.HasPrefix(aws.ToString(record.ResourceRecords[0].Value), es.Status.EndpointID+"-") {
				return fmt.Errorf("the record %s does not lead to endpoint %s of %s: %+v", name, es.Status.EndpointID, es.Name, record)
			}
		}
	}
	if len(c.endpointServices()) > 0 && count != 2 {
		return fmt.Errorf("there are %d names, want one for the API and one for all routes", count)
	}
	return nil
}

// schemes returns an error unless the load balancers of the Services have these schemes in AWS.
func (c *cluster) schemes(want map[string]string) error {
	out, err := elbv2.NewFromConfig(on.AWS.Config(on.Management.Account)).DescribeLoadBalancers(c.t.Context(), &elbv2.DescribeLoadBalancersInput{})
	if err != nil {
		return err
	}
	found := map[string]string{}
	for name := range want {
		svc := &corev1.Service{}
		if err := kube.Get(c.t.Context(), client.ObjectKey{Namespace: c.controlPlane(), Name: name}, svc); err != nil {
			return err
		}
		for _, lb := range out.LoadBalancers {
			if aws.ToString(lb.DNSName) == svc.Status.LoadBalancer.Ingress[0].Hostname {
				found[name] = string(lb.Scheme)
			}
		}
	}
	if !maps.Equal(found, want) {
		return fmt.Errorf("the schemes of the load balancers are %v, want %v", found, want)
	}
	return nil
}

// open returns an error unless the security group of each endpoint admits the port of its service, and no other.
func (c *cluster) open(want map[string]int32) error {
	found := map[string]int32{}
	for _, es := range c.endpointServices() {
		endpoint, err := c.ec2().DescribeVpcEndpoints(c.t.Context(), &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{es.Status.EndpointID}})
		if err != nil {
			return err
		}
		var groups []string
		for _, g := range endpoint.VpcEndpoints[0].Groups {
			groups = append(groups, aws.ToString(g.GroupId))
		}
		out, err := c.ec2().DescribeSecurityGroups(c.t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: groups})
		if err != nil {
			return err
		}
		for _, g := range out.SecurityGroups {
			for _, p := range g.IpPermissions {
				if aws.ToInt32(p.FromPort) != aws.ToInt32(p.ToPort) {
					return fmt.Errorf("the endpoint of %s admits ports %d to %d", es.Name, aws.ToInt32(p.FromPort), aws.ToInt32(p.ToPort))
				}
				found[es.Name] = aws.ToInt32(p.FromPort)
			}
		}
	}
	if len(found) != len(want) || !maps.Equal(found, want) && len(want) > 0 {
		return fmt.Errorf("the endpoints admit ports %v, want %v", found, want)
	}
	return nil
}
