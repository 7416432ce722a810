package endpointservice

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/ec2util"
)

// A Deletion names the service to delete.
type Deletion struct {
	Owner
	// RejectConnections disconnects the endpoints that are still connected. Without
	// it their owner has to delete them.
	RejectConnections bool
}

// Remaining holds the services that still exist after a call of Delete.
type Remaining struct {
	// Found is the name of a service that was found, or "".
	Found string
	// Deleting holds the ids of services that AWS is still deleting.
	Deleting []string
	// Endpoints holds the ids of the VPC endpoints that are still connected.
	Endpoints []string
}

// Done is true if no service and no endpoint remains.
func (r Remaining) Done() bool { return len(r.Deleting) == 0 && len(r.Endpoints) == 0 }

// Delete starts to delete every service of the owner and returns the remaining services.
func (s *Services) Delete(ctx context.Context, d Deletion) (Remaining, error) {
	var remaining Remaining
	mine, err := s.findAll(ctx, d.Owner)
	if err != nil {
		return remaining, err
	}
	for _, svc := range mine {
		remaining.Found = svc.Name
		if err := s.deleteOne(ctx, svc, d.RejectConnections, &remaining); err != nil {
			return remaining, s.invalidate(d.Owner, svc.ID, err)
		}
	}
	if remaining.Done() {
		s.all.Remove(d.key())
	}
	return remaining, nil
}

// findAll trusts the cache for services that it has. If it has none, AWS is called
// again, because no later reconcile would find them. Only a service with our owner
// tag may be deleted.
func (s *Services) findAll(ctx context.Context, owner Owner) ([]Service, error) {
	mine, err := s.cached(ctx, owner)
	mine = slices.DeleteFunc(slices.Clone(mine), func(svc Service) bool { return ownerIn(svc.tags) != owner })
	if err != nil || len(mine) > 0 {
		return mine, err
	}
	return s.lookUp(ctx, owner)
}

func (s *Services) deleteOne(ctx context.Context, svc Service, reject bool, remaining *Remaining) error {
	ctrl.LoggerFrom(ctx).Info("Deleting endpoint service", "service", svc.ID)
	out, err := s.api.DeleteVpcEndpointServiceConfigurations(ctx, &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{svc.ID}})
	if err != nil {
		return fmt.Errorf("deleting endpoint service %s: %w", svc.ID, err)
	}
	refused := ec2util.Refusal("DeleteVpcEndpointServiceConfigurations", out.Unsuccessful)
	switch {
	case awsx.IsNotFound(refused):
		return nil
	case awsx.Code(refused) == "ExistingVpcEndpointConnections":
		return s.disconnect(ctx, svc.ID, reject, remaining)
	case refused != nil:
		return fmt.Errorf("deleting endpoint service %s: %w", svc.ID, refused)
	}
	// The load balancer cannot go before the service is really gone.
	_, found, err := s.get(ctx, svc.ID)
	if err == nil && found {
		remaining.Deleting = append(remaining.Deleting, svc.ID)
	}
	return err
}

// disconnect reports the endpoints that are still connected, and rejects them if
// that was requested.
func (s *Services) disconnect(ctx context.Context, id string, reject bool, remaining *Remaining) error {
	live, err := s.connections(ctx, id)
	if err != nil {
		return err
	}
	remaining.Endpoints = append(remaining.Endpoints, ids(live)...)
	if len(live) == 0 {
		// The list lags: AWS has just refused the deletion because of connections.
		remaining.Deleting = append(remaining.Deleting, id)
	}
	if !reject {
		return nil
	}
	return s.reject(ctx, id, live)
}
