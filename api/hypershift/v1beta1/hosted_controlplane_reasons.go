package v1beta1

// Condition types of a HostedControlPlane that Cluster API requires.
const (
	// HostedControlPlanePaused is True while spec.pausedUntil of the HostedCluster stops changes. Remove it to
	// continue. False is normal.
	HostedControlPlanePaused = "Paused"
)

// Reasons of Paused.
const (
	// PausedReason: spec.pausedUntil stops changes. Remove it to continue.
	PausedReason = "Paused"
	// NotPausedReason: changes are reconciled.
	NotPausedReason = "NotPaused"
)

// Reasons of KubeAPIServerAvailable, KubeAPIServerReachable and EtcdAvailable.
const (
	// KubeconfigInvalidReason: the Secret with the hosted API server's kubeconfig cannot be used. Correct or delete it.
	KubeconfigInvalidReason = "KubeconfigInvalid"
	// KubeconfigRefusedReason: the hosted API server does not accept the kubeconfig's credentials. Renew the Secret that the
	// message names.
	KubeconfigRefusedReason = "KubeconfigRefused"
	// KubeAPIServerUnreachableReason: no response at the hosted API server's address. Check that it runs, and the network to it.
	KubeAPIServerUnreachableReason = "KubeAPIServerUnreachable"
	// KubeAPIServerUntrustedReason: the kubeconfig does not trust the certificate of the server at its address. Compare the
	// certificate with the kubeconfig's authority and host name.
	KubeAPIServerUntrustedReason = "KubeAPIServerUntrusted"
	// KubeAPIServerNotReadyReason: the hosted API server reports that it is not ready. The message names the failed
	// checks.
	KubeAPIServerNotReadyReason = "KubeAPIServerNotReady"
	// WaitingForFirstAnswerReason: the hosted API server has not been reachable at its published address yet. If this persists
	// for some minutes, check the events of the Service in the message, and the network to it.
	WaitingForFirstAnswerReason = "WaitingForFirstAnswer"
	// CheckedInsideOnlyReason: the control-plane-operator cannot reach the load balancer, but the hosted API server responds
	// inside the management cluster. Check the load balancer, unless spec.networking.apiServer.allowedCIDRBlocks excludes the
	// management cluster.
	CheckedInsideOnlyReason = "CheckedInsideOnly"
)

// Reasons of AWSDefaultSecurityGroupCreated and AWSDefaultSecurityGroupDeleted, in addition to
// SecurityGroupNameTaken, SecurityGroupInUse and those for errors of AWS.
const (
	// VPCNotNamedReason: the workers' VPC is not specified. Set spec.platform.aws.cloudProviderConfig.vpc.
	VPCNotNamedReason = "VPCNotNamed"
)
