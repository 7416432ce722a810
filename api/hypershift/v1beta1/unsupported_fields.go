package v1beta1

import (
	"reflect"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
)

// unsupportedFields lists the fields of spec that are accepted but have no effect yet, so that manifests stay valid
// from version to version, and what to do instead. Remove a line when its field is implemented.
var unsupportedFields = []struct {
	path, instead string
	set           func(*HostedClusterSpec) bool
}{
	{"updateService", "remove it: there is no update service; choose a release in release.image", func(s *HostedClusterSpec) bool { return s.UpdateService != "" }},
	{"channel", "remove it: there is no update service; choose a release in release.image", func(s *HostedClusterSpec) bool { return s.Channel != "" }},
	{"platform.aws.serviceEndpoints", "set AWS_ENDPOINT_URL_<SERVICE> in extraEnv of the chart", onAWS(func(aws *AWSPlatformSpec) bool { return len(aws.ServiceEndpoints) > 0 })},
	{"platform.aws.terminationHandlerQueueURL", "configure autoNode, which reads it", func(s *HostedClusterSpec) bool {
		return s.Platform.AWS != nil && s.Platform.AWS.TerminationHandlerQueueURL != "" && s.AutoNode.Karpenter() == nil
	}},
	{"platform.aws.multiArch", "remove it: node pools may have every architecture of the release", onAWS(func(aws *AWSPlatformSpec) bool { return aws.MultiArch })},
	{"platform.aws.rolesRef.ingressARN", enableIngress, unlessIngress(onAWS(func(aws *AWSPlatformSpec) bool { return aws.RolesRef.IngressARN != "" }))},
	{"platform.aws.rolesRef.imageRegistryARN", "add ImageRegistry to capabilities.enabled", func(s *HostedClusterSpec) bool {
		return s.Platform.AWS != nil && s.Platform.AWS.RolesRef.ImageRegistryARN != "" && !s.Capabilities.Enables(ImageRegistryCapability)
	}},
	{"platform.aws.rolesRef.networkARN", "remove it: releases of Kubernetes have no controller that assigns addresses of AWS to nodes", onAWS(func(aws *AWSPlatformSpec) bool { return aws.RolesRef.NetworkARN != "" })},
	{"platform.aws.cloudProviderConfig.subnet.filters", "name the subnet in id", onAWS(func(aws *AWSPlatformSpec) bool {
		return aws.CloudProviderConfig != nil && aws.CloudProviderConfig.Subnet != nil && len(aws.CloudProviderConfig.Subnet.Filters) > 0
	})},
	{"dns.publicZoneID", enableIngress, unlessIngress(func(s *HostedClusterSpec) bool { return s.DNS.PublicZoneID != "" })},
	{"dns.privateZoneID", enableIngress, unlessIngress(func(s *HostedClusterSpec) bool { return s.DNS.PrivateZoneID != "" })},
	{"networking.networkType OpenShiftSDN", "use OVNKubernetes for the pod network of the release, or Other", func(s *HostedClusterSpec) bool { return s.Networking.NetworkType == OpenShiftSDN }},
	{"networking.clusterNetwork.hostPrefix", "set allocateNodeCIDRs, or configure the network plugin", func(s *HostedClusterSpec) bool {
		return !s.Networking.AllocatesNodeRanges() && slices.ContainsFunc(s.Networking.ClusterNetwork, func(e ClusterNetworkEntry) bool { return e.HostPrefix != 0 })
	}},
	{"autoNode", "set provisionerConfig.karpenter.platform to AWS, with aws", func(s *HostedClusterSpec) bool {
		return s.AutoNode != nil && s.AutoNode.Provisioner.Karpenter != nil && s.AutoNode.Karpenter() == nil
	}},
	{"configuration.apiServer.encryption", "use secretEncryption", configures(func(c *ClusterConfiguration) bool {
		return c.APIServer != nil && !reflect.DeepEqual(c.APIServer.Encryption, configv1.APIServerEncryption{}) && c.APIServer.Encryption.Type != configv1.EncryptionTypeIdentity
	})},
	{"configuration.apiServer.tlsAdherence", "use tlsSecurityProfile, which the API server applies", configures(func(c *ClusterConfiguration) bool { return c.APIServer != nil && c.APIServer.TLSAdherence != "" })},
	{"configuration.apiServer.tlsSecurityProfile.custom.groups", "remove it: programs of Kubernetes choose the key exchange themselves", configures(func(c *ClusterConfiguration) bool {
		return c.APIServer != nil && c.APIServer.TLSSecurityProfile != nil && c.APIServer.TLSSecurityProfile.Custom != nil && len(c.APIServer.TLSSecurityProfile.Custom.Groups) > 0
	})},
	{"configuration.authentication.oauthMetadata", "remove it: releases of Kubernetes have no OAuth server", configures(func(c *ClusterConfiguration) bool {
		return c.Authentication != nil && c.Authentication.OAuthMetadata.Name != ""
	})},
	{"configuration.authentication.webhookTokenAuthenticators", "use webhookTokenAuthenticator", configures(func(c *ClusterConfiguration) bool {
		return c.Authentication != nil && len(c.Authentication.WebhookTokenAuthenticators) > 0
	})},
	{"configuration.authentication.oidcProviders.oidcClients", "remove it: releases of Kubernetes have no web console", configures(func(c *ClusterConfiguration) bool {
		return c.Authentication != nil && slices.ContainsFunc(c.Authentication.OIDCProviders, func(p configv1.OIDCProvider) bool { return len(p.OIDCClients) > 0 })
	})},
	{"configuration.image", "use imageContentSources, or a policy of the hosted cluster", configures(func(c *ClusterConfiguration) bool { return c.Image != nil })},
	{"configuration.ingress", enableIngress, unlessIngress(configures(func(c *ClusterConfiguration) bool { return c.Ingress != nil }))},
	{"configuration.ingress", "use domain; other settings are those of OpenShift's ingress operator", ifIngress(configures(func(c *ClusterConfiguration) bool {
		return c.Ingress != nil && !reflect.DeepEqual(*c.Ingress, configv1.IngressSpec{Domain: c.Ingress.Domain})
	}))},
	{"configuration.network", "use networking; only serviceNodePortRange has an effect here", configures(func(c *ClusterConfiguration) bool {
		return c.Network != nil && !reflect.DeepEqual(*c.Network, configv1.NetworkSpec{ServiceNodePortRange: c.Network.ServiceNodePortRange})
	})},
	{"configuration.oauth", "use configuration.authentication.oidcProviders", configures(func(c *ClusterConfiguration) bool { return c.OAuth != nil })},
	{"configuration.operatorhub", "remove it: releases of Kubernetes have no catalogs", configures(func(c *ClusterConfiguration) bool { return c.OperatorHub != nil })},
	{"configuration.proxy.readinessEndpoints", "remove it: nodes report a proxy that does not work when they pull images", configures(func(c *ClusterConfiguration) bool { return c.Proxy != nil && len(c.Proxy.ReadinessEndpoints) > 0 })},
	{"configuration.scheduler.policy", "use profile", configures(func(c *ClusterConfiguration) bool { return c.Scheduler != nil && c.Scheduler.Policy.Name != "" })},
	{"configuration.scheduler.defaultNodeSelector", "use node selectors or taints", configures(func(c *ClusterConfiguration) bool { return c.Scheduler != nil && c.Scheduler.DefaultNodeSelector != "" })},
	{"configuration.scheduler.mastersSchedulable", "remove it: the control plane has no nodes", configures(func(c *ClusterConfiguration) bool { return c.Scheduler != nil && c.Scheduler.MastersSchedulable })},
	{"operatorConfiguration.clusterVersionOperator", "remove it: releases of Kubernetes do not have this operator", func(s *HostedClusterSpec) bool {
		return s.OperatorConfiguration != nil && s.OperatorConfiguration.ClusterVersionOperator != nil
	}},
	{"operatorConfiguration.clusterNetworkOperator", "remove it: releases of Kubernetes do not have this operator", func(s *HostedClusterSpec) bool {
		return s.OperatorConfiguration != nil && s.OperatorConfiguration.ClusterNetworkOperator != nil
	}},
	{"operatorConfiguration.ingressOperator", enableIngress, unlessIngress(func(s *HostedClusterSpec) bool {
		return s.OperatorConfiguration != nil && s.OperatorConfiguration.IngressOperator != nil
	})},
	{"operatorConfiguration.ingressOperator.endpointPublishingStrategy HostNetwork", "use NodePortService, as which it is published", ifIngress(func(s *HostedClusterSpec) bool {
		strategy := s.OperatorConfiguration.endpointPublishingStrategy()
		return strategy != nil && strategy.Type == operatorv1.HostNetworkStrategyType
	})},
	{"operatorConfiguration.ingressOperator.endpointPublishingStrategy.loadBalancer.providerParameters", "use the type NLB of provider AWS", ifIngress(func(s *HostedClusterSpec) bool {
		strategy := s.OperatorConfiguration.endpointPublishingStrategy()
		return strategy != nil && strategy.LoadBalancer != nil && strategy.LoadBalancer.ProviderParameters != nil && !isNLB(*strategy.LoadBalancer.ProviderParameters)
	})},
	{"fips", "create the cluster again without it", func(s *HostedClusterSpec) bool { return s.FIPS }},
	{"olmCatalogPlacement", "releases of Kubernetes have no catalogs", func(s *HostedClusterSpec) bool { return s.OLMCatalogPlacement == GuestOLMCatalogPlacement }},
	{"capabilities", "remove them: of the optional parts, releases of Kubernetes have only Ingress and ImageRegistry, which are off by default", func(s *HostedClusterSpec) bool {
		isOther := func(part OptionalCapability) bool { return part != IngressCapability && part != ImageRegistryCapability }
		if s.Capabilities == nil {
			return false
		}
		// Ingress can be disabled only together with Console.
		return slices.ContainsFunc(s.Capabilities.Enabled, isOther) || slices.ContainsFunc(s.Capabilities.Disabled, isOther) && !slices.Contains(s.Capabilities.Disabled, IngressCapability)
	}},
	{"monitoring", "select metrics in the scrape configuration of the management cluster", func(s *HostedClusterSpec) bool { return s.Monitoring != nil && *s.Monitoring != MonitoringSpec{} }},
}

// enableIngress is what to do with a field of the ingress controller in a cluster without it.
const enableIngress = "add Ingress to capabilities.enabled"

func ifIngress(set func(*HostedClusterSpec) bool) func(*HostedClusterSpec) bool {
	return func(s *HostedClusterSpec) bool { return s.Capabilities.Enables(IngressCapability) && set(s) }
}

func unlessIngress(set func(*HostedClusterSpec) bool) func(*HostedClusterSpec) bool {
	return func(s *HostedClusterSpec) bool { return !s.Capabilities.Enables(IngressCapability) && set(s) }
}

// isNLB reports whether the parameters are those of a network load balancer of AWS.
func isNLB(p operatorv1.ProviderLoadBalancerParameters) bool {
	return p.Type == operatorv1.AWSLoadBalancerProvider && p.AWS != nil && p.AWS.Type == operatorv1.AWSNetworkLoadBalancer
}

func configures(set func(*ClusterConfiguration) bool) func(*HostedClusterSpec) bool {
	return func(s *HostedClusterSpec) bool { return s.Configuration != nil && set(s.Configuration) }
}

func onAWS(set func(*AWSPlatformSpec) bool) func(*HostedClusterSpec) bool {
	return func(s *HostedClusterSpec) bool { return s.Platform.AWS != nil && set(s.Platform.AWS) }
}

// NotActedOn returns the fields that the user has set and that have no effect in this version, as paths below spec,
// in the order of the fields. Each is followed by what to do instead. Defaults of the API server do not count.
func (in *HostedCluster) NotActedOn() []string {
	var paths []string
	for _, field := range unsupportedFields {
		if field.set(&in.Spec) {
			paths = append(paths, field.path+" ("+field.instead+")")
		}
	}
	return paths
}

// NotActedOn returns the fields of a NodePool that have no effect in this version. Fields with an unsupported value
// only, such as upgradeType InPlace, have their own condition.
func (in *NodePool) NotActedOn() []string {
	if in.Spec.OSImageStream != nil {
		return []string{"osImageStream (choose the image of the machines in platform.aws.ami)"}
	}
	return nil
}
