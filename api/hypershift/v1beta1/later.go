package v1beta1

import (
	"reflect"

	configv1 "github.com/openshift/api/config/v1"
)

// later lists the fields of spec that are accepted so that manifests stay valid from version to version, and that nothing acts
// on yet. A line goes when its field starts to work.
var later = []struct {
	path string
	set  func(*HostedClusterSpec) bool
}{
	{"updateService", func(s *HostedClusterSpec) bool { return s.UpdateService != "" }},
	{"channel", func(s *HostedClusterSpec) bool { return s.Channel != "" }},
	{"platform.aws.serviceEndpoints", func(s *HostedClusterSpec) bool {
		return s.Platform.AWS != nil && len(s.Platform.AWS.ServiceEndpoints) > 0
	}},
	{"platform.aws.terminationHandlerQueueURL", func(s *HostedClusterSpec) bool {
		return s.Platform.AWS != nil && s.Platform.AWS.TerminationHandlerQueueURL != ""
	}},
	{"autoscaling", func(s *HostedClusterSpec) bool { return s.Autoscaling.chosen() }},
	{"autoNode", func(s *HostedClusterSpec) bool { return s.AutoNode != nil }},
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

// NotActedOn returns the paths, below spec and in the order of its fields, of what the user asks for and this version does not
// do. What the API server filled in by default does not count.
func (in *HostedCluster) NotActedOn() []string {
	var paths []string
	for _, field := range later {
		if field.set(&in.Spec) {
			paths = append(paths, field.path)
		}
	}
	return paths
}

// NotActedOn returns the same of a NodePool. What only a wrong value asks for, such as upgradeType InPlace, has a condition of
// its own.
func (in *NodePool) NotActedOn() []string {
	if in.Spec.OSImageStream != nil {
		return []string{"osImageStream"}
	}
	return nil
}

// chosen says whether anything but the default was asked for.
func (in *ClusterAutoscaling) chosen() bool {
	return in.Scaling == ScaleUpOnly || in.ScaleDown != nil || len(in.BalancingIgnoredLabels) > 0 || in.MaxNodesTotal != nil ||
		in.MaxPodGracePeriod != nil || in.MaxNodeProvisionTime != "" || in.PodPriorityThreshold != nil || len(in.Expanders) > 0 ||
		in.MaxFreeDifferenceRatioPercent != nil
}
