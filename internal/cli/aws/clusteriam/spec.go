package clusteriam

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Spec is the user's request.
type Spec struct {
	InfraID, Region string
	// Partition and Account are where the provider is.
	Partition, Account string
	IssuerURL          string
	// ExistingProvider: the provider of the issuer is only looked up.
	ExistingProvider bool
	KMSKeyARN        string
	// AutoNode adds the role of Karpenter.
	AutoNode bool
	// BackupBucket is the bucket for backups of etcd. It adds the role that stores them. Empty: no role.
	BackupBucket string
	// VPCOwner is the account of a VPC that is shared with Account. It gets two roles, which the operators assume. Empty: the VPC
	// belongs to Account.
	VPCOwner string
	Tags     awsx.Tags
	// Inputs are ids that policies contain.
	Inputs Inputs
}

// Inputs are the ids of resources of package infra. A cluster without a base domain has no public and no private zone in it.
type Inputs struct {
	VPC, PublicZone, PrivateZone, LocalZone Input
}

// Input is an id, or the node that has it.
type Input struct{ ID, Node string }

func (i Input) value(ids rg.IDs) string {
	if i.Node != "" {
		return ids(i.Node)
	}
	return i.ID
}

// S3Issuer is the URL of the issuer of a cluster with its documents in a bucket.
func S3Issuer(bucket, region, infraID string) string {
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain = "amazonaws.com.cn"
	}
	return fmt.Sprintf("https://%s.s3.%s.%s/%s", bucket, region, domain, infraID)
}

// keyARN is not of an alias: IAM evaluates policies with the ARN of the key, and one with the ARN of an alias allows no call.
// Source: https://docs.aws.amazon.com/kms/latest/developerguide/cmks-in-iam-policies.html
var keyARN = regexp.MustCompile(`^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/.+$`)

// Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// maxIssuer is how many characters the URL of an OIDC provider may have.
// Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateOpenIDConnectProvider.html
const maxIssuer = 255

// Validate returns the problems, before any call of AWS. Paths are names of flags.
func (s Spec) Validate() field.ErrorList {
	var errs field.ErrorList
	flag := func(name string) *field.Path { return field.NewPath("--" + name) }
	if s.InfraID == "" {
		errs = append(errs, field.Required(flag("infra-id"), ""))
	} else {
		for _, problem := range validation.IsDNS1123Label(s.InfraID) {
			errs = append(errs, field.Invalid(flag("infra-id"), s.InfraID, problem))
		}
		if len(s.InfraID) > 32 {
			errs = append(errs, field.TooLong(flag("infra-id"), s.InfraID, 32))
		}
	}
	if s.Inputs.LocalZone == (Input{}) {
		errs = append(errs, field.Required(flag("local-zone-id"), ""))
	}
	if public, private := s.Inputs.PublicZone != (Input{}), s.Inputs.PrivateZone != (Input{}); public != private {
		missing := "public-zone-id"
		if public {
			missing = "private-zone-id"
		}
		errs = append(errs, field.Required(flag(missing), "a cluster with a base domain has a public and a private zone in it"))
	}
	issuer, err := url.Parse(s.IssuerURL)
	if err != nil || issuer.Scheme != "https" || issuer.Host == "" || issuer.RawQuery != "" || issuer.Fragment != "" {
		errs = append(errs, field.Invalid(flag("oidc-issuer-url"), s.IssuerURL, "must be an https URL without a query"))
	}
	if len(s.IssuerURL) > maxIssuer {
		errs = append(errs, field.TooLong(flag("oidc-issuer-url"), s.IssuerURL, maxIssuer))
	}
	if s.BackupBucket != "" && !bucketName.MatchString(s.BackupBucket) {
		errs = append(errs, field.Invalid(flag("backup-bucket"), s.BackupBucket, "must be the name of a bucket, without s3://"))
	}
	if s.KMSKeyARN != "" && !keyARN.MatchString(s.KMSKeyARN) {
		errs = append(errs, field.Invalid(flag("kms-key-arn"), s.KMSKeyARN, "must be the ARN of a KMS key, with :key/: a policy with the ARN of an alias allows nothing"))
	}
	errs = append(errs, s.Tags.Validate(flag("additional-tags"), names.IsClusterTag)...)
	if len(errs) == 0 {
		// A command that fails for its last policy leaves a cluster with half of its roles.
		for _, err := range iamrole.CheckSizes(s.longest().nodes()) {
			errs = append(errs, field.Invalid(flag("infra-id"), s.InfraID, err.Error()))
		}
	}
	return errs
}

// longest returns the spec with the longest account and partition where they are not known yet.
func (s Spec) longest() Spec {
	s.Account, s.Partition = cmp.Or(s.Account, "111111111111"), cmp.Or(s.Partition, "aws-us-gov")
	return s
}

// nodes returns the nodes without the accounts in which they are.
func (s Spec) nodes() []*rg.Node {
	return NewCloud(aws.Config{Region: s.Region}, s.Owner()).WithVPCOwner(aws.Config{Region: s.Region}).Nodes(s)
}

// Owner is the owner of the resources.
func (s Spec) Owner() awsgraph.Owner { return awsgraph.Owner{InfraID: s.InfraID, Tags: s.Tags} }

// hasBaseDomain is true if the cluster has zones in a base domain.
func (s Spec) hasBaseDomain() bool { return s.Inputs.PublicZone != (Input{}) }

// issuer is the name of the issuer in ARNs and conditions.
func (s Spec) issuer() string { return strings.TrimPrefix(s.IssuerURL, "https://") }

func (s Spec) arn(resource string) string {
	return fmt.Sprintf("arn:%s:iam::%s:%s", s.Partition, s.Account, resource)
}

// ownerARN is the ARN of a role in the account of a shared VPC.
func (s Spec) ownerARN(suffix string) string {
	return fmt.Sprintf("arn:%s:iam::%s:role/%s-%s", s.Partition, s.VPCOwner, s.InfraID, suffix)
}

// Output is the file of --output-file. Other hypershift command lines use the same names of fields.
type Output struct {
	Region                    string      `json:"region"`
	ProfileName               string      `json:"profileName"`
	InfraID                   string      `json:"infraID"`
	IssuerURL                 string      `json:"issuerURL"`
	Roles                     OutputRoles `json:"roles"`
	KMSKeyARN                 string      `json:"kmsKeyARN"`
	KMSProviderRoleARN        string      `json:"kmsProviderRoleARN"`
	SharedIngressRoleARN      string      `json:"sharedIngressRoleARN,omitempty"`
	SharedControlPlaneRoleARN string      `json:"sharedControlPlaneRoleARN,omitempty"`
	KarpenterRoleARN          string      `json:"karpenterRoleARN,omitempty"`
	EtcdBackupRoleARN         string      `json:"etcdBackupRoleARN,omitempty"`
}

// OutputRoles is spec.platform.aws.rolesRef of the HostedCluster. The roles of programs that only OpenShift has are empty.
type OutputRoles struct {
	IngressARN              string `json:"ingressARN"`
	ImageRegistryARN        string `json:"imageRegistryARN"`
	StorageARN              string `json:"storageARN"`
	NetworkARN              string `json:"networkARN"`
	KubeCloudControllerARN  string `json:"kubeCloudControllerARN"`
	NodePoolManagementARN   string `json:"nodePoolManagementARN"`
	ControlPlaneOperatorARN string `json:"controlPlaneOperatorARN"`
}

// NewOutput returns the result of a spec that was applied.
func NewOutput(s Spec) Output {
	arn := func(r role) string { return s.arn("role/" + s.roleName(r)) }
	o := Output{
		Region: s.Region, ProfileName: names.InstanceProfile(s.InfraID), InfraID: s.InfraID, IssuerURL: s.IssuerURL,
		Roles: OutputRoles{
			ImageRegistryARN: arn(imageRegistry), StorageARN: arn(storage),
			KubeCloudControllerARN: arn(cloudController), NodePoolManagementARN: arn(nodePool), ControlPlaneOperatorARN: arn(controlPlaneOperator),
		},
	}
	if s.hasBaseDomain() {
		o.Roles.IngressARN = arn(ingress)
	}
	if s.KMSKeyARN != "" {
		o.KMSKeyARN, o.KMSProviderRoleARN = s.KMSKeyARN, arn(kmsProvider)
	}
	if s.VPCOwner != "" {
		o.SharedIngressRoleARN, o.SharedControlPlaneRoleARN = s.ownerARN(sharedVPCIngress), s.ownerARN(sharedVPCControlPlane)
	}
	if s.AutoNode {
		o.KarpenterRoleARN = arn(karpenter)
	}
	if s.BackupBucket != "" {
		o.EtcdBackupRoleARN = arn(etcdBackup)
	}
	return o
}
