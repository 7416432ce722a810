package clustermanifests

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const (
	// InfraIDLabel, on all objects of a cluster, is the infraID for which the command line created them.
	InfraIDLabel = "hypershift.openshift.io/auto-created-for-infra"
	// DeletableLabel is "true" on Secrets and ConfigMaps that only the cluster uses. `destroy cluster` deletes them.
	DeletableLabel = "hypershift.openshift.io/safe-to-delete-with-cluster"
)

// Cluster is the cluster that a user requests.
type Cluster struct {
	Namespace, Name string
	// Infra and IAM are the existing resources in AWS.
	Infra infra.Output
	IAM   clusteriam.Output
	// ResourceTags are added to the resources that the operators create in AWS.
	ResourceTags awsx.Tags

	Release                    string
	EndpointAccess             hyperv1.AWSEndpointAccessType
	ControlPlaneAvailability   hyperv1.AvailabilityPolicy
	InfrastructureAvailability hyperv1.AvailabilityPolicy
	// EtcdStorageClass is empty for the default class, and EtcdStorageSize is a quantity.
	EtcdStorageClass, EtcdStorageSize string
	FIPS                              bool
	NetworkType                       hyperv1.NetworkType
	ClusterCIDRs, ServiceCIDRs        []string
	// ExternalDNSDomain is the domain of the public host names of the control plane; empty for none.
	ExternalDNSDomain    string
	KubeAPIServerDNSName string

	Annotations, Labels map[string]string
	// NodeSelector, Tolerations and PodLabels are for the pods of the control plane.
	NodeSelector, PodLabels map[string]string
	Tolerations             []corev1.Toleration
	ImageContentSources     []hyperv1.ImageContentSource
	PausedUntil             string
	// Capabilities are optional parts of the release that the cluster has.
	Capabilities []hyperv1.OptionalCapability
	// AutoNode creates nodes on demand, with the role of Karpenter.
	AutoNode bool

	// The contents of Secrets and ConfigMaps. PullSecret is a file for the credentials of registries.
	PullSecret []byte
	// SSHPublicKey may log in to the nodes; empty for nobody.
	SSHPublicKey []byte
	// EncryptionKey encrypts Secrets in etcd, unless a key of KMS does.
	EncryptionKey []byte
	TrustBundle   []byte

	// Pool is the template of the NodePools, one for each zone. Its name and its subnet come from the zone.
	Pool Pool
	// WithoutPools: no NodePool is created.
	WithoutPools bool
}

// Objects returns all objects, in the order of their creation.
func (c Cluster) Objects() []client.Object {
	objects := append([]client.Object{c.namespace()}, c.contents()...)
	objects = append(objects, c.HostedCluster())
	for _, np := range c.NodePools() {
		objects = append(objects, np)
	}
	return objects
}

func (c Cluster) namespace() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: c.Namespace},
	}
}

func (c Cluster) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: c.Namespace, Name: name, Labels: map[string]string{InfraIDLabel: c.Infra.InfraID}}
}

// HostedCluster returns the HostedCluster.
func (c Cluster) HostedCluster() *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedCluster"},
		ObjectMeta: c.meta(c.Name),
		Spec: hyperv1.HostedClusterSpec{
			Release:                          hyperv1.Release{Image: c.Release},
			InfraID:                          c.Infra.InfraID,
			IssuerURL:                        c.IAM.IssuerURL,
			KubeAPIServerDNSName:             c.KubeAPIServerDNSName,
			Platform:                         hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: c.platform()},
			ControllerAvailabilityPolicy:     c.ControlPlaneAvailability,
			InfrastructureAvailabilityPolicy: c.InfrastructureAvailability,
			DNS:                              c.dns(),
			Networking:                       c.networking(),
			Etcd:                             c.etcd(),
			Configuration:                    c.configuration(),
			Services:                         c.services(),
			PullSecret:                       corev1.LocalObjectReference{Name: c.pullSecretName()},
			SecretEncryption:                 c.encryption(),
			FIPS:                             c.FIPS,
			ImageContentSources:              c.ImageContentSources,
			NodeSelector:                     labelValues(c.NodeSelector),
			Labels:                           labelValues(c.PodLabels),
			Tolerations:                      c.Tolerations,
		},
	}
	maps.Copy(hc.Labels, c.Labels)
	hc.Annotations = maps.Clone(c.Annotations)
	if c.Infra.PublicOnly {
		// Nodes in public subnets reach the internet with an address of their own only.
		if hc.Annotations == nil {
			hc.Annotations = map[string]string{}
		}
		hc.Annotations[hyperv1.AWSMachinePublicIPsAnnotation] = "true"
	}
	if len(c.SSHPublicKey) > 0 {
		hc.Spec.SSHKey.Name = c.sshKeyName()
	}
	if len(c.TrustBundle) > 0 {
		hc.Spec.AdditionalTrustBundle = &corev1.LocalObjectReference{Name: c.trustBundleName()}
	}
	if len(c.Capabilities) > 0 {
		hc.Spec.Capabilities = &hyperv1.Capabilities{Enabled: c.Capabilities}
	}
	if c.PausedUntil != "" {
		hc.Spec.PausedUntil = paused(c.PausedUntil)
	}
	if c.AutoNode {
		hc.Spec.AutoNode = &hyperv1.AutoNode{Provisioner: hyperv1.ProvisionerConfig{
			Name: hyperv1.ProvisionerKarpenter,
			Karpenter: &hyperv1.KarpenterConfig{
				Platform: hyperv1.AWSPlatform, AWS: &hyperv1.KarpenterAWSConfig{RoleARN: hyperv1.RoleARN(c.IAM.KarpenterRoleARN)},
			},
		}}
	}
	return hc
}

func (c Cluster) has(part hyperv1.OptionalCapability) bool {
	return slices.Contains(c.Capabilities, part)
}

func paused(until string) *hyperv1.PausedUntil {
	value := hyperv1.PausedUntil(until)
	return &value
}

func (c Cluster) platform() *hyperv1.AWSPlatformSpec {
	roles := c.IAM.Roles
	p := &hyperv1.AWSPlatformSpec{
		Region:         c.Infra.Region,
		EndpointAccess: c.EndpointAccess,
		CloudProviderConfig: &hyperv1.AWSCloudProviderConfig{
			VPC: c.Infra.VPCID,
		},
		RolesRef: hyperv1.AWSRolesRef{
			StorageARN:              hyperv1.RoleARN(roles.StorageARN),
			KubeCloudControllerARN:  hyperv1.RoleARN(roles.KubeCloudControllerARN),
			NodePoolManagementARN:   hyperv1.RoleARN(roles.NodePoolManagementARN),
			ControlPlaneOperatorARN: hyperv1.RoleARN(roles.ControlPlaneOperatorARN),
		},
		ResourceTags: []hyperv1.AWSResourceTag{{Key: names.ClusterTag(c.Infra.InfraID), Value: names.ClusterTagValue}},
	}
	if c.has(hyperv1.IngressCapability) {
		p.RolesRef.IngressARN = hyperv1.RoleARN(roles.IngressARN)
	}
	if c.has(hyperv1.ImageRegistryCapability) {
		p.RolesRef.ImageRegistryARN = hyperv1.RoleARN(roles.ImageRegistryARN)
	}
	if len(c.Infra.Zones) > 0 {
		first := c.Infra.Zones[0]
		p.CloudProviderConfig.Zone = first.Name
		p.CloudProviderConfig.Subnet = &hyperv1.AWSResourceReference{ID: &first.SubnetID}
	}
	for _, key := range slices.Sorted(maps.Keys(c.ResourceTags)) {
		p.ResourceTags = append(p.ResourceTags, hyperv1.AWSResourceTag{Key: key, Value: c.ResourceTags[key]})
	}
	if c.IAM.SharedControlPlaneRoleARN != "" {
		p.SharedVPC = &hyperv1.AWSSharedVPC{
			LocalZoneID: c.Infra.LocalZoneID,
			RolesRef: hyperv1.AWSSharedVPCRolesRef{
				IngressARN: hyperv1.RoleARN(c.IAM.SharedIngressRoleARN), ControlPlaneARN: hyperv1.RoleARN(c.IAM.SharedControlPlaneRoleARN),
			},
		}
	}
	return p
}

func (c Cluster) dns() hyperv1.DNSSpec {
	d := hyperv1.DNSSpec{BaseDomain: c.Infra.BaseDomain}
	if c.has(hyperv1.IngressCapability) { // only names of applications are in these zones
		d.PublicZoneID, d.PrivateZoneID = c.Infra.PublicZoneID, c.Infra.PrivateZoneID
	}
	switch prefix := c.Infra.BaseDomainPrefix; prefix {
	case "":
	case infra.NoPrefix:
		none := ""
		d.BaseDomainPrefix = &none
	default:
		d.BaseDomainPrefix = &prefix
	}
	return d
}

// configuration contains the proxy of a network without NAT gateways.
func (c Cluster) configuration() *hyperv1.ClusterConfiguration {
	if c.Infra.ProxyAddr == "" && c.Infra.SecureProxyAddr == "" {
		return nil
	}
	proxy := &configv1.ProxySpec{HTTPProxy: c.Infra.ProxyAddr, HTTPSProxy: cmp.Or(c.Infra.SecureProxyAddr, c.Infra.ProxyAddr)}
	if c.Infra.ProxyCA != "" {
		proxy.TrustedCA.Name = c.proxyCAName()
	}
	return &hyperv1.ClusterConfiguration{Proxy: proxy}
}

func (c Cluster) networking() hyperv1.ClusterNetworking {
	n := hyperv1.ClusterNetworking{
		NetworkType:    c.NetworkType,
		MachineNetwork: []hyperv1.MachineNetworkEntry{{CIDR: c.Infra.MachineCIDR}},
	}
	for _, cidr := range c.ClusterCIDRs {
		n.ClusterNetwork = append(n.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: cidr})
	}
	for _, cidr := range c.ServiceCIDRs {
		n.ServiceNetwork = append(n.ServiceNetwork, hyperv1.ServiceNetworkEntry{CIDR: cidr})
	}
	return n
}

func (c Cluster) etcd() hyperv1.EtcdSpec {
	volume := &hyperv1.PersistentVolumeEtcdStorageSpec{}
	// Validate has checked it.
	if size, err := resource.ParseQuantity(c.EtcdStorageSize); err == nil {
		volume.Size = &size
	}
	if c.EtcdStorageClass != "" {
		volume.StorageClassName = &c.EtcdStorageClass
	}
	return hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{
		Storage: hyperv1.ManagedEtcdStorageSpec{Type: hyperv1.PersistentVolumeEtcdStorage, PersistentVolume: volume},
	}}
}

func (c Cluster) encryption() *hyperv1.SecretEncryptionSpec {
	if c.IAM.KMSKeyARN != "" {
		return &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: hyperv1.AWSKMS, AWS: &hyperv1.AWSKMSSpec{
			Region:    cmp.Or(c.IAM.Region, c.Infra.Region),
			ActiveKey: hyperv1.AWSKMSKeyEntry{ARN: c.IAM.KMSKeyARN},
			Auth:      hyperv1.AWSKMSAuthSpec{AWSKMSRoleARN: c.IAM.KMSProviderRoleARN},
		}}}
	}
	return &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{
		ActiveKey: corev1.LocalObjectReference{Name: c.EncryptionKeyName()},
	}}
}

// NodePools returns a NodePool for each zone.
func (c Cluster) NodePools() []*hyperv1.NodePool {
	if c.WithoutPools {
		return nil
	}
	var pools []*hyperv1.NodePool
	for _, zone := range c.Infra.Zones {
		p := c.Pool
		p.Namespace, p.Cluster, p.InfraID = c.Namespace, c.Name, c.Infra.InfraID
		p.Name, p.SubnetID = fmt.Sprintf("%s-%s", c.Name, zone.Name), zone.SubnetID
		p.Release = cmp.Or(p.Release, c.Release)
		p.InstanceProfile = cmp.Or(p.InstanceProfile, c.IAM.ProfileName)
		if c.Infra.SecurityGroupID != "" {
			p.SecurityGroups = []string{c.Infra.SecurityGroupID}
		}
		pools = append(pools, p.NodePool())
	}
	return pools
}

func labelValues(m map[string]string) map[string]hyperv1.LabelValue {
	if len(m) == 0 {
		return nil
	}
	values := map[string]hyperv1.LabelValue{}
	for k, v := range m {
		values[k] = hyperv1.LabelValue(v)
	}
	return values
}
