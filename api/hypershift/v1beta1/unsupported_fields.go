package v1beta1

import (
	"reflect"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
)

// unsupportedFields lists the fields of spec that are accepted but have no effect yet, so that manifests stay valid
// from version to version. Remove a line when its field is implemented.
var unsupportedFields = []struct {
	path string
	set  func(*HostedClusterSpec) bool
}{
	{"updateService", func(s *HostedClusterSpec) bool { return s.UpdateService != "" }},
	{"channel", func(s *HostedClusterSpec) bool { return s.Channel != "" }},
	{"platform.aws.serviceEndpoints", func(s *HostedClusterSpec) bool {
		return s.Platform.AWS != nil && len(s.Platform.AWS.ServiceEndpoints) > 0
	}},
	{"platform.aws.terminationHandlerQueueURL", func(s *HostedClusterSpec) bool {
		return s.Platform.AWS != nil && s.Platform.AWS.TerminationHandlerQueueURL != "" && s.AutoNode.Karpenter() == nil
	}},
	{"networking.networkType OpenShiftSDN", func(s *HostedClusterSpec) bool { return s.Networking.NetworkType == OpenShiftSDN }},
	{"networking.clusterNetwork.hostPrefix", func(s *HostedClusterSpec) bool {
		return !s.Networking.AllocatesNodeRanges() && slices.ContainsFunc(s.Networking.ClusterNetwork, func(e ClusterNetworkEntry) bool { return e.HostPrefix != 0 })
	}},
	{"configuration.image", configures(func(c *ClusterConfiguration) bool { return c.Image != nil })},
	{"configuration.ingress", configures(func(c *ClusterConfiguration) bool { return c.Ingress != nil })},
	{"configuration.network", configures(func(c *ClusterConfiguration) bool {
		return c.Network != nil && !reflect.DeepEqual(*c.Network, configv1.NetworkSpec{ServiceNodePortRange: c.Network.ServiceNodePortRange})
	})},
	{"configuration.oauth", configures(func(c *ClusterConfiguration) bool { return c.OAuth != nil })},
	{"configuration.operatorhub", configures(func(c *ClusterConfiguration) bool { return c.OperatorHub != nil })},
	{"operatorConfiguration", func(s *HostedClusterSpec) bool {
		return s.OperatorConfiguration != nil && *s.OperatorConfiguration != OperatorConfiguration{}
	}},
	{"fips", func(s *HostedClusterSpec) bool { return s.FIPS }},
	{"olmCatalogPlacement", func(s *HostedClusterSpec) bool { return s.OLMCatalogPlacement == GuestOLMCatalogPlacement }},
	{"capabilities", func(s *HostedClusterSpec) bool {
		return s.Capabilities != nil && len(s.Capabilities.Enabled)+len(s.Capabilities.Disabled) > 0
	}},
	{"monitoring", func(s *HostedClusterSpec) bool { return s.Monitoring != nil && s.Monitoring.MetricsForwarding != nil }},
}

func configures(set func(*ClusterConfiguration) bool) func(*HostedClusterSpec) bool {
	return func(s *HostedClusterSpec) bool { return s.Configuration != nil && set(s.Configuration) }
}

// NotActedOn returns the fields that the user has set and that have no effect in this version, as paths below spec,
// in the order of the fields. Defaults of the API server do not count.
func (in *HostedCluster) NotActedOn() []string {
	var paths []string
	for _, field := range unsupportedFields {
		if field.set(&in.Spec) {
			paths = append(paths, field.path)
		}
	}
	return paths
}

// NotActedOn returns the fields of a NodePool that have no effect in this version. Fields with an unsupported value
// only, such as upgradeType InPlace, have their own condition.
func (in *NodePool) NotActedOn() []string {
	if in.Spec.OSImageStream != nil {
		return []string{"osImageStream"}
	}
	return nil
}
