package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of an AWSEndpointService. The HostedCluster carries both,
// summarized over all its AWSEndpointServices.
const (
	// AWSEndpointServiceAvailable says that the VPC endpoint service in the
	// management account is there, as it should be, and open to the customer's
	// role. False: read the message; it names the call or the object to change.
	AWSEndpointServiceAvailable = "AWSEndpointServiceAvailable"
	// AWSEndpointAvailable says that the VPC endpoint in the customer's account
	// is available and that its names resolve. False: read the message; while a
	// new endpoint is pending (some minutes) nothing needs to be done.
	AWSEndpointAvailable = "AWSEndpointAvailable"
)

// AWSEndpointServiceSpec says which load balancer is offered to which subnets.
type AWSEndpointServiceSpec struct {
	// NetworkLoadBalancerName is the load balancer to offer. The
	// control-plane-operator writes it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	NetworkLoadBalancerName string `json:"networkLoadBalancerName,omitempty"`

	// SubnetIDs are the subnets of all node pools, sorted. The
	// hypershift-operator writes them. How many of them the endpoint takes is
	// decided by their zones: one subnet in each zone that the service serves.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(s, s.startsWith('subnet-'))",message="subnetIDs must be ids of subnets, such as subnet-0123456789abcdef0"
	// +listType=set
	SubnetIDs []string `json:"subnetIDs,omitempty"`

	// ResourceTags are put on everything that is made in AWS.
	// +optional
	// +kubebuilder:validation:MaxItems=25
	// +listType=map
	// +listMapKey=key
	ResourceTags []AWSResourceTag `json:"resourceTags,omitempty"`
}

// AWSEndpointServiceStatus has two writers: each operator applies its half
// under its own field owner.
type AWSEndpointServiceStatus struct {
	// EndpointServiceName is the name of the VPC endpoint service, for the
	// customer's side to connect to. By the hypershift-operator.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	EndpointServiceName string `json:"endpointServiceName,omitempty"`

	// NetworkLoadBalancerARN is the load balancer that the service stands on.
	// By the hypershift-operator.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	NetworkLoadBalancerARN string `json:"networkLoadBalancerARN,omitempty"`

	// AvailabilityZoneIDs are the ids of the zones that the service serves, such
	// as use1-az1. Names of zones mean something else in every account; ids do
	// not. By the hypershift-operator.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	AvailabilityZoneIDs []string `json:"availabilityZoneIDs,omitempty"`

	// EndpointID is the VPC endpoint in the customer's VPC. By the
	// control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	EndpointID string `json:"endpointID,omitempty"`

	// DNSNames are the records that point to the endpoint. By the
	// control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=set
	DNSNames []string `json:"dnsNames,omitempty"`

	// DNSZoneID is the private hosted zone of those records. By the
	// control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	DNSZoneID string `json:"dnsZoneID,omitempty"`

	// SecurityGroupID is the security group of the endpoint. By the
	// control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	SecurityGroupID string `json:"securityGroupID,omitempty"`

	// Cleanup is what is needed to delete everything again without the
	// HostedControlPlane. It is recorded before anything is made. By the
	// control-plane-operator.
	// +optional
	Cleanup *AWSEndpointCleanup `json:"cleanup,omitempty"`

	// Creating names what creation has been reached of and whose id is not
	// written down yet. An operator that dies in between may have left one that
	// AWS does not list for a while. By the control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxItems=2
	// +listType=set
	Creating []AWSEndpointResource `json:"creating,omitempty"`

	// TagKeys are the keys of the user's tags that what we made may carry: one
	// that the user takes back is removed from there. By the
	// control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	TagKeys []string `json:"tagKeys,omitempty"`

	// Conditions of both halves.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AWSEndpointResource is a kind of resource in the customer's account.
// +kubebuilder:validation:Enum=SecurityGroup;VPCEndpoint
type AWSEndpointResource string

const (
	// SecurityGroupResource is the security group of the endpoint.
	SecurityGroupResource AWSEndpointResource = "SecurityGroup"
	// VPCEndpointResource is the endpoint.
	VPCEndpointResource AWSEndpointResource = "VPCEndpoint"
)

// AWSEndpointCleanup is what deleting the customer's half needs.
type AWSEndpointCleanup struct {
	// HostedControlPlane is the name of the control plane that it serves.
	// +kubebuilder:validation:MaxLength=253
	HostedControlPlane string `json:"hostedControlPlane"`
	// OwnerUID is the UID of that HostedControlPlane: the value of the tag that
	// everything carries which belongs to us.
	// +kubebuilder:validation:MaxLength=63
	OwnerUID string `json:"ownerUID"`
	// InfraID of the cluster.
	// +kubebuilder:validation:MaxLength=253
	InfraID string `json:"infraID"`
	// Region of everything.
	// +kubebuilder:validation:MaxLength=255
	Region string `json:"region"`
	// VPC of the endpoint.
	// +kubebuilder:validation:MaxLength=255
	VPC string `json:"vpc"`
	// IssuerURL goes into the tokens by which AWS knows us.
	// +kubebuilder:validation:MaxLength=255
	IssuerURL string `json:"issuerURL"`
	// RoleARN is the role that we assume with those tokens.
	// +kubebuilder:validation:MaxLength=2048
	RoleARN string `json:"roleARN"`
	// EndpointRoleARN is the role, assumed from there, that owns the endpoint
	// of a shared VPC.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	EndpointRoleARN string `json:"endpointRoleARN,omitempty"`
	// DNSRoleARN is the role, assumed from there, that owns the records of a
	// shared VPC.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	DNSRoleARN string `json:"dnsRoleARN,omitempty"`
}

// AWSEndpointService offers one internal load balancer of a control plane to
// the customer's VPC by PrivateLink. The hypershift-operator makes the endpoint
// service in the management account, the control-plane-operator the endpoint,
// its security group and its records in the customer's.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=awsendpointservices,scope=Namespaced,shortName=awsep
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.status.endpointServiceName`
// +kubebuilder:printcolumn:name="ServiceAvailable",type=string,JSONPath=`.status.conditions[?(@.type=="AWSEndpointServiceAvailable")].status`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpointID`
// +kubebuilder:printcolumn:name="EndpointAvailable",type=string,JSONPath=`.status.conditions[?(@.type=="AWSEndpointAvailable")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="AWSEndpointAvailable")].message`
// +kubebuilder:printcolumn:name="NLB",type=string,priority=1,JSONPath=`.spec.networkLoadBalancerName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +genclient
type AWSEndpointService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec AWSEndpointServiceSpec `json:"spec,omitempty"`
	// +optional
	Status AWSEndpointServiceStatus `json:"status,omitempty"`

	unreadable `json:"-"`
}

// AWSEndpointServiceList is a list of AWSEndpointServices.
// +kubebuilder:object:root=true
type AWSEndpointServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AWSEndpointService `json:"items"`
}

// UnmarshalJSON decodes what can be decoded; see Unreadable.
func (in *AWSEndpointService) UnmarshalJSON(text []byte) (err error) {
	type plain AWSEndpointService
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec, "status": &in.Status,
	})
	return err
}
