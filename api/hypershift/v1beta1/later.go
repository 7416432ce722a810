package v1beta1

// later lists the fields of spec that are accepted so that manifests stay valid from version to version, and that nothing acts
// on yet. A line goes when its field starts to work.
var later = []struct {
	path string
	set  func(*HostedClusterSpec) bool
}{
	{"controlPlaneRelease", func(s *HostedClusterSpec) bool { return s.ControlPlaneRelease != nil }},
	{"updateService", func(s *HostedClusterSpec) bool { return s.UpdateService != "" }},
	{"channel", func(s *HostedClusterSpec) bool { return s.Channel != "" }},
	{"kubeAPIServerDNSName", func(s *HostedClusterSpec) bool { return s.KubeAPIServerDNSName != "" }},
	{"platform.aws.serviceEndpoints", func(s *HostedClusterSpec) bool {
		return s.Platform.AWS != nil && len(s.Platform.AWS.ServiceEndpoints) > 0
	}},
	{"platform.aws.terminationHandlerQueueURL", func(s *HostedClusterSpec) bool {
		return s.Platform.AWS != nil && s.Platform.AWS.TerminationHandlerQueueURL != ""
	}},
	{"networking.allocateNodeCIDRs", func(s *HostedClusterSpec) bool { return s.Networking.AllocateNodeCIDRs != nil }},
	{"autoscaling", func(s *HostedClusterSpec) bool { return s.Autoscaling.chosen() }},
	{"autoNode", func(s *HostedClusterSpec) bool { return s.AutoNode != nil }},
	{"etcd.managed.storage.restoreSnapshotURL", func(s *HostedClusterSpec) bool {
		return s.Etcd.Managed != nil && len(s.Etcd.Managed.Storage.RestoreSnapshotURL) > 0
	}},
	{"etcd.unmanaged", func(s *HostedClusterSpec) bool { return s.Etcd.Unmanaged != nil }},
	{"configuration", func(s *HostedClusterSpec) bool {
		return s.Configuration != nil && *s.Configuration != ClusterConfiguration{Proxy: s.Configuration.Proxy}
	}},
	{"operatorConfiguration", func(s *HostedClusterSpec) bool {
		return s.OperatorConfiguration != nil && *s.OperatorConfiguration != OperatorConfiguration{}
	}},
	{"auditWebhook", func(s *HostedClusterSpec) bool { return s.AuditWebhook != nil }},
	{"secretEncryption", func(s *HostedClusterSpec) bool { return s.SecretEncryption != nil }},
	{"fips", func(s *HostedClusterSpec) bool { return s.FIPS }},
	{"olmCatalogPlacement", func(s *HostedClusterSpec) bool { return s.OLMCatalogPlacement == GuestOLMCatalogPlacement }},
	{"capabilities", func(s *HostedClusterSpec) bool {
		return s.Capabilities != nil && len(s.Capabilities.Enabled)+len(s.Capabilities.Disabled) > 0
	}},
	{"monitoring", func(s *HostedClusterSpec) bool { return s.Monitoring != nil && s.Monitoring.MetricsForwarding != nil }},
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
