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
	// KubeconfigInvalidReason: the Secret with the kubeconfig of the hosted API server cannot be used. The message
	// contains the error. Correct or delete the Secret.
	KubeconfigInvalidReason = "KubeconfigInvalid"
	// KubeconfigRefusedReason: the hosted API server does not accept the credentials in the kubeconfig. Renew the Secret that
	// the message names.
	KubeconfigRefusedReason = "KubeconfigRefused"
	// KubeAPIServerUnreachableReason: there is no response at the address of the hosted API server in the kubeconfig.
	// Check that the API server runs, and check the network to it.
	KubeAPIServerUnreachableReason = "KubeAPIServerUnreachable"
	// KubeAPIServerUntrustedReason: the server at the address in the kubeconfig has no certificate that the
	// kubeconfig trusts. Compare the serving certificate with the certificate authority and the host name in the
	// kubeconfig.
	KubeAPIServerUntrustedReason = "KubeAPIServerUntrusted"
	// KubeAPIServerNotReadyReason: the hosted API server reports that it is not ready. The message names the failed
	// checks.
	KubeAPIServerNotReadyReason = "KubeAPIServerNotReady"
	// WaitingForFirstAnswerReason: the hosted API server has not been reachable at its published address yet. A new
	// load balancer takes some minutes. If this persists, check the events of the Service in the message, and the
	// network to it.
	WaitingForFirstAnswerReason = "WaitingForFirstAnswer"
	// CheckedInsideOnlyReason: the control-plane-operator cannot reach the load balancer, but the hosted API server
	// responds inside the management cluster. No action is needed if the management cluster may not use that load
	// balancer, for example because spec.networking.apiServer.allowedCIDRBlocks does not list its addresses.
	// Otherwise check the load balancer.
	CheckedInsideOnlyReason = "CheckedInsideOnly"
)

// Reasons of AWSDefaultSecurityGroupCreated and AWSDefaultSecurityGroupDeleted, in addition to
// SecurityGroupNameTaken, SecurityGroupInUse and those for errors of AWS.
const (
	// VPCNotNamedReason: the security group of the workers cannot be created, because their VPC is not specified. Set
	// spec.platform.aws.cloudProviderConfig.vpc.
	VPCNotNamedReason = "VPCNotNamed"
)
