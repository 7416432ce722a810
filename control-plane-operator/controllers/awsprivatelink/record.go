package awsprivatelink

import (
	"context"
	"slices"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/owned"
)

// record writes down, before anything is made, what deleting it will need.
// By then the HostedControlPlane may be gone.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	if err := s.status.AddFinalizer(ctx, hyperv1.ControlPlaneOperatorFinalizer); err != nil {
		return err
	}
	s.cleanup = cleanupOf(s.hcp)
	s.es.Status.Cleanup = s.cleanup
	s.recordTags()
	return s.status.Write(ctx)
}

// witness writes down, before a resource is made, that there may be one: its id
// comes only with the answer, which we may not live to hear. What is done to a
// resource later it tells the user.
func (r *Reconciler) witness(s *scope, of hyperv1.AWSEndpointResource) owned.Witness {
	return owned.Witness{
		Creating: func(ctx context.Context) error {
			if slices.Contains(s.es.Status.Creating, of) {
				return nil
			}
			s.es.Status.Creating = append(s.es.Status.Creating, of)
			return s.status.Write(ctx)
		},
		Changed: func(id, what string) { r.tellChange(s.es, id, what) },
		GivenUp: func(id, what string) { r.tellGivenUp(s.es, id, what) },
	}
}

// made says that it is known what came of a creation.
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
