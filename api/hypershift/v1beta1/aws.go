package v1beta1

// PlatformType is a cloud platform.
// +kubebuilder:validation:Enum=AWS;None
type PlatformType string

const (
	// AWSPlatform runs the workers in an AWS account of the customer.
	AWSPlatform PlatformType = "AWS"
	// NonePlatform hosts a control plane for which this project creates no workers.
	NonePlatform PlatformType = "None"
)

// PlatformSpec defines where the workers run.
type PlatformSpec struct {
	// Type is the platform. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="platform.type cannot be changed; create another cluster"
	Type PlatformType `json:"type"`
	// AWS defines the account, network and roles. Required if type is AWS.
	// +optional
	AWS *AWSPlatformSpec `json:"aws,omitempty"`
}

// PrivateLink reports whether the workers reach the control plane by AWS PrivateLink.
func (p *PlatformSpec) PrivateLink() bool {
	return p.Type == AWSPlatform && p.AWS != nil && (p.AWS.EndpointAccess == Private || p.AWS.EndpointAccess == PublicAndPrivate)
}

// NodeAccess returns by which path new nodes reach the control plane: Public or Private.
func (p *PlatformSpec) NodeAccess() AWSEndpointAccessType {
	if p.PrivateLink() {
		return Private
	}
	return Public
}

// ServedAccess returns the access mode whose load balancers, Routes and endpoints exist: that of spec, with the paths that
// machines still use. A control plane outside of AWS is public.
func (in *HostedControlPlane) ServedAccess() AWSEndpointAccessType {
	if in.Spec.Platform.AWS == nil {
		return Public
	}
	return in.Spec.Platform.AWS.EndpointAccess.With(in.Status.ServedEndpointAccess)
}

// PlatformStatus is the observed state of the platform.
type PlatformStatus struct {
	// +optional
	AWS *AWSPlatformStatus `json:"aws,omitempty"`
}

// AWSPlatformStatus is the observed state of AWS resources.
type AWSPlatformStatus struct {
	// DefaultWorkerSecurityGroupID is the security group of every worker.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	DefaultWorkerSecurityGroupID string `json:"defaultWorkerSecurityGroupID,omitempty"`
}

// AWSEndpointAccessType defines from where clients reach the API of the hosted cluster.
// +kubebuilder:validation:Enum=Public;PublicAndPrivate;Private
type AWSEndpointAccessType string

const (
	// Public: from the internet. The workers use the same address.
	Public AWSEndpointAccessType = "Public"
	// PublicAndPrivate: from the internet, and from the workers' VPC by PrivateLink.
	PublicAndPrivate AWSEndpointAccessType = "PublicAndPrivate"
	// Private: from the workers' VPC by PrivateLink only.
	Private AWSEndpointAccessType = "Private"
)

// Has reports whether an access mode includes a path: Public or Private.
func (a AWSEndpointAccessType) Has(path AWSEndpointAccessType) bool {
	return a == path || a == PublicAndPrivate
}

// With returns the access mode with the paths of both. An empty one has no path.
func (a AWSEndpointAccessType) With(b AWSEndpointAccessType) AWSEndpointAccessType {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	}
	return PublicAndPrivate
}

// AWSPlatformSpec configures the AWS resources of a cluster.
// +kubebuilder:validation:XValidation:rule="has(self.cloudProviderConfig) || !has(oldSelf.cloudProviderConfig)",message="cloudProviderConfig cannot be removed"
// +kubebuilder:validation:XValidation:rule="has(self.sharedVPC) == has(oldSelf.sharedVPC) && (!has(self.sharedVPC) || self.sharedVPC == oldSelf.sharedVPC)",message="sharedVPC can be neither added, changed nor removed: existing resources were created with these roles and in this zone; create another cluster"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cloudProviderConfig) || !has(self.cloudProviderConfig) || self.cloudProviderConfig.vpc == oldSelf.cloudProviderConfig.vpc",message="cloudProviderConfig.vpc cannot be changed: the workers run there"
type AWSPlatformSpec struct {
	// Region is the region of the workers. It cannot be changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="region cannot be changed; create another cluster"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]{2}(-[a-z]+)+-[0-9]+$')",message="region must be the name of an AWS region, such as us-east-1"
	Region string `json:"region"`

	// CloudProviderConfig defines the network of the workers.
	// +optional
	CloudProviderConfig *AWSCloudProviderConfig `json:"cloudProviderConfig,omitempty"`

	// ServiceEndpoints replaces the endpoints of AWS services.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	ServiceEndpoints []AWSServiceEndpoint `json:"serviceEndpoints,omitempty"`

	// RolesRef lists the roles that the components assume. They cannot be changed or removed. Optional ones can be added.
	// +kubebuilder:validation:XValidation:rule="self.kubeCloudControllerARN == oldSelf.kubeCloudControllerARN && self.nodePoolManagementARN == oldSelf.nodePoolManagementARN && self.controlPlaneOperatorARN == oldSelf.controlPlaneOperatorARN",message="rolesRef cannot be changed: existing resources were created with these roles"
	// +kubebuilder:validation:XValidation:rule="(!has(oldSelf.ingressARN) || has(self.ingressARN) && self.ingressARN == oldSelf.ingressARN) && (!has(oldSelf.imageRegistryARN) || has(self.imageRegistryARN) && self.imageRegistryARN == oldSelf.imageRegistryARN) && (!has(oldSelf.storageARN) || has(self.storageARN) && self.storageARN == oldSelf.storageARN) && (!has(oldSelf.networkARN) || has(self.networkARN) && self.networkARN == oldSelf.networkARN)",message="rolesRef cannot be changed: existing resources were created with these roles; a role that is not set can be added"
	RolesRef AWSRolesRef `json:"rolesRef"`

	// ResourceTags are added to every AWS resource of this cluster. AWS permits more tags than this field: some tags
	// are reserved for the operators.
	// +optional
	// +kubebuilder:validation:XValidation:rule="size(self) <= 24",message="at most 24 resourceTags: one of the 25 is needed for kubernetes.io/cluster/<infraID>; remove a tag"
	// +kubebuilder:validation:MaxItems=25
	// +listType=map
	// +listMapKey=key
	ResourceTags []AWSResourceTag `json:"resourceTags,omitempty"`

	// EndpointAccess defines from where clients reach the API. It can be changed. The addresses of both modes are served
	// until all machines use those of the new one. Condition EndpointAccessUpToDate names the machines that do not yet.
	// +optional
	// +kubebuilder:default=Public
	EndpointAccess AWSEndpointAccessType `json:"endpointAccess,omitempty"`

	// AdditionalAllowedPrincipals are additional ARNs that may connect to the endpoint service of a private cluster.
	// +optional
	// +kubebuilder:validation:MaxItems=25
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p.matches('^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:(root|role/.+|user/.+)$'))",message="additionalAllowedPrincipals must be ARNs of an account root, role or user, such as arn:aws:iam::123456789012:role/name; * would let every account connect"
	// +listType=set
	AdditionalAllowedPrincipals []string `json:"additionalAllowedPrincipals,omitempty"`

	// MultiArch is accepted for compatibility with old manifests and has no effect.
	// +optional
	MultiArch bool `json:"multiArch,omitempty"`

	// SharedVPC defines the roles for a VPC and zone that belong to a third account. It cannot be changed.
	// +optional
	SharedVPC *AWSSharedVPC `json:"sharedVPC,omitempty"`

	// TerminationHandlerQueueURL is the SQS queue that receives interruption notices of spot instances.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https://sqs[.][a-z0-9-]+[.]amazonaws[.]com([.]cn)?/[0-9]{12}/[A-Za-z0-9_-]+([.]fifo)?$')",message="terminationHandlerQueueURL must be the URL of an SQS queue, such as https://sqs.us-east-1.amazonaws.com/123456789012/name"
	TerminationHandlerQueueURL string `json:"terminationHandlerQueueURL,omitempty"`
}

// AWSCloudProviderConfig defines the network of the workers.
// +kubebuilder:validation:XValidation:rule="!has(self.subnet) || !has(self.subnet.id) || self.subnet.id.matches('^subnet-[0-9A-Za-z]+$')",message="subnet.id must be the id of a subnet, such as subnet-0123456789abcdef0"
type AWSCloudProviderConfig struct {
	// VPC is the VPC of the workers.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^vpc-[0-9A-Za-z]+$')",message="vpc must be the id of a VPC, such as vpc-0123456789abcdef0"
	VPC string `json:"vpc"`
	// Subnet is the subnet that the cloud provider uses by default.
	// +optional
	Subnet *AWSResourceReference `json:"subnet,omitempty"`
	// Zone is the availability zone of that subnet.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9-]*$')",message="zone must be the name of an availability zone, such as us-east-1a"
	Zone string `json:"zone,omitempty"`
}

// AWSServiceEndpoint replaces the endpoint of one AWS service.
type AWSServiceEndpoint struct {
	// Name is the name of the service, such as ec2.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// URL is the URL of the endpoint.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && self.startsWith('https://')",message="url must be an https URL"
	URL string `json:"url"`
}

// RoleARN is the ARN of an IAM role.
// +kubebuilder:validation:MaxLength=2048
// +kubebuilder:validation:XValidation:rule="self.matches('^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:role/.+$')",message="must be the ARN of an IAM role, such as arn:aws:iam::123456789012:role/name"
type RoleARN string

// AWSRolesRef lists the roles of a cluster, one for each component. The required policies are in config/iam.
type AWSRolesRef struct {
	// IngressARN is for the DNS records of the applications, if capabilities enables Ingress.
	// +optional
	IngressARN RoleARN `json:"ingressARN,omitempty"`
	// ImageRegistryARN is for the bucket of the image registry, if capabilities enables ImageRegistry.
	// +optional
	ImageRegistryARN RoleARN `json:"imageRegistryARN,omitempty"`
	// StorageARN is for the EBS CSI driver. Without it, the cluster has no driver and no StorageClass.
	// +optional
	StorageARN RoleARN `json:"storageARN,omitempty"`
	// NetworkARN is for the cloud network config controller. Releases of upstream Kubernetes have no such component.
	// +optional
	NetworkARN RoleARN `json:"networkARN,omitempty"`
	// KubeCloudControllerARN is for the cloud controller manager.
	KubeCloudControllerARN RoleARN `json:"kubeCloudControllerARN"`
	// NodePoolManagementARN is for Cluster API, which creates the instances.
	NodePoolManagementARN RoleARN `json:"nodePoolManagementARN"`
	// ControlPlaneOperatorARN is for the control-plane-operator, which creates the VPC endpoint, its security group
	// and its DNS records.
	ControlPlaneOperatorARN RoleARN `json:"controlPlaneOperatorARN"`
}

// TagOverridePolicy defines whether a NodePool may override the value of a tag.
// +kubebuilder:validation:Enum=Allow;Deny
type TagOverridePolicy string

const (
	// TagOverrideAllow permits a NodePool to override the value.
	TagOverrideAllow TagOverridePolicy = "Allow"
	// TagOverrideDeny keeps the cluster's value. This is the default.
	TagOverrideDeny TagOverridePolicy = "Deny"
)

// AWSResourceTag is a tag on an AWS resource.
type AWSResourceTag struct {
	// Key is the key of the tag.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z_.:/=+@-]+$')",message="a tag key may have letters, digits and _ . : / = + - @"
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().startsWith('aws:')",message="tag keys that begin with aws: belong to AWS; choose another key"
	Key string `json:"key"`
	// Value is the value of the tag.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z_.:/=+@-]+$')",message="a tag value may have letters, digits and _ . : / = + - @"
	Value string `json:"value"`
	// OverridePolicy defines whether a NodePool may override the value of the tag.
	// +optional
	OverridePolicy TagOverridePolicy `json:"overridePolicy,omitempty"`
}

// AWSSharedVPC defines the roles for a VPC and zone that belong to a third account.
type AWSSharedVPC struct {
	// RolesRef are the roles in the account of the VPC.
	RolesRef AWSSharedVPCRolesRef `json:"rolesRef"`
	// LocalZoneID is the private hosted zone <name>.hypershift.local.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/hostedzone/)?Z[A-Z0-9]+$')",message="must be the id of a Route53 hosted zone, such as Z0123456789ABCDEFGHIJ"
	LocalZoneID string `json:"localZoneID"`
}

// AWSSharedVPCRolesRef are the roles in the account of a shared VPC.
type AWSSharedVPCRolesRef struct {
	// IngressARN is the role for DNS records.
	IngressARN RoleARN `json:"ingressARN"`
	// ControlPlaneARN is the role for the VPC endpoint and its security group.
	ControlPlaneARN RoleARN `json:"controlPlaneARN"`
}

// AWSResourceReference refers to an AWS resource by id or by filters.
type AWSResourceReference struct {
	// ID is the id of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ID *string `json:"id,omitempty"`
	// Filters are filters that match the resource.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	Filters []Filter `json:"filters,omitempty"`
}

// Filter is a filter of an AWS Describe call.
type Filter struct {
	// Name is the name of the filter, such as tag:Name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// Values lists values. One of them must match.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=atomic
	Values []string `json:"values"`
}
