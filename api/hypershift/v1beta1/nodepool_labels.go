package v1beta1

// Labels and annotations of what is made for a NodePool.
const (
	// NodePoolLabel carries the name of the NodePool on its machines, and on everything else that is made for it in the
	// namespace of the control plane.
	NodePoolLabel = "hypershift.openshift.io/nodePool"
	// NodePoolAnnotation is on the same objects; its value is "<namespace>/<name>" of the NodePool.
	NodePoolAnnotation = "hypershift.openshift.io/nodePool"
	// ReleaseVersionAnnotation is on a NodeBootstrapTemplate and names the release that its nodes run.
	ReleaseVersionAnnotation = "hypershift.openshift.io/releaseVersion"
	// MachineHealthCheckTimeoutAnnotation, on a NodePool or its HostedCluster, is a Go duration: how long a node may be broken
	// before its machine is replaced (spec.management.autoRepair). Default 8m.
	MachineHealthCheckTimeoutAnnotation = "hypershift.openshift.io/machine-health-check-timeout"
	// MachineHealthCheckNodeStartupTimeoutAnnotation, on a NodePool or its HostedCluster, is a Go duration: how long a machine
	// may take to become a node before it is replaced. Default 20m.
	MachineHealthCheckNodeStartupTimeoutAnnotation = "hypershift.openshift.io/machine-health-check-node-startup-timeout"
	// MachineHealthCheckMaxUnhealthyAnnotation, on a NodePool or its HostedCluster, is a number or a percentage: with more broken
	// machines than that none is replaced, because the fault is then likely elsewhere. Default 2, for spot machines 100%.
	MachineHealthCheckMaxUnhealthyAnnotation = "hypershift.openshift.io/machine-health-check-max-unhealthy"
	// MetadataHopLimitAnnotation, "1" or "2" on a NodePool, is how far from an instance its metadata is answered. With 1, the
	// default, pods with a network of their own do not reach it; with 2 they do, and so do the user data and the instance's role.
	MetadataHopLimitAnnotation = "hypershift.openshift.io/ec2-instance-metadata-hop-limit"
	// AWSMachinePublicIPsAnnotation, "true" on a HostedCluster, gives its machines public addresses.
	AWSMachinePublicIPsAnnotation = "hypershift.openshift.io/aws-machine-public-ips"
)
