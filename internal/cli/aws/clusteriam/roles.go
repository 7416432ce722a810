package clusteriam

import (
	"embed"
	"strings"

	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/awsx/registrybucket"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed policies/*.json
var documents embed.FS

// role is a role that tokens of the cluster's issuer assume.
type role struct {
	suffix string
	// subjects are those of programs next to the control plane: no administrator of the hosted cluster can create a token for them. The role of the
	// image registry also has the subject of the registry's pods, which run in the hosted cluster.
	subjects []string
	// policy is a file of config/iam, or of policies/.
	policy string
}

// The roles of the programs that run next to the control plane. Other hypershift command lines use the same names.
var (
	ingress              = role{"openshift-ingress", []string{names.IngressSubject}, iam.Ingress}
	imageRegistry        = role{"openshift-image-registry", []string{names.ImageRegistrySubject, names.ImageRegistryPodSubject}, iam.ImageRegistry}
	storage              = role{"aws-ebs-csi-driver-controller", []string{names.StorageSubject}, iam.Storage}
	cloudController      = role{"cloud-controller", []string{names.CloudControllerSubject}, iam.CloudController}
	nodePool             = role{"node-pool", []string{names.CAPIProviderSubject}, iam.NodePoolManagement}
	controlPlaneOperator = role{"control-plane-operator", []string{names.ControlPlaneOperatorSubject}, iam.ControlPlaneOperator}
	kmsProvider          = role{"kms-provider", []string{names.KMSSubject}, iam.KMSProvider}
	karpenter            = role{"karpenter", []string{names.KarpenterSubject}, iam.Karpenter}
	etcdBackup           = role{"etcd-backup", []string{names.EtcdBackupSubject}, iam.EtcdBackup}
)

// node is the node of the role.
func (r role) node() string { return "role/" + r.suffix }

// sharedRole is the role with which other command lines, and earlier versions of this one, replace all roles. It is only deleted: its
// policies are longer than IAM allows for one role, and it trusts service accounts of the hosted cluster: their tokens would be
// accepted for the calls that programs next to the control plane may do.
const sharedRole = "shared-role"

// openShiftRoles are the roles of programs that only releases of OpenShift have. Other command lines, and earlier versions of this one, create
// them. They are only deleted.
var openShiftRoles = []string{"cloud-network-config-controller"}

// suffixes of all roles that a command line may have created, for deletion.
func suffixes() []string {
	var all []string
	for _, r := range []role{ingress, imageRegistry, storage, cloudController, nodePool, controlPlaneOperator, kmsProvider, karpenter, etcdBackup} {
		all = append(all, r.suffix)
	}
	return append(append(all, openShiftRoles...), sharedRole)
}

func (s Spec) roles() []role {
	roles := []role{imageRegistry, storage, cloudController, nodePool, controlPlaneOperator}
	// The role of ingress may change records in the zones of the base domain only.
	if s.hasBaseDomain() {
		roles = append(roles, ingress)
	}
	if s.KMSKeyARN != "" {
		roles = append(roles, kmsProvider)
	}
	if s.AutoNode {
		roles = append(roles, karpenter)
	}
	if s.BackupBucket != "" {
		roles = append(roles, etcdBackup)
	}
	return roles
}

// roleName is the name of the role.
func (s Spec) roleName(r role) string { return s.InfraID + "-" + r.suffix }

// trust is the trust policy for tokens with one of the subjects. It checks the audience, too: the hosted API server issues tokens for any audience that
// a pod requests.
func (s Spec) trust(subjects []string) string {
	return document([]any{map[string]any{
		"Effect":    "Allow",
		"Action":    "sts:AssumeRoleWithWebIdentity",
		"Principal": map[string]any{"Federated": s.arn("oidc-provider/" + s.issuer())},
		"Condition": map[string]any{"StringEquals": map[string]any{s.issuer() + ":sub": subjects, s.issuer() + ":aud": names.WebIdentityAudience}},
	}})
}

func document(statements []any) string { return iamrole.Document(statements...) }

// fill returns a policy with its variables replaced.
func (s Spec) fill(file string, ids rg.IDs) (string, error) {
	variables := map[string]string{"INFRA_ID": s.InfraID, "KMS_KEY": s.KMSKeyARN, "BACKUP_BUCKET": s.BackupBucket, "IMAGE_REGISTRY_BUCKET_PREFIX": registrybucket.Prefix(s.InfraID)}
	for name, in := range map[string]Input{
		"VPC": s.Inputs.VPC, "PUBLIC_ZONE_ID": s.Inputs.PublicZone, "PRIVATE_ZONE_ID": s.Inputs.PrivateZone, "LOCAL_ZONE_ID": s.Inputs.LocalZone,
	} {
		if variables[name] = in.value(ids); variables[name] == "" {
			variables[name] = iamrole.Unknown
		}
	}
	text, err := documents.ReadFile("policies/" + file)
	if err == nil {
		filled := string(text)
		for name, value := range variables {
			filled = strings.ReplaceAll(filled, "${"+name+"}", value)
		}
		return iamrole.Normalize(iamrole.InPartition(filled, s.Partition)), nil
	}
	return iamrole.Fill(file, s.Partition, variables)
}

// inputs returns the nodes that have the ids in a policy.
func (s Spec) inputs() []string {
	var nodes []string
	for _, in := range []Input{s.Inputs.VPC, s.Inputs.PublicZone, s.Inputs.PrivateZone, s.Inputs.LocalZone} {
		if in.Node != "" {
			nodes = append(nodes, in.Node)
		}
	}
	return nodes
}
