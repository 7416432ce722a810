package awsprivatelink

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// inUse is for a security group that is still attached.
var inUse = ledger.Backoff{First: 300 * time.Millisecond, Limit: 30 * time.Second}

func (a *account) groups() *securitygroup.Manager { return open(a, securitygroup.Shared) }

// ensureSecurityGroup allows the machines of the cluster to connect to the endpoint.
func (r *Reconciler) ensureSecurityGroup(ctx context.Context, s *scope, claim ledger.Claim) (ledger.Observed, error) {
	rules, err := rules(s.es.Name, s.hcp.Spec.Networking.MachineNetwork)
	if err != nil {
		return ledger.Observed{}, err
	}
	name := s.groupName()
	tags := s.tags(name)
	id, err := s.account.groups().Ensure(ctx, securitygroup.Spec{
		Role:        s.role(),
		Name:        name,
		Description: "VPC endpoint " + s.es.Name + " of " + s.cleanup.InfraID,
		VPC:         s.cleanup.VPC,
		Rules:       rules,
		Tags:        tags,
		StaleTags:   tags.Stale(claim.TagKeys),
		Hooks:       claim.Hooks,
	})
	var taken *securitygroup.TakenError
	if errors.As(err, &taken) {
		err = reconcile.Wait(time.Minute, hyperv1.SecurityGroupNameTakenReason, "%s", taken)
	}
	return ledger.Observed{ID: id, Usable: true}, err
}

// groupName returns the name of the group. It is unique in the VPC. While a cluster moves, the management cluster that it comes from has a
// group, too.
func (s *scope) groupName() string {
	name := s.cleanup.InfraID + "-vpce-" + s.es.Name
	if own := string(s.hcp.UID); s.hcp.Annotations[hyperv1.MovedFromAnnotation] != "" && s.hcp.EndpointOwner() == own {
		name += "-" + own[:min(len(own), 8)]
	}
	return name
}

// deleteSecurityGroup waits until the group is no longer in use.
func (r *Reconciler) deleteSecurityGroup(ctx context.Context, s *scope, d ledger.Deletion) (found bool, err error) {
	all, err := s.account.groups().List(ctx)
	if err != nil {
		return false, err
	}
	isOurs := func(role string) bool { return role == s.role() }
	// There is no other: its name is unique.
	found = slices.ContainsFunc(all, func(g securitygroup.Group) bool { return isOurs(g.Tags[awsx.RoleTag]) })
	if d.Sweep {
		isOurs = isEndpointRole
	}
	err = s.account.groups().Delete(ctx, isOurs, d.ID)
	if awsx.IsInUse(err) {
		err = reconcile.Wait(r.ledger.Delay(s, inUse), hyperv1.SecurityGroupInUseReason, "security group %s is still in use: %s", d.ID, awsx.Message(err))
	}
	return found, err
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
