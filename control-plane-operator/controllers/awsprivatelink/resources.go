package awsprivatelink

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// resources returns the AWS resources of an AWSEndpointService, in the order of creation.
func (r *Reconciler) resources() []ledger.Resource[*scope] {
	return []ledger.Resource[*scope]{
		{
			Name: "security group", Entry: entryOf(hyperv1.SecurityGroupResource),
			Ensure: r.ensureSecurityGroup, Delete: r.deleteSecurityGroup,
			// One subnet for each zone that the service serves.
			Beside: []reconcile.Step[*scope]{{Name: "subnets", Run: r.resolveSubnets}},
		},
		{
			Name: "endpoint", Entry: entryOf(hyperv1.VPCEndpointResource),
			Ensure: r.ensureEndpoint, Ready: r.endpointReady, Delete: r.deleteEndpoint,
		},
		ledger.WithoutEntry("records", r.ensureRecords, r.deleteRecords),
		ledger.WithoutEntry("private names", r.ensurePrivateNames, r.deletePrivateNames),
	}
}

func (r *Reconciler) newLedger() *ledger.Ledger[*scope] {
	return ledger.New(ledger.Options[*scope]{
		Recorder: r.Recorder, Clock: r.Clock,
		Object:     func(s *scope) client.Object { return s.es },
		Finalizer:  hyperv1.ControlPlaneOperatorFinalizer,
		Store:      func(s *scope) ledger.Store { return s.status },
		Prepare:    func(s *scope) { s.es.Status.Cleanup = cleanupOf(s.hcp) },
		HasRecord:  func(s *scope) bool { return s.es.Status.Cleanup != nil },
		UserTags:   (*scope).userTags,
		TagKeys:    func(s *scope) *[]string { return &s.es.Status.TagKeys },
		Open:       r.openAccount,
		Invalidate: func(s *scope) { s.account.invalidate(0) },
		Last:       r.isLast,
		Released:   func(s *scope) { s.es.Status.DNSNames = nil },
		Awaiting: reconcile.Waiting{
			Reason: hyperv1.EndpointDeletingReason, Message: "waiting until AWS would list a resource that may just have been created",
		},
		Resources: r.resources(),
	})
}

// cleanupOf returns the record that deletion will need. The HostedControlPlane may be gone by then.
func cleanupOf(hcp *hyperv1.HostedControlPlane) *hyperv1.AWSEndpointCleanup {
	aws := hcp.Spec.Platform.AWS
	c := &hyperv1.AWSEndpointCleanup{
		HostedControlPlane: hcp.Name,
		OwnerUID:           hcp.EndpointOwner(),
		InfraID:            hcp.Spec.InfraID,
		Region:             aws.Region,
		VPC:                aws.CloudProviderConfig.VPC,
		IssuerURL:          hcp.Spec.IssuerURL,
		RoleARN:            string(aws.RolesRef.ControlPlaneOperatorARN),
	}
	if shared := aws.SharedVPC; shared != nil {
		c.EndpointRoleARN = string(shared.RolesRef.ControlPlaneARN)
		c.DNSRoleARN = string(shared.RolesRef.IngressARN)
	}
	return c
}

// isLast is true if the cluster has no other AWSEndpointService.
func (r *Reconciler) isLast(ctx context.Context, s *scope) (bool, error) {
	list := &hyperv1.AWSEndpointServiceList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.es.Namespace)); err != nil {
		return false, fmt.Errorf("listing AWSEndpointServices: %w", err)
	}
	return !slices.ContainsFunc(list.Items, func(other hyperv1.AWSEndpointService) bool { return other.UID != s.es.UID }), nil
}

// An entry is in the status: the id in a field of its own, the intent in status.creating.
type entry struct {
	st *hyperv1.AWSEndpointServiceStatus
	of hyperv1.AWSEndpointResource
}

func entryOf(of hyperv1.AWSEndpointResource) func(*scope) ledger.Entry {
	return func(s *scope) ledger.Entry { return entry{&s.es.Status, of} }
}

func (e entry) ID() string      { return *e.st.ResourceID(e.of) }
func (e entry) SetID(id string) { *e.st.ResourceID(e.of) = id }
func (e entry) Creating() bool  { return slices.Contains(e.st.Creating, e.of) }

func (e entry) SetCreating(creating bool) {
	e.st.Creating = slices.DeleteFunc(e.st.Creating, func(r hyperv1.AWSEndpointResource) bool { return r == e.of })
	if creating {
		e.st.Creating = append(e.st.Creating, e.of)
	}
}

// role is the value of the role tag of everything that this object has in AWS.
func (s *scope) role() string { return s.es.Name + roleSuffix }

// isEndpointRole is true for the role tags of AWSEndpointServices. The cluster has
// other resources in the VPC, which stay while there are workers.
func isEndpointRole(role string) bool { return strings.HasSuffix(role, roleSuffix) }

const roleSuffix = "-endpoint"

// tags of everything that this object has in AWS.
func (s *scope) tags(name string) awsx.Tags {
	return awsx.OwnedTags(s.userTags(), s.cleanup.OwnerUID, s.role(), s.cleanup.InfraID, name)
}

func (s *scope) userTags() awsx.Tags { return awsx.UserTags(s.hcp.Spec.Platform.AWS.ResourceTags) }
