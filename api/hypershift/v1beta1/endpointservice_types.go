package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of an AWSEndpointService. The HostedCluster summarizes both over all its AWSEndpointServices.
const (
	// AWSEndpointServiceAvailable is True when the VPC endpoint service in the management account exists, matches the desired state
	// and accepts connections of the customer's role.
	AWSEndpointServiceAvailable = "AWSEndpointServiceAvailable"
	// AWSEndpointAvailable is True when the VPC endpoint in the customer's account is available and its DNS records exist. A new
	// endpoint is pending for some minutes.
	AWSEndpointAvailable = "AWSEndpointAvailable"
)

// AWSEndpointServiceSpec defines which load balancer is offered to which subnets.
type AWSEndpointServiceSpec struct {
	// NetworkLoadBalancerName is the load balancer to offer. The
	// control-plane-operator writes it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	NetworkLoadBalancerName string `json:"networkLoadBalancerName,omitempty"`

	// SubnetIDs are the subnets of all node pools, sorted. The hypershift-operator writes them. The endpoint uses one
	// subnet in each zone that the endpoint service supports.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(s, s.startsWith('subnet-'))",message="subnetIDs must be ids of subnets, such as subnet-0123456789abcdef0"
	// +listType=set
	SubnetIDs []string `json:"subnetIDs,omitempty"`

	// ResourceTags are added to every AWS resource that the operators create for this object.
	// +optional
	// +kubebuilder:validation:MaxItems=25
	// +listType=map
	// +listMapKey=key
	ResourceTags []AWSResourceTag `json:"resourceTags,omitempty"`
}

// AWSEndpointServiceStatus has two writers. Each operator applies its own fields with its own field owner.
type AWSEndpointServiceStatus struct {
	// EndpointServiceName is the name of the VPC endpoint service, to which the customer's endpoint connects. Written
	// by the hypershift-operator.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	EndpointServiceName string `json:"endpointServiceName,omitempty"`

	// NetworkLoadBalancerARN is the load balancer of the endpoint service. Written by the hypershift-operator.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	NetworkLoadBalancerARN string `json:"networkLoadBalancerARN,omitempty"`

	// AvailabilityZoneIDs are the ids of the zones that the endpoint service supports, such as use1-az1. The same
	// zone has the same id in every account, but may have different names. Written by the hypershift-operator.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	AvailabilityZoneIDs []string `json:"availabilityZoneIDs,omitempty"`

	// EndpointID is the VPC endpoint in the customer's VPC. Written by the control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	EndpointID string `json:"endpointID,omitempty"`

	// DNSNames are the DNS records that point to the endpoint. Written by the control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=set
	DNSNames []string `json:"dnsNames,omitempty"`

	// DNSZoneID is the private hosted zone of those records. Written by the control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	DNSZoneID string `json:"dnsZoneID,omitempty"`

	// SecurityGroupID is the security group of the endpoint. Written by the control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	SecurityGroupID string `json:"securityGroupID,omitempty"`

	// Cleanup is the data that deletion needs without the HostedControlPlane. It is recorded before any AWS resource
	// is created. Written by the control-plane-operator.
	// +optional
	Cleanup *AWSEndpointCleanup `json:"cleanup,omitempty"`

	// Creating lists the resources that the operator has started to create without having recorded their id. If the
	// operator stops at this point, there may be a resource that AWS does not list for a while. Written by the
	// control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxItems=2
	// +listType=set
	Creating []AWSEndpointResource `json:"creating,omitempty"`

	// TagKeys are the keys of the user's tags that the resources may have. When the user removes a tag, it is removed
	// from the resources. Written by the control-plane-operator.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	TagKeys []string `json:"tagKeys,omitempty"`

	// Conditions are the conditions of both operators.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AWSEndpointResource is a type of resource in the customer's account.
// +kubebuilder:validation:Enum=SecurityGroup;VPCEndpoint
type AWSEndpointResource string

const (
	// SecurityGroupResource is the security group of the endpoint.
	SecurityGroupResource AWSEndpointResource = "SecurityGroup"
	// VPCEndpointResource is the endpoint.
	VPCEndpointResource AWSEndpointResource = "VPCEndpoint"
)

// awsEndpointResources is the table of the resources that have an id: the name for users, and the field with the id.
// A row also needs a value of the enum above and a place in the maximum of Creating.
var awsEndpointResources = []struct {
	resource AWSEndpointResource
	name     string
	id       func(*AWSEndpointServiceStatus) *string
}{
	{VPCEndpointResource, "VPC endpoint", func(st *AWSEndpointServiceStatus) *string { return &st.EndpointID }},
	{SecurityGroupResource, "security group", func(st *AWSEndpointServiceStatus) *string { return &st.SecurityGroupID }},
}

// ResourceID returns the field with the id of a resource.
func (st *AWSEndpointServiceStatus) ResourceID(resource AWSEndpointResource) *string {
	for _, row := range awsEndpointResources {
		if row.resource == resource {
			return row.id(st)
		}
	}
	panic("there is no resource " + string(resource))
}

// EachResource yields the name for users and the id of every resource that is recorded.
func (st *AWSEndpointServiceStatus) EachResource(yield func(name, id string) bool) {
	for _, row := range awsEndpointResources {
		if id := *row.id(st); id != "" && !yield(row.name, id) {
			return
		}
	}
}

// AWSEndpointCleanup is the data that deletion of the resources in the customer's account needs.
type AWSEndpointCleanup struct {
	// HostedControlPlane is the name of the HostedControlPlane.
	// +kubebuilder:validation:MaxLength=253
	HostedControlPlane string `json:"hostedControlPlane"`
	// OwnerUID is the UID of that HostedControlPlane: the value of the owner tag of every resource.
	// +kubebuilder:validation:MaxLength=63
	OwnerUID string `json:"ownerUID"`
	// InfraID is the infraID of the cluster.
	// +kubebuilder:validation:MaxLength=253
	InfraID string `json:"infraID"`
	// Region is the region of the resources.
	// +kubebuilder:validation:MaxLength=255
	Region string `json:"region"`
	// VPC is the VPC of the endpoint.
	// +kubebuilder:validation:MaxLength=255
	VPC string `json:"vpc"`
	// IssuerURL is the issuer of the tokens with which the operator authenticates to AWS.
	// +kubebuilder:validation:MaxLength=255
	IssuerURL string `json:"issuerURL"`
	// RoleARN is the role that the operator assumes with those tokens.
	// +kubebuilder:validation:MaxLength=2048
	RoleARN string `json:"roleARN"`
	// EndpointRoleARN is the role for the endpoint in a shared VPC. It is assumed from RoleARN.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	EndpointRoleARN string `json:"endpointRoleARN,omitempty"`
	// DNSRoleARN is the role for the DNS records of a shared VPC. It is assumed from RoleARN.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	DNSRoleARN string `json:"dnsRoleARN,omitempty"`
}

// AWSEndpointService offers one internal load balancer of a control plane to the customer's VPC by PrivateLink. The
// hypershift-operator creates the endpoint service in the management account. The control-plane-operator creates the
// endpoint, its security group and its DNS records in the customer's account.
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

// UnmarshalJSON decodes all fields that can be decoded; see Unreadable.
func (in *AWSEndpointService) UnmarshalJSON(text []byte) (err error) {
	type plain AWSEndpointService
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec, "status": &in.Status,
	})
	return err
}
