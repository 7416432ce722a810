package v1beta1

// AWSNodePoolPlatform configures the EC2 instances of a pool.
type AWSNodePoolPlatform struct {
	// instanceType is the type of the instances, such as m6i.large.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9-]+[.][a-z0-9-]+$')",message="instanceType must be a family and a size with a dot between, such as m6i.large"
	InstanceType string `json:"instanceType"`

	// instanceProfile is the name of the instance profile with the role of the workers. The default is
	// <infraID>-worker, which the infrastructure command of the CLI creates.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9+=,.@_-]+$')",message="instanceProfile must be the name of an instance profile, not its ARN: letters, digits and +=,.@_-"
	InstanceProfile string `json:"instanceProfile,omitempty"`

	// subnet is the subnet of the instances, by id or by filters. If it is an id, the endpoint of a private cluster
	// is extended into this subnet.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.id) != (has(self.filters) && self.filters.size() > 0)",message="subnet needs an id or filters, and not both"
	// +kubebuilder:validation:XValidation:rule="!has(self.id) || self.id.matches('^subnet-[0-9a-z]+$')",message="subnet.id must be the id of a subnet, such as subnet-0123456789abcdef0"
	Subnet AWSResourceReference `json:"subnet"`

	// ami is the image of the instances. The default is the image of the release.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^ami-[0-9a-z]+$')",message="ami must be the id of an image, such as ami-0123456789abcdef0"
	AMI string `json:"ami,omitempty"`

	// imageType selects the operating system of the release's image: Linux or Windows.
	// +optional
	ImageType ImageType `json:"imageType,omitempty"`

	// securityGroups are added to the default security group of the cluster's workers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(g, has(g.id) != (has(g.filters) && g.filters.size() > 0))",message="each of securityGroups needs an id or filters, and not both"
	// +kubebuilder:validation:XValidation:rule="self.all(g, !has(g.id) || g.id.matches('^sg-[0-9a-z]+$'))",message="the id of a security group must look like sg-0123456789abcdef0"
	// +kubebuilder:validation:XValidation:rule="self.all(g, !has(g.id) || self.exists_one(h, has(h.id) && h.id == g.id))",message="securityGroups holds the same id twice: remove one"
	SecurityGroups []AWSResourceReference `json:"securityGroups,omitempty"`

	// rootVolume is the disk of the operating system. The default is the volume that the image defines.
	// +optional
	RootVolume *Volume `json:"rootVolume,omitempty"`

	// resourceTags are added to the instances and volumes of the pool. If the HostedCluster has a tag with the same
	// key, its value is used unless its overridePolicy is Allow.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=25
	ResourceTags []AWSResourceTag `json:"resourceTags,omitempty"`

	// placement configures the hardware and the price of the instances.
	// +optional
	Placement *PlacementOptions `json:"placement,omitempty"`
}

// ImageType is the operating system of an image.
//
// +kubebuilder:validation:Enum=Linux;Windows
type ImageType string

// Operating systems of images.
const (
	ImageTypeLinux   ImageType = "Linux"
	ImageTypeWindows ImageType = "Windows"
)

// Volume is an EBS volume. The limits are those that EC2 documents for each type:
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html
//
// +kubebuilder:validation:XValidation:rule="!(self.type in ['io1', 'io2']) || has(self.iops)",message="a volume of type io1 or io2 needs iops: set it, or use type gp3"
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || self.type in ['gp3', 'io1', 'io2']",message="iops can be chosen for gp3, io1 and io2 only: remove iops or change type"
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || self.type != 'gp3' || (self.iops >= 3000 && self.iops <= 80000 && (self.iops == 3000 || self.iops <= self.size * 500))",message="a gp3 volume has 3000 to 80000 iops, and above 3000 at most 500 for each GiB of size"
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || self.type != 'io1' || (self.iops >= 100 && self.iops <= 64000 && self.iops <= self.size * 50)",message="an io1 volume has 100 to 64000 iops, and at most 50 for each GiB of size"
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || self.type != 'io2' || (self.iops >= 100 && self.iops <= 256000 && self.iops <= self.size * 1000)",message="an io2 volume has 100 to 256000 iops, and at most 1000 for each GiB of size"
// +kubebuilder:validation:XValidation:rule="!has(self.throughput) || self.type == 'gp3'",message="throughput can be chosen for gp3 only: remove throughput or change type"
// +kubebuilder:validation:XValidation:rule="!has(self.throughput) || self.type != 'gp3' || self.throughput * 4 <= (has(self.iops) ? self.iops : 3000)",message="throughput may be at most a quarter of iops (3000 if unset): raise iops or lower throughput"
// +kubebuilder:validation:XValidation:rule="self.size <= {'standard': 1024, 'gp2': 16384, 'io1': 16384, 'gp3': 65536, 'io2': 65536}[self.type]",message="size is more than the type can hold (standard 1024 GiB, gp2 and io1 16384, gp3 and io2 65536): lower size or change type"
// +kubebuilder:validation:XValidation:rule="!has(self.encryptionKey) || !has(self.encrypted) || self.encrypted",message="encryptionKey has no effect with encrypted false: remove one of them"
type Volume struct {
	// size is the size in GiB.
	// +required
	// +kubebuilder:validation:Minimum=8
	// +kubebuilder:validation:Maximum=65536
	Size int64 `json:"size"`

	// type is the type of the volume.
	// +optional
	// +kubebuilder:default=gp3
	Type VolumeType `json:"type,omitempty"`

	// iops is the number of operations per second, for gp3, io1 and io2.
	// +optional
	// +kubebuilder:validation:Minimum=100
	IOPS int64 `json:"iops,omitempty"`

	// throughput is the number of MiB per second, for gp3.
	// +optional
	// +kubebuilder:validation:Minimum=125
	// +kubebuilder:validation:Maximum=2000
	Throughput int64 `json:"throughput,omitempty"`

	// encrypted defines whether the volume is encrypted. The default is the default of the account.
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`

	// encryptionKey is the KMS key: its id, its ARN or an alias. The default is the default key of the account.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)/.+|alias/.+|(mrk-)?[0-9a-f-]{32,36})$')",message="encryptionKey must be the ARN, the id or the alias (alias/name) of a KMS key"
	EncryptionKey string `json:"encryptionKey,omitempty"`
}

// VolumeType is the type of an EBS root volume.
//
// +kubebuilder:validation:Enum=gp2;gp3;io1;io2;standard
type VolumeType string

// Types of EBS root volumes.
const (
	VolumeTypeGP2      VolumeType = "gp2"
	VolumeTypeGP3      VolumeType = "gp3"
	VolumeTypeIO1      VolumeType = "io1"
	VolumeTypeIO2      VolumeType = "io2"
	VolumeTypeStandard VolumeType = "standard"
)
