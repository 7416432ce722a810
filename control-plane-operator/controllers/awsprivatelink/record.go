package awsprivatelink

import (
	"context"
	"slices"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// record records, before anything is created, what its deletion will need. The
// HostedControlPlane may be gone by then.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	if err := s.status.AddFinalizer(ctx, hyperv1.ControlPlaneOperatorFinalizer); err != nil {
		return err
	}
	s.cleanup = cleanupOf(s.hcp)
	s.es.Status.Cleanup = s.cleanup
	s.recordTags()
	return s.status.Write(ctx)
}

// hooks record that a resource is being created before the call that creates it:
// the id is in the answer, and the process may die before it. Later changes of
// the resource become events.
func (r *Reconciler) hooks(s *scope, of hyperv1.AWSEndpointResource) awsx.Hooks {
	return awsx.Hooks{
		BeforeCreate: func(ctx context.Context) error {
			if slices.Contains(s.es.Status.Creating, of) {
				return nil
			}
			s.es.Status.Creating = append(s.es.Status.Creating, of)
			return s.status.Write(ctx)
		},
		OnChange: func(id, what string) { r.reportChange(s.es, id, what) },
		OnSkip:   func(id, what string) { r.reportSkip(s.es, id, what) },
	}
}

// made is called when the outcome of a creation is known.
func (s *scope) made(of hyperv1.AWSEndpointResource) {
	s.es.Status.Creating = slices.DeleteFunc(s.es.Status.Creating, func(c hyperv1.AWSEndpointResource) bool { return c == of })
}

func cleanupOf(hcp *hyperv1.HostedControlPlane) *hyperv1.AWSEndpointCleanup {
	aws := hcp.Spec.Platform.AWS
	c := &hyperv1.AWSEndpointCleanup{
		HostedControlPlane: hcp.Name,
		OwnerUID:           string(hcp.UID),
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
