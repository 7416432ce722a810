package clustermanifests

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

func flag(name string) *field.Path { return field.NewPath("--" + name) }

// Validate returns the errors of the flags, and then the errors that the operator would report about the objects.
func (c Cluster) Validate() field.ErrorList {
	var errs field.ErrorList
	if c.Name == "" {
		errs = append(errs, field.Required(flag("name"), ""))
	} else {
		for _, problem := range utilvalidation.IsDNS1123Label(c.Name) {
			errs = append(errs, field.Invalid(flag("name"), c.Name, problem))
		}
	}
	for _, problem := range utilvalidation.IsDNS1123Label(c.Namespace) {
		errs = append(errs, field.Invalid(flag("namespace"), c.Namespace, problem))
	}
	if c.Release == "" {
		errs = append(errs, field.Required(flag("release-image"), ""))
	}
	if size, err := resource.ParseQuantity(c.EtcdStorageSize); err != nil || size.Sign() <= 0 {
		errs = append(errs, field.Invalid(flag("etcd-storage-size"), c.EtcdStorageSize, "must be a quantity such as 8Gi"))
	}
	if !json.Valid(c.PullSecret) {
		errs = append(errs, field.Invalid(flag("pull-secret"), field.OmitValueType{}, "the file is not JSON"))
	}
	if len(c.TrustBundle) > 0 {
		if block, _ := pem.Decode(c.TrustBundle); block == nil || block.Type != "CERTIFICATE" {
			errs = append(errs, field.Invalid(flag("additional-trust-bundle"), field.OmitValueType{}, "the file has no certificate in PEM"))
		}
	}
	if len(c.SSHPublicKey) > 0 && (bytes.Contains(c.SSHPublicKey, []byte("PRIVATE KEY")) || len(strings.Fields(string(c.SSHPublicKey))) < 2) {
		errs = append(errs, field.Invalid(flag("ssh-key"), field.OmitValueType{}, "the file is not a public key"))
	}
	if c.IAM.KMSKeyARN == "" && len(c.EncryptionKey) != 0 && len(c.EncryptionKey) != encryptionKeySize {
		errs = append(errs, field.Invalid(flag("etcd-encryption-key-file"), field.OmitValueType{}, fmt.Sprintf("the key has %d bytes, and needs %d", len(c.EncryptionKey), encryptionKeySize)))
	}
	if c.AutoNode && c.IAM.KarpenterRoleARN == "" {
		errs = append(errs, field.Invalid(flag("auto-node"), true, "--iam-json has no role for it: run `create iam aws` with --auto-node"))
	}
	for _, part := range c.Capabilities {
		errs = append(errs, choice("enable-cluster-capabilities", part, hyperv1.IngressCapability, hyperv1.ImageRegistryCapability)...)
	}
	switch {
	case c.has(hyperv1.IngressCapability) && c.Infra.BaseDomain == "":
		errs = append(errs, field.Required(flag("base-domain"), "Ingress of --enable-cluster-capabilities needs a domain for the names of applications"))
	case c.has(hyperv1.IngressCapability) && c.IAM.Roles.IngressARN == "":
		errs = append(errs, field.Invalid(flag("enable-cluster-capabilities"), hyperv1.IngressCapability, "--iam-json has no role for it: run `create iam aws` with --public-zone-id and --private-zone-id"))
	}
	if c.has(hyperv1.ImageRegistryCapability) && c.IAM.Roles.ImageRegistryARN == "" {
		errs = append(errs, field.Invalid(flag("enable-cluster-capabilities"), hyperv1.ImageRegistryCapability, "--iam-json has no role for it: run `create iam aws` again"))
	}
	if c.Infra.BaseDomain == "" && c.EndpointAccess != hyperv1.Private {
		errs = append(errs, field.Required(flag("base-domain"), "only a cluster with --endpoint-access Private needs no domain"))
	}
	errs = append(errs, choice("endpoint-access", c.EndpointAccess, hyperv1.Public, hyperv1.PublicAndPrivate, hyperv1.Private)...)
	errs = append(errs, choice("control-plane-availability-policy", c.ControlPlaneAvailability, hyperv1.HighlyAvailable, hyperv1.SingleReplica)...)
	errs = append(errs, choice("infra-availability-policy", c.InfrastructureAvailability, hyperv1.HighlyAvailable, hyperv1.SingleReplica)...)
	errs = append(errs, choice("network-type", c.NetworkType, hyperv1.OVNKubernetes, hyperv1.Calico, hyperv1.Other)...)
	if !c.WithoutPools {
		errs = append(errs, c.Pool.flags("node-pool-replicas")...)
	}
	if len(errs) > 0 {
		return errs
	}
	hc := c.HostedCluster()
	errs = validation.HostedCluster(hc)
	for _, np := range c.NodePools() {
		errs = append(errs, validateNodePool(np, hc)...)
	}
	return errs
}

// Validate returns the errors of a pool's flags, and then the errors that the operator would report about it.
func (p Pool) Validate(hc *hyperv1.HostedCluster) field.ErrorList {
	var errs field.ErrorList
	if p.Name == "" {
		errs = append(errs, field.Required(flag("name"), ""))
	} else {
		for _, problem := range utilvalidation.IsDNS1123Subdomain(p.Name) {
			errs = append(errs, field.Invalid(flag("name"), p.Name, problem))
		}
	}
	if errs = append(errs, p.flags("replicas")...); len(errs) > 0 {
		return errs
	}
	return validateNodePool(p.NodePool(), hc)
}

// flags returns the errors of the flags that all pools have.
func (p Pool) flags(replicas string) field.ErrorList {
	var errs field.ErrorList
	if p.Replicas < 0 {
		errs = append(errs, field.Invalid(flag(replicas), p.Replicas, "must be 0 or more"))
	}
	if p.RootVolume.Size < 8 {
		errs = append(errs, field.Invalid(flag("root-volume-size"), p.RootVolume.Size, "must be 8 or more"))
	}
	errs = append(errs, choice("arch", p.Arch, hyperv1.ArchitectureAMD64, hyperv1.ArchitectureARM64)...)
	return append(errs, choice("node-upgrade-type", p.UpgradeType, hyperv1.UpgradeTypeReplace, hyperv1.UpgradeTypeInPlace)...)
}

func choice[T ~string](name string, value T, of ...T) field.ErrorList {
	for _, v := range of {
		if value == v {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(flag(name), value, of)}
}

func validateNodePool(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) field.ErrorList {
	return validation.NodePool(np, hc, validation.NodePoolDefaults{
		Strategy: hyperv1.UpgradeStrategyRollingUpdate, MaxSurge: maxSurge, MaxUnavailable: maxUnavailable, InstanceTags: 1,
	})
}

// Ids in place of those that AWS chooses.
const (
	exampleAccount = "000000000000"
	exampleVPC     = "vpc-00000000000000000"
	exampleSubnet  = "subnet-00000000000000000"
	exampleGroup   = "sg-00000000000000000"
	exampleZone    = "Z00000000000000000000"
	exampleCA      = "known after the proxy is created"
)

// ExampleInfra returns the infrastructure of a spec with ids in place of those that AWS will choose, for checks before anything
// exists.
func ExampleInfra(s infra.Spec) infra.Output {
	output := infra.NewOutput(s, exampleID)
	if s.SecureProxy {
		output.ProxyCA = exampleCA
	}
	return output
}

// exampleID returns an id in place of the id that AWS will choose for a node of the network.
func exampleID(node string) string {
	switch node {
	case infra.VPC:
		return exampleVPC
	case infra.PublicZone, infra.PrivateZone, infra.LocalZone:
		return exampleZone
	case infra.WorkerGroup:
		return exampleGroup
	}
	return exampleSubnet
}

// ExampleIAM completes a spec with ids in place of those that AWS will choose.
func ExampleIAM(s clusteriam.Spec, sharedVPC bool) clusteriam.Spec {
	s.Account, s.Partition = exampleAccount, "aws"
	if sharedVPC {
		s.VPCOwner = exampleAccount
	}
	s.Inputs = clusteriam.Inputs{
		VPC: clusteriam.Input{ID: exampleVPC}, PublicZone: clusteriam.Input{ID: exampleZone},
		PrivateZone: clusteriam.Input{ID: exampleZone}, LocalZone: clusteriam.Input{ID: exampleZone},
	}
	return s
}

// maxPrefix leaves room for the longest suffix of names in AWS.
const maxPrefix = 21

// NewInfraID returns an infraID that no other cluster has: the name of the cluster and five random characters.
func NewInfraID(name string) string {
	if len(name) > maxPrefix {
		name = strings.TrimRight(name[:maxPrefix], "-")
	}
	return name + "-" + utilrand.String(5)
}
