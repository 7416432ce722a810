package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
	"github.com/hosted-control-planes/hypershift/test/fixture/testenv"
)

const (
	namespace = "clusters"
	cluster   = "example"
	infraID   = "example-x7k2p"
)

// demo is the environment, the printer, and the options.
type demo struct {
	environment *testenv.Environment
	customer    *accounts.Customer
	camera      *camera
	printer     *printer
	access      string
	patience    time.Duration // for one phase
	last        snapshot
}

// sample is the file of the access mode.
func (s *demo) sample() string { return "hostedcluster-" + strings.ToLower(s.access) + ".yaml" }

func (s *demo) apply(ctx context.Context, files ...string) error {
	for _, file := range files {
		s.printer.print(event{appeared, "you", "kubectl apply -f config/samples/" + file})
		if err := s.environment.ApplyFiles(ctx, s.customer.Variables, s.environment.Path("config", "samples", file)); err != nil {
			return err
		}
	}
	return nil
}

// create is the first phase: it applies the samples and waits for all resources of the access mode.
func (s *demo) create(ctx context.Context) error {
	s.printer.phase("Create a cluster with access mode %s.", s.access)
	if err := s.apply(ctx, s.sample(), "nodepools.yaml"); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go func() {
		if err := s.startMachines(ctx); err != nil {
			fail(err)
		}
	}()
	return s.watch(ctx, func(p snapshot) []string { return s.incomplete(ctx, p, 2) })
}

// scale is a phase: it changes the replicas of a pool, and a machine joins.
func (s *demo) scale(ctx context.Context) error {
	s.printer.phase("Scale a NodePool up.")
	s.printer.print(event{changed, "you", "kubectl scale nodepool example-a --replicas=3"})
	pools := s.camera.objects.Resource(hypershift("nodepools")).Namespace(namespace)
	_, err := pools.Patch(ctx, cluster+"-a", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}, "scale")
	if err != nil {
		return fmt.Errorf("scaling a pool: %w", err)
	}
	return s.watch(ctx, func(p snapshot) []string { return s.incomplete(ctx, p, 2) })
}

// grow is a phase for clusters with an endpoint: it adds a pool in a third zone, and the endpoint gets the subnet.
func (s *demo) grow(ctx context.Context) error {
	if s.access == "Public" {
		return nil
	}
	s.printer.phase("Add a NodePool in a third zone; the endpoint gets its subnet.")
	if err := s.apply(ctx, "nodepool-third-zone.yaml"); err != nil {
		return err
	}
	return s.watch(ctx, func(p snapshot) []string { return s.incomplete(ctx, p, 3) })
}

// open is a phase for a private cluster: it adds a public address and keeps everything else.
func (s *demo) open(ctx context.Context) error {
	if s.access != "Private" {
		return nil
	}
	s.access = "PublicAndPrivate"
	s.printer.phase("Add a public address to the running cluster.")
	if err := s.apply(ctx, s.sample()); err != nil {
		return err
	}
	return s.watch(ctx, func(p snapshot) []string { return s.incomplete(ctx, p, 3) })
}

// end is the last phase: nothing may be left.
func (s *demo) end(ctx context.Context) error {
	s.printer.phase("Delete the cluster.")
	s.printer.print(event{gone, "you", "kubectl delete hostedcluster " + cluster})
	err := s.camera.objects.Resource(hypershift("hostedclusters")).Namespace(namespace).Delete(ctx, cluster, metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("deleting the HostedCluster: %w", err)
	}
	return s.watch(ctx, func(p snapshot) []string { return s.left(ctx, p) })
}

// loadBalancers are the Services of type LoadBalancer of an access mode.
var loadBalancers = map[string][]string{
	"Public":           {"router"},
	"PublicAndPrivate": {"private-router", "router"},
	"Private":          {"private-router"},
}

// incomplete lists what a cluster with pools in that many subnets lacks, and what does not belong to its access mode.
func (s *demo) incomplete(ctx context.Context, p snapshot, subnets int) []string {
	clusters := p.of(inKubernetes, "HostedCluster")
	if len(clusters) == 0 {
		return []string{"there is no HostedCluster"}
	}
	missing := notTrue(clusters[0], "ValidConfiguration", "ValidOIDCConfiguration", "ValidAWSIdentityProvider", "InfrastructureReady", "Available")
	missing = append(missing, s.withoutNodes(p)...)
	if len(p.of(inKubernetes, "HostedControlPlane")) == 0 {
		missing = append(missing, "there is no HostedControlPlane")
	}
	missing = append(missing, s.unpublished(p)...)
	services := p.of(inKubernetes, "AWSEndpointService")
	if s.access == "Public" {
		if len(services) > 0 {
			missing = append(missing, "a public cluster has an AWSEndpointService")
		}
		return missing
	}
	if len(services) == 0 {
		missing = append(missing, "there is no AWSEndpointService")
	}
	for _, es := range services {
		missing = append(missing, notTrue(es, "AWSEndpointServiceAvailable", "AWSEndpointAvailable")...)
	}
	missing = append(missing, notTrue(clusters[0], "AWSEndpointServiceAvailable", "AWSEndpointAvailable")...)
	if len(p.of(inManagement, "endpoint service")) != len(services) {
		missing = append(missing, "the management account has not an endpoint service for each AWSEndpointService")
	}
	if len(p.of(inCustomer, "DNS record")) < 2 {
		missing = append(missing, "the customer's private zone lacks records")
	}
	if len(missing) > 0 {
		return missing
	}
	return s.endpointsNotIn(ctx, subnets)
}

// unpublished lists load balancers that are missing, have no address, or do not belong to the access mode.
func (s *demo) unpublished(p snapshot) []string {
	var missing, found []string
	for _, service := range p.of(inKubernetes, "Service") {
		found = append(found, service.object.GetName())
		if service.state == noAddress {
			missing = append(missing, "Service "+service.name+" has no address")
		}
	}
	slices.Sort(found)
	if want := loadBalancers[s.access]; !slices.Equal(found, want) {
		missing = append(missing, fmt.Sprintf("the load balancers of a %s cluster are %v, not %v", s.access, want, found))
	}
	return missing
}

// endpointsNotIn reads from AWS in how many subnets the endpoints are.
func (s *demo) endpointsNotIn(ctx context.Context, subnets int) []string {
	out, err := ec2.NewFromConfig(s.environment.AWS.Config(s.customer.Account)).DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{})
	if err != nil {
		return []string{err.Error()}
	}
	if len(out.VpcEndpoints) == 0 {
		return []string{"the customer's account has no VPC endpoint"}
	}
	var missing []string
	for _, e := range out.VpcEndpoints {
		if len(e.SubnetIds) != subnets || e.State != "available" {
			missing = append(missing, fmt.Sprintf("VPC endpoint %s is %s in %d subnets, not available in %d", aws.ToString(e.VpcEndpointId), e.State, len(e.SubnetIds), subnets))
		}
	}
	return missing
}

// left lists what should be deleted.
func (s *demo) left(ctx context.Context, p snapshot) []string {
	var left []string
	for key, t := range p {
		if t.place == inKubernetes && !s.camera.own[key] {
			left = append(left, t.kind+" "+t.name)
		}
	}
	for _, account := range s.camera.accounts {
		found, err := s.environment.AWS.Leftovers(ctx, account)
		if err != nil {
			return []string{err.Error()}
		}
		left = append(left, found...)
	}
	return left
}

func notTrue(t thing, kinds ...string) []string {
	var missing []string
	for _, kind := range kinds {
		if c := t.conditions[kind]; c.status != "True" {
			missing = append(missing, fmt.Sprintf("%s %s is not %s (%s)", t.kind, t.name, kind, c.message))
		}
	}
	return missing
}

// frame is the interval between snapshots.
const frame = 200 * time.Millisecond

// watch prints events until nothing is missing.
func (s *demo) watch(ctx context.Context, missing func(snapshot) []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.patience, errPatience)
	defer cancel()
	began := time.Now()
	next := time.NewTicker(frame)
	defer next.Stop()
	for {
		p, err := s.camera.take(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		var lacks []string
		if err == nil {
			for _, events := range differences(s.last, p) {
				s.printer.print(events)
			}
			s.last = p
			if lacks = missing(p); len(lacks) == 0 {
				s.printer.phase("Done in %.1f s.", time.Since(began).Seconds())
				return nil
			}
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, errPatience) {
				return err
			}
			return fmt.Errorf("after %s:\n  - %s", s.patience, strings.Join(missing(s.last), "\n  - "))
		}
	}
}

var errPatience = errors.New("timeout")
