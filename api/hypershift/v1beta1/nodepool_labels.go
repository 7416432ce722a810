package v1beta1

// Labels and annotations of objects that are created for a NodePool.
const (
	// NodePoolLabel is the name of the NodePool on its machines, and on all other objects that are created for it in
	// the namespace of the control plane.
	NodePoolLabel = "hypershift.openshift.io/nodePool"
	// NodePoolAnnotation is on the same objects. Its value is "<namespace>/<name>" of the NodePool.
	NodePoolAnnotation = "hypershift.openshift.io/nodePool"
	// ReleaseVersionAnnotation is on a NodeBootstrapTemplate. Its value is the release that its nodes run.
	ReleaseVersionAnnotation = "hypershift.openshift.io/releaseVersion"
	// MachineHealthCheckTimeoutAnnotation, on a NodePool or its HostedCluster, is a Go duration: the time for which a
	// node may be unhealthy before its machine is replaced (spec.management.autoRepair). Default 8m.
	MachineHealthCheckTimeoutAnnotation = "hypershift.openshift.io/machine-health-check-timeout"
	// MachineHealthCheckNodeStartupTimeoutAnnotation, on a NodePool or its HostedCluster, is a Go duration: the time
	// that a machine may take to become a node before it is replaced. Default 20m.
	MachineHealthCheckNodeStartupTimeoutAnnotation = "hypershift.openshift.io/machine-health-check-node-startup-timeout"
	// MachineHealthCheckMaxUnhealthyAnnotation, on a NodePool or its HostedCluster, is a number or a percentage. If
	// more machines than this are unhealthy, none is replaced, because the cause is then probably elsewhere. Default
	// 2, for spot machines 100%.
	MachineHealthCheckMaxUnhealthyAnnotation = "hypershift.openshift.io/machine-health-check-max-unhealthy"
	// MetadataHopLimitAnnotation, "1" or "2" on a NodePool, is the hop limit of the instance metadata service. With
	// 1, the default, pods with their own network cannot reach it. With 2 they can, and can also read the user data
	// and use the instance's role.
	MetadataHopLimitAnnotation = "hypershift.openshift.io/ec2-instance-metadata-hop-limit"
	// UserDataFormatAnnotation, "ignition" or "cloud-config" on a NodePool, is the format of the user data that the image in
	// spec.platform.aws.ami reads when it starts. Default ignition. Without spec.platform.aws.ami the release names the image
	// and its format. Another format replaces the machines.
	UserDataFormatAnnotation = "hypershift.openshift.io/user-data-format"
	// AWSMachinePublicIPsAnnotation, "true" on a HostedCluster, assigns public addresses to its machines.
	AWSMachinePublicIPsAnnotation = "hypershift.openshift.io/aws-machine-public-ips"
)
