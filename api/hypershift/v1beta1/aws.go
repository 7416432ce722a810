package v1beta1

// PlatformType is a cloud.
// +kubebuilder:validation:Enum=AWS;None
type PlatformType string

const (
	// AWSPlatform runs the workers in an AWS account of the customer.
	AWSPlatform PlatformType = "AWS"
	// NonePlatform hosts a control plane without workers of ours.
	NonePlatform PlatformType = "None"
)

// PlatformSpec says where the workers live.
type PlatformSpec struct {
	// Type is the cloud. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="platform.type cannot be changed; create another cluster"
	Type PlatformType `json:"type"`
	// AWS says which account, network and roles. Needed with type AWS.
	// +optional
	AWS *AWSPlatformSpec `json:"aws,omitempty"`
}

// PrivateLink says whether the workers reach the control plane by AWS PrivateLink.
func (p *PlatformSpec) PrivateLink() bool {
	return p.Type == AWSPlatform && p.AWS != nil && (p.AWS.EndpointAccess == Private || p.AWS.EndpointAccess == PublicAndPrivate)
}

// PlatformStatus is what the operators learned about the cloud.
type PlatformStatus struct {
	// +optional
	AWS *AWSPlatformStatus `json:"aws,omitempty"`
}

// AWSPlatformStatus is what the operators learned about AWS.
type AWSPlatformStatus struct {
	// DefaultWorkerSecurityGroupID is the security group of every worker.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	DefaultWorkerSecurityGroupID string `json:"defaultWorkerSecurityGroupID,omitempty"`
}

// AWSEndpointAccessType says from where the API of the hosted cluster is reached.
// +kubebuilder:validation:Enum=Public;PublicAndPrivate;Private
type AWSEndpointAccessType string

const (
	// Public: from the internet; the workers use that way too.
	Public AWSEndpointAccessType = "Public"
	// PublicAndPrivate: from the internet, and from the workers' VPC by PrivateLink.
	PublicAndPrivate AWSEndpointAccessType = "PublicAndPrivate"
	// Private: from the workers' VPC by PrivateLink only.
	Private AWSEndpointAccessType = "Private"
)

// AWSPlatformSpec is the part of a cluster that lives in AWS.
// +kubebuilder:validation:XValidation:rule="has(self.cloudProviderConfig) || !has(oldSelf.cloudProviderConfig)",message="cloudProviderConfig cannot be removed"
// +kubebuilder:validation:XValidation:rule="has(self.sharedVPC) == has(oldSelf.sharedVPC) && (!has(self.sharedVPC) || self.sharedVPC == oldSelf.sharedVPC)",message="sharedVPC can be neither added, changed nor removed: what exists was made with these roles and in this zone; create another cluster"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cloudProviderConfig) || !has(self.cloudProviderConfig) || self.cloudProviderConfig.vpc == oldSelf.cloudProviderConfig.vpc",message="cloudProviderConfig.vpc cannot be changed: the workers live there"
type AWSPlatformSpec struct {
	// Region of the workers. It cannot be changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="region cannot be changed; create another cluster"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]{2}(-[a-z]+)+-[0-9]+$')",message="region must be the name of an AWS region, such as us-east-1"
	Region string `json:"region"`

	// CloudProviderConfig names the network of the workers.
	// +optional
	CloudProviderConfig *AWSCloudProviderConfig `json:"cloudProviderConfig,omitempty"`

	// ServiceEndpoints replace the endpoints of AWS services.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	ServiceEndpoints []AWSServiceEndpoint `json:"serviceEndpoints,omitempty"`

	// RolesRef are the roles that the parts of the system take on. They cannot
	// be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="rolesRef cannot be changed: what exists was made with these roles"
	RolesRef AWSRolesRef `json:"rolesRef"`

	// ResourceTags are put on everything that is made in AWS for this cluster.
	// AWS allows more tags than we take: some are ours.
	// +optional
	// +kubebuilder:validation:XValidation:rule="size(self) <= 24",message="at most 24 resourceTags: one of the 25 is needed for kubernetes.io/cluster/<infraID>; remove a tag"
	// +kubebuilder:validation:MaxItems=25
	// +listType=map
	// +listMapKey=key
	ResourceTags []AWSResourceTag `json:"resourceTags,omitempty"`

	// EndpointAccess says from where the API is reached. It can be changed on a
	// living cluster in every direction.
	// +optional
	// +kubebuilder:default=Public
	EndpointAccess AWSEndpointAccessType `json:"endpointAccess,omitempty"`

	// AdditionalAllowedPrincipals are further ARNs that may connect to the
	// endpoint service of a private cluster.
	// +optional
	// +kubebuilder:validation:MaxItems=25
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p.matches('^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:(root|role/.+|user/.+)$'))",message="additionalAllowedPrincipals must be ARNs of an account root, role or user, such as arn:aws:iam::123456789012:role/name; * would let every account connect"
	// +listType=set
	AdditionalAllowedPrincipals []string `json:"additionalAllowedPrincipals,omitempty"`

	// MultiArch is kept for old manifests and does nothing.
	// +optional
	MultiArch bool `json:"multiArch,omitempty"`

	// SharedVPC names the roles for a VPC and zone that belong to a third account.
	// It cannot be changed.
	// +optional
	SharedVPC *AWSSharedVPC `json:"sharedVPC,omitempty"`

	// TerminationHandlerQueueURL is the SQS queue that announces interruptions
	// of spot instances.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https://sqs[.][a-z0-9-]+[.]amazonaws[.]com([.]cn)?/[0-9]{12}/[A-Za-z0-9_-]+([.]fifo)?$')",message="terminationHandlerQueueURL must be the URL of an SQS queue, such as https://sqs.us-east-1.amazonaws.com/123456789012/name"
	TerminationHandlerQueueURL string `json:"terminationHandlerQueueURL,omitempty"`
}

// AWSCloudProviderConfig names the network of the workers.
// +kubebuilder:validation:XValidation:rule="!has(self.subnet) || !has(self.subnet.id) || self.subnet.id.matches('^subnet-[0-9A-Za-z]+$')",message="subnet.id must be the id of a subnet, such as subnet-0123456789abcdef0"
type AWSCloudProviderConfig struct {
	// VPC of the workers.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^vpc-[0-9A-Za-z]+$')",message="vpc must be the id of a VPC, such as vpc-0123456789abcdef0"
	VPC string `json:"vpc"`
	// Subnet that the cloud provider uses by default.
	// +optional
	Subnet *AWSResourceReference `json:"subnet,omitempty"`
	// Zone of that subnet.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9-]*$')",message="zone must be the name of an availability zone, such as us-east-1a"
	Zone string `json:"zone,omitempty"`
}

// AWSServiceEndpoint replaces the endpoint of one AWS service.
type AWSServiceEndpoint struct {
	// Name of the service, such as ec2.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// URL of the endpoint.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && self.startsWith('https://')",message="url must be an https URL"
	URL string `json:"url"`
}

// RoleARN is the ARN of an IAM role.
// +kubebuilder:validation:MaxLength=2048
// +kubebuilder:validation:XValidation:rule="self.matches('^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:role/.+$')",message="must be the ARN of an IAM role, such as arn:aws:iam::123456789012:role/name"
type RoleARN string

// AWSRolesRef are the roles of a cluster, one for each part of the system. The
// policies that they need are in config/iam.
type AWSRolesRef struct {
	// IngressARN is for the ingress operator of the hosted cluster.
	IngressARN RoleARN `json:"ingressARN"`
	// ImageRegistryARN is for the image registry of the hosted cluster.
	ImageRegistryARN RoleARN `json:"imageRegistryARN"`
	// StorageARN is for the EBS CSI driver.
	StorageARN RoleARN `json:"storageARN"`
	// NetworkARN is for the cloud network config controller.
	NetworkARN RoleARN `json:"networkARN"`
	// KubeCloudControllerARN is for the cloud controller manager.
	KubeCloudControllerARN RoleARN `json:"kubeCloudControllerARN"`
	// NodePoolManagementARN is for Cluster API, which makes the instances.
	NodePoolManagementARN RoleARN `json:"nodePoolManagementARN"`
	// ControlPlaneOperatorARN is for the control-plane-operator, which makes
	// the VPC endpoint, its security group and its records.
	ControlPlaneOperatorARN RoleARN `json:"controlPlaneOperatorARN"`
}

// TagOverridePolicy says whether a NodePool may give a tag another value.
// +kubebuilder:validation:Enum=Allow;Deny
type TagOverridePolicy string

const (
	// TagOverrideAllow lets a NodePool give the tag another value.
	TagOverrideAllow TagOverridePolicy = "Allow"
	// TagOverrideDeny keeps the cluster's value. The default.
	TagOverrideDeny TagOverridePolicy = "Deny"
)

// AWSResourceTag is a tag on an AWS resource.
type AWSResourceTag struct {
	// Key of the tag.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z_.:/=+@-]+$')",message="a tag key may have letters, digits and _ . : / = + - @"
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().startsWith('aws:')",message="tag keys that begin with aws: belong to AWS; choose another key"
	Key string `json:"key"`
	// Value of the tag.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z_.:/=+@-]+$')",message="a tag value may have letters, digits and _ . : / = + - @"
	Value string `json:"value"`
	// OverridePolicy says whether a NodePool may give the tag another value.
	// +optional
	OverridePolicy TagOverridePolicy `json:"overridePolicy,omitempty"`
}

// AWSSharedVPC names the roles for a VPC and zone that belong to a third account.
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
	// IngressARN is the role for records.
	IngressARN RoleARN `json:"ingressARN"`
	// ControlPlaneARN is the role for the VPC endpoint and its security group.
	ControlPlaneARN RoleARN `json:"controlPlaneARN"`
}

// AWSResourceReference names an AWS resource by id or by filters.
type AWSResourceReference struct {
	// ID of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ID *string `json:"id,omitempty"`
	// Filters that find it.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	Filters []Filter `json:"filters,omitempty"`
}

// Filter is a filter of an AWS Describe call.
type Filter struct {
	// Name of the filter, such as tag:Name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// Values of which one must match.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=atomic
	Values []string `json:"values"`
}
