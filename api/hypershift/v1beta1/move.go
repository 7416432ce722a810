package v1beta1

import (
	"cmp"
	"time"
)

// EndpointOwner returns the value of the owner tag of the cluster's VPC endpoints and of their security groups.
func (in *HostedControlPlane) EndpointOwner() string {
	if in.Annotations[PreviousEndpointsAnnotation] == PreviousEndpointsAdopt {
		return cmp.Or(in.Annotations[MovedFromAnnotation], string(in.UID))
	}
	return string(in.UID)
}

// ReplacedEndpointOwner returns the owner of the VPC endpoints that lose their private records to those of this cluster, or "".
func (in *HostedControlPlane) ReplacedEndpointOwner() string {
	if in.Annotations[PreviousEndpointsAnnotation] == PreviousEndpointsReplace {
		return in.Annotations[MovedFromAnnotation]
	}
	return ""
}

// PrivateRecordTTL returns how long resolvers may cache the private records of the control plane; 0 for the default. It ignores an invalid
// value.
func (in *HostedControlPlane) PrivateRecordTTL() time.Duration {
	ttl, err := time.ParseDuration(in.Annotations[PrivateRecordTTLAnnotation])
	if err != nil || ttl < time.Second || ttl > 24*time.Hour {
		return 0
	}
	return ttl
}

// IsHandedOver reports whether another management cluster has taken the cluster over.
func (in *HostedControlPlane) IsHandedOver() bool {
	return in.Annotations[HandedOverAnnotation] == "true"
}

// IsHandedOver reports whether another management cluster has taken the cluster over.
func (in *HostedCluster) IsHandedOver() bool { return in.Annotations[HandedOverAnnotation] == "true" }
