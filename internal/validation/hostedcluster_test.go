package validation

import (
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func TestHostedClusterErrorsNameTheReasonAndTheChange(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*hyperv1.HostedCluster)
		reason string   // empty for a cluster that is fine
		says   []string // words that the messages must contain
	}{
		"a private cluster with its API on a load balancer": {change: func(*hyperv1.HostedCluster) {}},
		"a cluster with its API behind the router": {
			change: func(hc *hyperv1.HostedCluster) { publish(hc, hyperv1.APIServer, hyperv1.Route, "api.example.com") },
		},
		"a public cluster needs no VPC": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
				hc.Spec.Platform.AWS.CloudProviderConfig = nil
			},
		},
		"a cluster without a platform": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform} },
		},
		"networks side by side": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Networking.MachineNetwork = []hyperv1.MachineNetworkEntry{{CIDR: "10.0.0.0/17"}, {CIDR: "10.0.128.0/17"}}
			},
		},

		"a cluster with the shared router": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.APIServer, hyperv1.Route, "api.example.com")
				hc.Annotations = map[string]string{hyperv1.SharedRouterAnnotation: "true"}
			},
		},
		"a cluster without the shared router": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Annotations = map[string]string{hyperv1.SharedRouterAnnotation: "false"}
			},
		},
		"the shared router for an API on a load balancer": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Annotations = map[string]string{hyperv1.SharedRouterAnnotation: "true"}
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"publishes APIServer as LoadBalancer", "use Route, or remove the annotation"},
		},
		"the shared router for public nodes": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.APIServer, hyperv1.Route, "api.example.com")
				hc.Annotations = map[string]string{hyperv1.SharedRouterAnnotation: "true"}
				hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"set platform.aws.endpointAccess to PublicAndPrivate or Private"},
		},
		"the shared router outside of AWS": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Annotations = map[string]string{hyperv1.SharedRouterAnnotation: "true"}
				hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"nodes that connect by PrivateLink"},
		},
		"the shared router as a word": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Annotations = map[string]string{hyperv1.SharedRouterAnnotation: "yes"}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"write true or false"},
		},

		"type AWS without aws": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS = nil },
			reason: hyperv1.PlatformConfigMissingReason, says: []string{"platform.aws is missing: add it"},
		},
		"a name that does not fit a namespace": {
			change: func(hc *hyperv1.HostedCluster) { hc.Name = strings.Repeat("a", 60) },
			reason: hyperv1.NameTooLongReason, says: []string{"69 characters", "shorter"},
		},
		"ciphers without which HTTP/2 does not work": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &configv1.APIServerSpec{TLSSecurityProfile: &configv1.TLSSecurityProfile{
					Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{
						Ciphers: []string{"ECDHE-RSA-AES256-GCM-SHA384"}, MinTLSVersion: configv1.VersionTLS12,
					}},
				}}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"tlsSecurityProfile has neither ECDHE-ECDSA-AES128-GCM-SHA256", "add it"},
		},
		"a TLS profile without its content": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &configv1.APIServerSpec{TLSSecurityProfile: &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType}}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{`tlsSecurityProfile is of type "Custom"`, "Intermediate"},
		},
		"audit profiles that do not exist": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &configv1.APIServerSpec{Audit: configv1.Audit{
					Profile: "Everything", CustomRules: []configv1.AuditCustomRule{{Group: "system:authenticated", Profile: "Nothing"}},
				}}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{`profile "Everything"`, `profile "Nothing"`, "WriteRequestBodies"},
		},
		"a feature with another name than Kubernetes has": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Configuration = &hyperv1.ClusterConfiguration{FeatureGate: &configv1.FeatureGateSpec{FeatureGateSelection: configv1.FeatureGateSelection{
					FeatureSet: configv1.CustomNoUpgrade, CustomNoUpgrade: &configv1.CustomFeatureGates{Disabled: []configv1.FeatureGateName{"a=true,b"}},
				}}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{`"a=true,b"`, "HPAScaleToZero"},
		},
		"an OIDC provider with sources that Kubernetes does not have": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: &configv1.AuthenticationSpec{Type: configv1.AuthenticationTypeOIDC, OIDCProviders: []configv1.OIDCProvider{{
					Name: "login", Issuer: configv1.TokenIssuer{URL: "https://login.example.com", Audiences: []configv1.TokenAudience{"a"}},
					ExternalClaimsSources: []configv1.ExternalClaimsSource{{}},
				}}}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"oidcProviders[0]: it has externalClaimsSources", "remove them"},
		},
		"a role that is no ARN": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN = "x" },
			reason: hyperv1.InvalidConfigurationReason, says: []string{`rolesRef.controlPlaneOperatorARN is "x"`, "arn:aws:iam::123456789012:role/name"},
		},
		"a role of a shared VPC that is no ARN": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.SharedVPC = &hyperv1.AWSSharedVPC{} },
			reason: hyperv1.InvalidConfigurationReason, says: []string{"sharedVPC.rolesRef.ingressARN", "sharedVPC.rolesRef.controlPlaneARN"},
		},
		"everybody may connect": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.AdditionalAllowedPrincipals = []string{"*"} },
			reason: hyperv1.InvalidConfigurationReason, says: []string{`has "*"`},
		},
		"a private cluster without a VPC": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.CloudProviderConfig = nil },
			reason: hyperv1.InvalidConfigurationReason, says: []string{"set platform.aws.cloudProviderConfig.vpc"},
		},

		"a private cluster that says nothing of its VPC's addresses": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.MachineNetwork = nil },
			reason: hyperv1.InvalidConfigurationReason, says: []string{"set networking.machineNetwork"},
		},
		"four times the same service": {
			change: func(hc *hyperv1.HostedCluster) {
				for i := range hc.Spec.Services {
					hc.Spec.Services[i] = hc.Spec.Services[0]
				}
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"lists APIServer more than once"},
		},
		"two services at one host name": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.Konnectivity, hyperv1.Route, "a.example.com")
				publish(hc, hyperv1.Ignition, hyperv1.Route, "a.example.com")
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"a.example.com to Konnectivity and Ignition"},
		},
		"a host name that DNS cannot have": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.Konnectivity, hyperv1.Route, strings.Repeat("k", 64)+".example.com")
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"publishes Konnectivity as kkk", "has 64 characters, and a label of a host name may have 63"},
		},
		"the longest host name": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.Konnectivity, hyperv1.Route, strings.Repeat("k", 63)+".example.com")
			},
		},
		"a router that cannot tell the API server from the rest": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.APIServer, hyperv1.Route, "")
				hc.Spec.Platform.AWS.EndpointAccess, hc.Spec.DNS.BaseDomain = hyperv1.Public, ""
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"Route without a hostname", "use LoadBalancer"},
		},
		"a router that knows the API server by the base domain": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.APIServer, hyperv1.Route, "")
				hc.Spec.Platform.AWS.EndpointAccess, hc.Spec.DNS.BaseDomain = hyperv1.Public, "example.com"
			},
		},
		"an API server in the local zone of a private cluster": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.APIServer, hyperv1.Route, "")
				hc.Spec.Platform.AWS.EndpointAccess, hc.Spec.DNS.BaseDomain = hyperv1.Private, ""
			},
		},
		"a host name that is the default of another service": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.APIServer, hyperv1.Route, "")
				publish(hc, hyperv1.OAuthServer, hyperv1.Route, "api."+hc.Name+".example.com")
				hc.Spec.Platform.AWS.EndpointAccess, hc.Spec.DNS.BaseDomain = hyperv1.Public, "example.com"
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{".example.com to APIServer and OAuthServer"},
		},
		"an issuer in the cluster's network that is not a provider": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Annotations = map[string]string{hyperv1.OIDCProvidersInClusterNetworkAnnotation: "corp"}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{`names "corp", which is not in configuration.authentication.oidcProviders`},
		},
		"a domain of applications that DNS cannot have": {
			change: func(hc *hyperv1.HostedCluster) { applications(hc, "Shöp.example.com") },
			reason: hyperv1.InvalidConfigurationReason, says: []string{"the domain of applications is Shöp.example.com"},
		},
		"a domain of applications with the API server's name": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.APIServer, hyperv1.Route, "api.shop.example.com")
				applications(hc, "shop.example.com")
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"a certificate that is valid for the API server, api.shop.example.com"},
		},
		"a domain of applications in a namespace": {
			change: func(hc *hyperv1.HostedCluster) { applications(hc, "clusters-demo.svc") },
			reason: hyperv1.InvalidConfigurationReason, says: []string{"names in svc are those of the control plane"},
		},
		"a domain of applications": {change: func(hc *hyperv1.HostedCluster) { applications(hc, "shop.example.com") }},
		"a domain without applications": {
			change: func(hc *hyperv1.HostedCluster) { applications(hc, "Shöp.example.com"); hc.Spec.Capabilities = nil },
		},
		"node ports on AWS": {
			change: func(hc *hyperv1.HostedCluster) { publish(hc, hyperv1.Konnectivity, hyperv1.NodePort, "") },
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"Konnectivity as NodePort", "use Route"},
		},
		"an API server that nobody publishes": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Services = hc.Spec.Services[1:] },
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"does not say how APIServer is published"},
		},

		"a network that is none": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ServiceNetwork[0].CIDR = "10.0.0.0/33" },
			reason: hyperv1.InvalidConfigurationReason, says: []string{`serviceNetwork has "10.0.0.0/33"`, "like 10.0.0.0/16"},
		},
		"a network of services without room for them": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Networking.ServiceNetwork = []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/30"}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"networking.serviceNetwork: 172.31.0.0/30 has 4 addresses", "choose a larger range"},
		},
		"networks that overlap": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ClusterNetwork[0].CIDR = "10.0.0.0/8" },
			reason: hyperv1.NetworksOverlapReason, says: []string{"machineNetwork 10.0.0.0/16 and networking.clusterNetwork 10.0.0.0/8"},
		},
		"a network over the address of the API server": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ServiceNetwork[0].CIDR = "172.16.0.0/12" },
			reason: hyperv1.NetworksOverlapReason, says: []string{"contains 172.20.0.1"},
		},
		"an address of the API server inside a network": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AdvertiseAddress: ptr.To("10.0.3.4")}
			},
			reason: hyperv1.NetworksOverlapReason, says: []string{"contains 10.0.3.4"},
		},
		"an address that is none": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AdvertiseAddress: ptr.To("here")}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{`advertiseAddress is "here"`},
		},

		"IPv6 behind IPv4 in all networks": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Networking.ClusterNetwork = append(hc.Spec.Networking.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: "fd01::/48"})
				hc.Spec.Networking.ServiceNetwork = append(hc.Spec.Networking.ServiceNetwork, hyperv1.ServiceNetworkEntry{CIDR: "fd02::/112"})
			},
		},
		"IPv6 before IPv4 in one network": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Networking.ServiceNetwork = []hyperv1.ServiceNetworkEntry{{CIDR: "fd02::/112"}, {CIDR: "172.31.0.0/16"}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"networking.machineNetwork begins with 10.0.0.0/16 and networking.serviceNetwork with fd02::/112", "same IP family first"},
		},
		"networks that OVN-Kubernetes would use, which no release has": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Networking.NetworkType, hc.Spec.Networking.MachineNetwork[0].CIDR = hyperv1.OVNKubernetes, "100.64.0.0/10"
			},
		},
		"a node port inside the cluster": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
				publish(hc, hyperv1.APIServer, hyperv1.NodePort, "")
				hc.Spec.Services[0].ServicePublishingStrategy.NodePort = &hyperv1.NodePortPublishingStrategy{Address: "172.31.0.10"}
			},
			reason: hyperv1.NetworksOverlapReason, says: []string{"APIServer at node address 172.31.0.10, which is inside networking.serviceNetwork"},
		},
		"node ports": {
			change: func(hc *hyperv1.HostedCluster) {
				onNodePorts(hc, 31000, 31001)
			},
		},
		"one node port for two services": {
			change: func(hc *hyperv1.HostedCluster) { onNodePorts(hc, 31000, 31000) },
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"node port 31000 to APIServer and Konnectivity"},
		},
		"node ports that the management cluster chooses": {
			change: func(hc *hyperv1.HostedCluster) { onNodePorts(hc, 0, 0) },
		},
		"a node port for some networks only": {
			change: func(hc *hyperv1.HostedCluster) {
				onNodePorts(hc, 0, 0)
				hc.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AllowedCIDRBlocks: []hyperv1.CIDRBlock{"192.0.2.0/24"}}
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"allowedCIDRBlocks", "published as NodePort and open to whoever reaches a node: remove it"},
		},
		"a control plane outside of AWS that nobody reaches": {
			change: func(hc *hyperv1.HostedCluster) {
				onNodePorts(hc, 0, 0)
				hc.Spec.Services = hc.Spec.Services[1:]
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"does not say how APIServer is published"},
		},
		"services that nobody serves, published anyhow": {
			change: func(hc *hyperv1.HostedCluster) {
				onNodePorts(hc, 0, 0)
				publish(hc, hyperv1.OAuthServer, hyperv1.None, "")
				publish(hc, hyperv1.Ignition, hyperv1.LoadBalancer, "")
				hc.Spec.Services = append(hc.Spec.Services, hyperv1.ServicePublishingStrategyMapping{
					Service: hyperv1.OIDC, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.S3},
				})
			},
		},
		"a service that nobody can reach": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
				publish(hc, hyperv1.Konnectivity, hyperv1.None, "")
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"Konnectivity as None: use LoadBalancer, NodePort or Route"},
		},

		"a clusterID that is no UUID": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.ClusterID = strings.Repeat("x", 36) },
			reason: hyperv1.InvalidConfigurationReason, says: []string{"not a UUID"},
		},
		"24 tags": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.ResourceTags = tags(24) },
		},
		"24 tags and the cluster's own": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Platform.AWS.ResourceTags = append(tags(24), hyperv1.AWSResourceTag{Key: "kubernetes.io/cluster/demo-x", Value: "owned"})
			},
		},
		"25 tags": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.ResourceTags = tags(25) },
			reason: hyperv1.InvalidConfigurationReason, says: []string{"has 25 keys and may have 24", "kubernetes.io/cluster/<infraID> is added: remove 1"},
		},
		"a tag of AWS": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "AWS:name", Value: "x"}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"AWS:name", "belong to AWS"},
		},
		"a tag of another cluster": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "kubernetes.io/cluster/other", Value: "owned"}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"kubernetes.io/cluster/other=owned", "remove it"},
		},

		"a label that is none": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Labels = map[string]hyperv1.LabelValue{"good": "x", "not good": "x"}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"spec.labels has not good=x, which is not a label"},
		},
		"a label by which a pod would leave its network policies": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Labels = map[string]hyperv1.LabelValue{"hypershift.openshift.io/need-management-kas-access": "true"}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"spec.labels has hypershift.openshift.io/need-management-kas-access, which is reserved: remove it"},
		},
		"labels by which a pod would join others": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Labels = map[string]hyperv1.LabelValue{
					"app": "etcd", "pod-template-hash": "x", "network.openshift.io/policy-group": "monitoring", "cluster.x-k8s.io/cluster-name": "x",
					"topology.cluster.x-k8s.io/owned": "", "apps.kubernetes.io/pod-index": "0", "k8s.io/x": "",
				}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{
				"has app,", "has pod-template-hash", "has network.openshift.io/policy-group", "has cluster.x-k8s.io/cluster-name",
				"has topology.cluster.x-k8s.io/owned", "has apps.kubernetes.io/pod-index", "has k8s.io/x",
			},
		},
		"labels that describe": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Labels = map[string]hyperv1.LabelValue{
					"app.kubernetes.io/name": "x", "team": "y", "example.com/app": "z", "mycluster.x-k8s.io.example.com/a": "b", "notkubernetes.io/a": "b",
				}
			},
		},
		"a zone that adds a section to the file of the cloud provider": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Platform.AWS.CloudProviderConfig.Zone = "us-east-1a\n[ServiceOverride \"1\"]\nService=ec2"
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"spec.platform.aws.cloudProviderConfig.zone has a line break or another control character: remove it"},
		},
		"lines in fields that may have them": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{NoProxy: "a.example.com,\nb.example.com\n"}}
			},
		},
		"a named certificate with two names in one": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &configv1.APIServerSpec{ServingCerts: configv1.APIServerServingCerts{NamedCertificates: []configv1.APIServerNamedServingCert{{
					Names: []string{"*.example.com", "10.0.0.1", "my.example.org,kubernetes"}, ServingCertificate: configv1.SecretNameReference{Name: "x"},
				}}}}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{`namedCertificates[0] has name "my.example.org,kubernetes", which is neither a DNS name`},
		},
		"a node selector with a value that no node can have": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.NodeSelector = map[string]hyperv1.LabelValue{"zone": "-a-"}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"spec.nodeSelector has zone=-a-"},
		},
		"tolerations": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}, {Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](5)}}
			},
		},
		"a toleration with a word that means nothing": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Maybe"}, {Key: "b", Effect: "Never"}, {Key: "c", Operator: corev1.TolerationOpExists, Value: "d"}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{`key "a" with operator Maybe`, `key "b" with effect Never`, `key "c" with operator Exists and a value`},
		},

		"no storage for etcd": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Etcd.Managed.Storage.PersistentVolume = &hyperv1.PersistentVolumeEtcdStorageSpec{Size: ptr.To(resource.MustParse("0"))}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"size is 0"},
		},
		"managed etcd without settings": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Etcd.Managed = nil },
			reason: hyperv1.InvalidConfigurationReason, says: []string{"etcd.managed is missing"},
		},
		"an etcd of the user's without TLS": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Etcd = hyperv1.EtcdSpec{ManagementType: hyperv1.Unmanaged, Unmanaged: &hyperv1.UnmanagedEtcdSpec{Endpoint: "http://etcd"}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"not an https URL", "clientSecret is empty: name a Secret with etcd-client.crt"},
		},

		"kms without kms": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"type is kms and no key is named: set secretEncryption.kms.provider"},
		},
		"kms with a key in another region, and a role that is none": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.SecretEncryption = kmsEncryption("eu-west-1")
				hc.Spec.SecretEncryption.KMS.AWS.Auth.AWSKMSRoleARN = "arn:x"
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"activeKey.arn is in region us-east-1 and secretEncryption.kms.aws.region is eu-west-1", "not the ARN of a role"},
		},
		"kms": {change: func(hc *hyperv1.HostedCluster) { hc.Spec.SecretEncryption = kmsEncryption(region) }},
		"aescbc without a key": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{}}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"set secretEncryption.aescbc.activeKey to a Secret with 32 bytes"},
		},
		"two kinds of encryption": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.SecretEncryption = kmsEncryption(region)
				hc.Spec.SecretEncryption.AESCBC = &hyperv1.AESCBCSpec{}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"type is kms and secretEncryption.aescbc is set"},
		},

		"a proxy": {
			change: configure(func(c *hyperv1.ClusterConfiguration) {
				c.Proxy = &configv1.ProxySpec{HTTPProxy: "http://u:p@proxy:3128", HTTPSProxy: "https://proxy:3128", NoProxy: ".example.com, example.org:8080,10.0.0.0/8,::1,[::1],*.svc"}
			}),
		},
		"a proxy that is none": {
			change: configure(func(c *hyperv1.ClusterConfiguration) {
				c.Proxy = &configv1.ProxySpec{HTTPProxy: "proxy:3128", HTTPSProxy: "socks5://proxy", NoProxy: "a b"}
			}),
			reason: hyperv1.InvalidConfigurationReason, says: []string{"proxy.httpProxy is not a URL", "proxy.httpsProxy is not a URL", `noProxy has "a b"`},
		},
		"a certificate for the name of our own": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.APIServer, hyperv1.Route, "api.example.com")
				configure(named("*.example.com"))(hc)
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{"namedCertificates[0] is for api.example.com"},
		},
		"a certificate for the name by which nodes find a private cluster": {
			change: configure(named("api.demo.hypershift.local")),
			reason: hyperv1.InvalidConfigurationReason, says: []string{"is for api.demo.hypershift.local"},
		},
		"a certificate for a name of the user's": {change: configure(named("my.example.com"))},

		"an OpenID Connect provider": {
			change: configure(func(c *hyperv1.ClusterConfiguration) {
				c.Authentication = oidcAuthentication("https://login.example.com")
			}),
		},
		"a provider that is none": {
			change: configure(func(c *hyperv1.ClusterConfiguration) {
				c.Authentication = oidcAuthentication("http://login.example.com")
				c.Authentication.OIDCProviders[0].Issuer.Audiences = nil
			}),
			reason: hyperv1.InvalidConfigurationReason, says: []string{`oidcProviders[0].issuer.issuerURL is "http://login.example.com"`, "audiences is empty"},
		},
		"a provider that is not asked": {
			change: configure(func(c *hyperv1.ClusterConfiguration) {
				c.Authentication = oidcAuthentication("https://login.example.com")
				c.Authentication.Type = configv1.AuthenticationTypeIntegratedOAuth
			}),
			reason: hyperv1.InvalidConfigurationReason, says: []string{"oidcProviders is possible only with type OIDC"},
		},
		"two answers to who the users are": {
			change: configure(func(c *hyperv1.ClusterConfiguration) {
				c.Authentication = oidcAuthentication("https://login.example.com")
				c.OAuth = &configv1.OAuthSpec{IdentityProviders: []configv1.IdentityProvider{{Name: "a"}}}
			}),
			reason: hyperv1.InvalidConfigurationReason, says: []string{"configuration.oauth.identityProviders are for the integrated OAuth server"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hc := privateCluster()
			tc.change(hc)
			errs := HostedCluster(hc)
			if tc.reason == "" {
				if len(errs) > 0 {
					t.Errorf("rejected: %v", errs)
				}
				return
			}
			if len(errs) == 0 || Reason(errs) != tc.reason {
				t.Fatalf("got %v, want reason %s", errs, tc.reason)
			}
			for _, words := range tc.says {
				if text := Message(errs); !strings.Contains(text, words) {
					t.Errorf("%q does not contain %q", text, words)
				}
			}
			for _, err := range errs {
				if err.Field == "" || err.Origin == "" {
					t.Errorf("%v has no field or no reason", err)
				}
			}
		})
	}
}

func tags(n int) []hyperv1.AWSResourceTag {
	var out []hyperv1.AWSResourceTag
	for i := range n {
		out = append(out, hyperv1.AWSResourceTag{Key: fmt.Sprintf("key-%d", i), Value: "x"})
	}
	return out
}

func kmsEncryption(in string) *hyperv1.SecretEncryptionSpec {
	return &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: hyperv1.AWSKMS, AWS: &hyperv1.AWSKMSSpec{
		Region: in, ActiveKey: hyperv1.AWSKMSKeyEntry{ARN: "arn:aws:kms:us-east-1:222222222222:key/1"},
		Auth: hyperv1.AWSKMSAuthSpec{AWSKMSRoleARN: "arn:aws:iam::222222222222:role/kms"},
	}}}
}

func oidcAuthentication(issuer string) *configv1.AuthenticationSpec {
	return &configv1.AuthenticationSpec{Type: configv1.AuthenticationTypeOIDC, OIDCProviders: []configv1.OIDCProvider{
		{Name: "login", Issuer: configv1.TokenIssuer{URL: issuer, Audiences: []configv1.TokenAudience{"cluster"}}},
	}}
}

// configure edits spec.configuration.
func configure(edit func(*hyperv1.ClusterConfiguration)) func(*hyperv1.HostedCluster) {
	return func(hc *hyperv1.HostedCluster) {
		hc.Spec.Configuration = &hyperv1.ClusterConfiguration{}
		edit(hc.Spec.Configuration)
	}
}

func named(host string) func(*hyperv1.ClusterConfiguration) {
	return func(c *hyperv1.ClusterConfiguration) {
		c.APIServer = &configv1.APIServerSpec{}
		c.APIServer.ServingCerts.NamedCertificates = []configv1.APIServerNamedServingCert{{
			Names: []string{"other.example.org", host}, ServingCertificate: configv1.SecretNameReference{Name: "my-certificate"},
		}}
	}
}

// publish changes how a service is published.
func publish(hc *hyperv1.HostedCluster, svc hyperv1.ServiceType, how hyperv1.PublishingStrategyType, host string) {
	p := hyperv1.ServicePublishingStrategy{Type: how}
	if how == hyperv1.Route && host != "" {
		p.Route = &hyperv1.RoutePublishingStrategy{Hostname: host}
	}
	for i := range hc.Spec.Services {
		if hc.Spec.Services[i].Service == svc {
			hc.Spec.Services[i].ServicePublishingStrategy = p
		}
	}
}

// onNodePorts takes the cluster out of AWS, to where nodes are reached at 192.0.2.1.
func onNodePorts(hc *hyperv1.HostedCluster, api, tunnels int32) {
	hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
	for service, port := range map[hyperv1.ServiceType]int32{hyperv1.APIServer: api, hyperv1.Konnectivity: tunnels} {
		publish(hc, service, hyperv1.NodePort, "")
		for i := range hc.Spec.Services {
			if s := &hc.Spec.Services[i]; s.Service == service {
				s.ServicePublishingStrategy.NodePort = &hyperv1.NodePortPublishingStrategy{Address: "192.0.2.1", Port: port}
			}
		}
	}
}

const region = testenv.Region

// privateCluster returns a valid cluster.
var privateCluster = testenv.PrivateCluster

func TestAProxyErrorDoesNotContainThePassword(t *testing.T) {
	hc := privateCluster()
	configure(func(c *hyperv1.ClusterConfiguration) {
		c.Proxy = &configv1.ProxySpec{HTTPProxy: "ftp://user:hunter2@proxy"}
	})(hc)
	errs := HostedCluster(hc)
	if len(errs) != 1 || strings.Contains(errs.ToAggregate().Error(), "hunter2") {
		t.Errorf("got %v", errs)
	}
}

func TestTheKindOfEncryptionInUseCannotChange(t *testing.T) {
	aes := &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC}
	for name, tc := range map[string]struct {
		desired, inUse *hyperv1.SecretEncryptionSpec
		want           string
	}{
		"none before":  {kmsEncryption(region), nil, ""},
		"the same":     {aes, aes, ""},
		"removed":      {nil, aes, "secretEncryption of type aescbc was removed"},
		"another kind": {kmsEncryption(region), aes, "changed from aescbc to kms"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Message(EncryptionUpdate(tc.desired, tc.inUse)); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAnInfraIDThatCannotBeDerivedIsRequired(t *testing.T) {
	for name, tc := range map[string]struct{ infraID, example, want string }{
		"known":            {"demo-x", "", ""},
		"without a bucket": {"", "", "no bucket for OIDC documents"},
		"with a bucket":    {"", "https://docs.example.com/<infraID>", "create the cluster with spec.issuerURL https://docs.example.com/<infraID>"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Message(InfraID(tc.infraID, "https://issuer.example.com", tc.example)); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// applications gives the cluster an ingress controller with a domain.
func applications(hc *hyperv1.HostedCluster, domain string) {
	hc.Spec.Capabilities = &hyperv1.Capabilities{Enabled: []hyperv1.OptionalCapability{hyperv1.IngressCapability}}
	if hc.Spec.Configuration == nil {
		hc.Spec.Configuration = &hyperv1.ClusterConfiguration{}
	}
	hc.Spec.Configuration.Ingress = &configv1.IngressSpec{Domain: domain}
}
