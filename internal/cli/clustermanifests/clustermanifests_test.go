package clustermanifests

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
)

func valid() Cluster {
	iam := ExampleIAM(clusteriam.Spec{InfraID: "demo-x", Region: "us-east-1", IssuerURL: "https://documents.s3.us-east-1.amazonaws.com/demo-x"}, false)
	return Cluster{
		Namespace: "clusters", Name: "demo", Release: "example.com/release:1",
		Infra: infra.Output{
			InfraID: "demo-x", Region: "us-east-1", MachineCIDR: "10.0.0.0/16", VPCID: exampleVPC, BaseDomain: "example.com", LocalZoneID: exampleZone,
			PublicZoneID: exampleZone, PrivateZoneID: exampleZone, Zones: []infra.OutputZone{{Name: "us-east-1a", SubnetID: exampleSubnet}},
		},
		IAM:            clusteriam.NewOutput(iam),
		EndpointAccess: hyperv1.Private, ControlPlaneAvailability: hyperv1.HighlyAvailable, InfrastructureAvailability: hyperv1.SingleReplica,
		EtcdStorageSize: "8Gi", NetworkType: hyperv1.OVNKubernetes, ClusterCIDRs: []string{"10.132.0.0/14"}, ServiceCIDRs: []string{"172.31.0.0/16"},
		PullSecret: []byte(EmptyPullSecret),
		Pool: Pool{
			Replicas: 1, InstanceType: "m5.large", RootVolume: hyperv1.Volume{Size: 120, Type: hyperv1.VolumeTypeGP3},
			Arch: hyperv1.ArchitectureAMD64, UpgradeType: hyperv1.UpgradeTypeReplace,
		},
	}
}

func TestExampleIDsAreValid(t *testing.T) {
	if errs := valid().Validate(); len(errs) > 0 {
		t.Error(errs)
	}
}

func TestBaseDomainPrefix(t *testing.T) {
	none, other := "", "other"
	for prefix, want := range map[string]*string{"": nil, infra.NoPrefix: &none, "other": &other} {
		c := valid()
		c.Infra.BaseDomainPrefix = prefix
		got := c.HostedCluster().Spec.DNS.BaseDomainPrefix
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("prefix %q: %v", prefix, got)
		}
	}
}

func TestHostNamesOfAPrivateClusterAreNotPublic(t *testing.T) {
	for access, want := range map[hyperv1.AWSEndpointAccessType]string{
		hyperv1.Public:           "api-demo.d.com,ignition-demo.d.com,konnectivity-demo.d.com,oauth-demo.d.com",
		hyperv1.PublicAndPrivate: "api-demo.d.com,,,oauth-demo.d.com",
	} {
		c := valid()
		c.EndpointAccess, c.ExternalDNSDomain = access, "d.com"
		var hosts []string
		for _, s := range c.HostedCluster().Spec.Services {
			hosts = append(hosts, s.ServicePublishingStrategy.Hostname())
		}
		if got := strings.Join(hosts, ","); got != want {
			t.Errorf("%s: %s, want %s", access, got, want)
		}
	}
}

func TestPublicNodesHavePublicAddresses(t *testing.T) {
	c := valid()
	c.Infra.PublicOnly = true
	c.Annotations = map[string]string{"example.com/team": "a"}
	hc := c.HostedCluster()
	if hc.Annotations[hyperv1.AWSMachinePublicIPsAnnotation] != "true" || hc.Annotations["example.com/team"] != "a" || len(c.Annotations) != 1 {
		t.Errorf("annotations %v, input %v", hc.Annotations, c.Annotations)
	}
}

func TestNodesUseTheProxyOfTheNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		plain, secure, ca string
		http, https       string
		objects           int
	}{
		"no proxy":     {"", "", "", "", "", 0},
		"a proxy":      {"http://10.0.0.10:3128", "", "", "http://10.0.0.10:3128", "http://10.0.0.10:3128", 0},
		"one with TLS": {"http://10.0.0.10:3128", "https://10.0.0.10:3129", "certificate", "http://10.0.0.10:3128", "https://10.0.0.10:3129", 1},
	} {
		cluster := valid()
		cluster.Infra.ProxyAddr, cluster.Infra.SecureProxyAddr, cluster.Infra.ProxyCA = c.plain, c.secure, c.ca
		if errs := cluster.Validate(); len(errs) > 0 {
			t.Error(name, errs)
		}
		var http, https, trusted string
		if configuration := cluster.HostedCluster().Spec.Configuration; configuration != nil {
			http, https, trusted = configuration.Proxy.HTTPProxy, configuration.Proxy.HTTPSProxy, configuration.Proxy.TrustedCA.Name
		}
		if http != c.http || https != c.https {
			t.Errorf("%s: %s and %s", name, http, https)
		}
		found := 0
		for _, object := range cluster.Objects() {
			if cm, ok := object.(*corev1.ConfigMap); ok && cm.Name == trusted && cm.Data["ca-bundle.crt"] == c.ca && cm.Labels[DeletableLabel] == "true" {
				found++
			}
		}
		if found != c.objects {
			t.Errorf("%s: %d ConfigMaps with the authority, trusted is %q", name, found, trusted)
		}
	}
}

// Otherwise each cluster of the command line gets the condition SupportedFields False.
func TestNoFieldIsWithoutEffect(t *testing.T) {
	full := valid()
	full.ExternalDNSDomain, full.KubeAPIServerDNSName, full.PausedUntil = "d.com", "api.d.com", "true"
	full.Infra.ProxyAddr, full.AutoNode, full.Infra.BaseDomainPrefix = "http://10.0.0.10:3128", true, infra.NoPrefix
	full.IAM.KarpenterRoleARN = full.IAM.Roles.NodePoolManagementARN
	full.SSHPublicKey, full.TrustBundle = []byte("ssh-ed25519 AAAA"), []byte("certificate")
	full.NodeSelector, full.PodLabels = map[string]string{"a": "b"}, map[string]string{"a": "b"}
	shared := valid()
	shared.IAM.SharedControlPlaneRoleARN, shared.IAM.SharedIngressRoleARN = shared.IAM.Roles.StorageARN, shared.IAM.Roles.StorageARN
	for name, c := range map[string]Cluster{"required flags": valid(), "all flags but --fips": full, "a shared VPC": shared} {
		if fields := c.HostedCluster().NotActedOn(); len(fields) > 0 {
			t.Errorf("%s: %v", name, fields)
		}
		for _, np := range c.NodePools() {
			if fields := np.NotActedOn(); len(fields) > 0 {
				t.Errorf("%s: NodePool: %v", name, fields)
			}
		}
	}
}

func TestAKMSKeyNeedsNoSecret(t *testing.T) {
	c := valid()
	c.IAM.KMSKeyARN, c.IAM.KMSProviderRoleARN = "arn:aws:kms:us-east-1:000000000000:key/k", "arn:aws:iam::000000000000:role/demo-x-kms-provider"
	if errs := c.Validate(); len(errs) > 0 {
		t.Error(errs)
	}
	text, err := YAML(c.Objects(), true)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("etcd-encryption-key")) || !bytes.Contains(text, []byte("type: kms")) {
		t.Errorf("objects:\n%s", text)
	}
}

func TestNewInfraIDsAreLabelsThatFitIntoNames(t *testing.T) {
	for _, name := range []string{"demo", "a-name-with-a-dash-at-x-the-place-where-it-is-cut", "twenty-characters-xx-y"} {
		a, b := NewInfraID(name), NewInfraID(name)
		if a == b || len(a) > 32 || len(utilvalidation.IsDNS1123Label(a)) > 0 || strings.Contains(a, "--") {
			t.Errorf("%s and %s of %s", a, b, name)
		}
	}
}

// The role of the image registry is set only with its capability: the operator reports a field that has no effect.
func TestImageRegistryHasItsRole(t *testing.T) {
	c := valid()
	if role := c.HostedCluster().Spec.Platform.AWS.RolesRef.ImageRegistryARN; role != "" {
		t.Errorf("the role is %s", role)
	}
	c.Capabilities = []hyperv1.OptionalCapability{hyperv1.ImageRegistryCapability}
	if errs := c.Validate(); len(errs) > 0 {
		t.Error(errs)
	}
	hc := c.HostedCluster()
	if role := string(hc.Spec.Platform.AWS.RolesRef.ImageRegistryARN); !strings.HasSuffix(role, ":role/demo-x-openshift-image-registry") {
		t.Errorf("the role is %s", role)
	}
	if fields := hc.NotActedOn(); len(fields) > 0 {
		t.Errorf("without effect: %v", fields)
	}
	c.IAM.Roles.ImageRegistryARN = ""
	if errs := c.Validate(); len(errs) != 1 || !strings.Contains(errs.ToAggregate().Error(), "run `create iam aws` again") {
		t.Errorf("without the role: %v", errs)
	}
}
