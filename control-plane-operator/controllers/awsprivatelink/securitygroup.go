package awsprivatelink

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureSecurityGroup allows the machines of the cluster to connect to the endpoint.
func (r *Reconciler) ensureSecurityGroup(ctx context.Context, s *scope) error {
	rules, err := rules(s.es.Name, s.hcp.Spec.Networking.MachineNetwork)
	if err != nil {
		return err
	}
	name := s.cleanup.InfraID + "-vpce-" + s.es.Name
	tags := s.tags(name)
	id, err := s.account.groups.Ensure(ctx, securitygroup.Spec{
		Role:        s.role(),
		Name:        name,
		Description: "VPC endpoint " + s.es.Name + " of " + s.cleanup.InfraID,
		VPC:         s.cleanup.VPC,
		Rules:       rules,
		Tags:        tags,
		StaleTags:   tags.Stale(s.es.Status.TagKeys),
		Hooks:       r.hooks(s, hyperv1.SecurityGroupResource),
	})
	if id != "" {
		s.made(hyperv1.SecurityGroupResource)
		s.es.Status.SecurityGroupID = id
	}
	var taken *securitygroup.TakenError
	if errors.As(err, &taken) {
		return reconcile.Wait(time.Minute, hyperv1.SecurityGroupNameTakenReason, "%s", taken)
	}
	return err
}

// rules allow every machine network the port of the load balancer.
func rules(service string, machines []hyperv1.MachineNetworkEntry) ([]securitygroup.Rule, error) {
	port := int32(443)
	if service == names.KubeAPIServerPrivate {
		port = 6443
	}
	var out []securitygroup.Rule
	for _, m := range machines {
		network, err := netip.ParsePrefix(m.CIDR)
		if err != nil {
			return nil, reconcile.Block(hyperv1.InvalidPlatformReason, "networking.machineNetwork %q is not a network such as 10.0.0.0/16", m.CIDR)
		}
		out = append(out, securitygroup.Rule{
			Protocol: "tcp", From: port, To: port, Source: network.Masked(), Description: "Control plane service",
		})
	}
	if len(out) == 0 {
		return nil, reconcile.Block(hyperv1.InvalidPlatformReason, "networking.machineNetwork is empty: no machine could reach the endpoint")
	}
	slices.SortFunc(out, func(a, b securitygroup.Rule) int { return a.Source.Compare(b.Source) })
	return out, nil
}
