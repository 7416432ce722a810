package v1beta1

// Condition types of a HostedControlPlane that Cluster API asks for.
const (
	// HostedControlPlanePaused says that changes are stopped. False is the calm state. If True, spec.pausedUntil of the
	// HostedCluster stops them; remove it to go on.
	HostedControlPlanePaused = "Paused"
)

// Reasons of Paused.
const (
	// PausedReason: spec.pausedUntil stops changes. Remove it to go on.
	PausedReason = "Paused"
	// NotPausedReason: changes are being acted on.
	NotPausedReason = "NotPaused"
)

// Reasons of KubeAPIServerAvailable, KubeAPIServerReachable and EtcdAvailable.
const (
	// KubeconfigInvalidReason: the Secret with the kubeconfig of the hosted API server cannot be used. The message says what
	// is wrong with it.
	KubeconfigInvalidReason = "KubeconfigInvalid"
	// KubeconfigRefusedReason: the hosted API server does not accept the credentials in the kubeconfig. Renew the Secret that
	// the message names.
	KubeconfigRefusedReason = "KubeconfigRefused"
	// KubeAPIServerUnreachableReason: nobody answers where the kubeconfig says that the hosted API server is. Look whether it
	// runs, and at what is on the way to it.
	KubeAPIServerUnreachableReason = "KubeAPIServerUnreachable"
	// KubeAPIServerUntrustedReason: who answers there cannot show a certificate that the kubeconfig trusts. Compare the serving
	// certificate with the certificate authority and the host name in the kubeconfig.
	KubeAPIServerUntrustedReason = "KubeAPIServerUntrusted"
	// KubeAPIServerNotReadyReason: the hosted API server answers that it is not ready. The message names the checks that fail.
	KubeAPIServerNotReadyReason = "KubeAPIServerNotReady"
	// WaitingForFirstAnswerReason: the hosted API server has not answered yet where it is published. A new load balancer takes
	// some minutes. If it stays, look at the events of the Service that the message names, and at the network in between.
	WaitingForFirstAnswerReason = "WaitingForFirstAnswer"
	// CheckedInsideOnlyReason: the control-plane-operator cannot reach the load balancer, and the hosted API server answers
	// behind it. Nothing is wrong if the management cluster may not use that load balancer, for example because
	// spec.networking.apiServer.allowedCIDRBlocks does not list its addresses. Otherwise look at the load balancer.
	CheckedInsideOnlyReason = "CheckedInsideOnly"
)

// Reasons of AWSDefaultSecurityGroupCreated and AWSDefaultSecurityGroupDeleted, beside SecurityGroupNameTaken,
// SecurityGroupInUse and the kinds of errors that AWS gives.
const (
	// VPCNotNamedReason: the security group of the workers cannot be made, because nobody says in which VPC they are. Set
	// spec.platform.aws.cloudProviderConfig.vpc.
	VPCNotNamedReason = "VPCNotNamed"
)
