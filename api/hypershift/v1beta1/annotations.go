package v1beta1

// Annotations of a HostedCluster that change how its control plane runs.
const (
	// RestartDateAnnotation restarts the control plane's pods when its value changes. Its removal restarts nothing.
	RestartDateAnnotation = "hypershift.openshift.io/restart-date"
	// PodNetworkAnnotation, if "Unmanaged", leaves the pod network to the user: nothing is installed, updated or removed. An
	// installed pod network keeps running.
	PodNetworkAnnotation = "hypershift.openshift.io/pod-network"
	// DisableClusterAutoscalerAnnotation, if "true", removes the cluster autoscaler. Node pools with autoScaling keep their number
	// of nodes, within their bounds.
	DisableClusterAutoscalerAnnotation = "hypershift.openshift.io/disable-cluster-autoscaler"
	// OIDCProvidersInClusterNetworkAnnotation names providers of configuration.authentication.oidcProviders, separated by commas, whose
	// issuers only the network of the nodes reaches. The API server reaches them through the tunnels to the nodes: without nodes, it accepts
	// no tokens of these issuers.
	OIDCProvidersInClusterNetworkAnnotation = "hypershift.openshift.io/oidc-providers-in-cluster-network"
	// WebhooksInClusterNetworkAnnotation, if "true", lets the API server reach webhooks through the tunnels to the nodes: the audit webhook, the
	// webhook for users, and admission and conversion webhooks with a URL. Without nodes, they are not reached.
	WebhooksInClusterNetworkAnnotation = "hypershift.openshift.io/webhooks-in-cluster-network"
	// ControlPlaneOperatorImageAnnotation replaces the control-plane-operator's image. It requires
	// --allow-control-plane-operator-image-override of the hypershift-operator.
	ControlPlaneOperatorImageAnnotation = "hypershift.openshift.io/control-plane-operator-image"
)

// PodNetworkUnmanaged is the value of PodNetworkAnnotation that leaves the pod network to the user.
const PodNetworkUnmanaged = "Unmanaged"

// Annotations of a HostedCluster that size its control plane. A change restarts the pods that it concerns.
const (
	// ResourceRequestOverrideAnnotationPrefix is the part before the slash of annotations that replace a container's requests.
	// After the slash follow the name of the component, a dot, and the container's name. The value has cpu, memory
	// or both: resource-request-override.hypershift.openshift.io/kube-apiserver.kube-apiserver with the value cpu=500m,memory=2Gi.
	// The memory limit follows the request; the limits of the installation apply. A program for which 1Gi of memory or more is
	// requested has GOGC=100, which takes less CPU in large clusters.
	ResourceRequestOverrideAnnotationPrefix = "resource-request-override.hypershift.openshift.io"
	// KubeAPIServerGOGCAnnotation is the API server's garbage collection target (GOGC): a percentage, or off. Default 25, and
	// 100 if 1Gi of memory or more is requested for it.
	KubeAPIServerGOGCAnnotation = "hypershift.openshift.io/kube-apiserver-gogc"
	// KubeAPIServerGOMemLimitAnnotation is the API server's soft memory limit (GOMEMLIMIT), such as 2GiB, or off. Default off.
	KubeAPIServerGOMemLimitAnnotation = "hypershift.openshift.io/kube-apiserver-gomemlimit"
	// KubeAPIServerGoAwayChanceAnnotation is the fraction of requests, from 0 to 0.02, after which the API server closes
	// the connection, so that clients spread over its replicas. Default 0.001 with several replicas, 0 with one.
	KubeAPIServerGoAwayChanceAnnotation = "hypershift.openshift.io/kube-apiserver-goaway-chance"
	// KubeAPIServerMaxRequestsInFlightAnnotation is the number of reading requests that the API server handles at a time. With the
	// mutating ones it is the concurrency that priority and fairness divides. Default 3000.
	KubeAPIServerMaxRequestsInFlightAnnotation = "hypershift.openshift.io/kube-apiserver-max-requests-inflight"
	// KubeAPIServerMaxMutatingRequestsInFlightAnnotation is the number of mutating requests that the API server handles
	// at a time. Default 1000.
	KubeAPIServerMaxMutatingRequestsInFlightAnnotation = "hypershift.openshift.io/kube-apiserver-max-mutating-requests-inflight"
	// KubeAPIServerServiceAccountTokenMaxExpirationAnnotation is the longest validity of a requested service account token, such as
	// 24h, at least one hour. Default 8760h, a year. After a rotation, the previous signing key is accepted for this time at least.
	KubeAPIServerServiceAccountTokenMaxExpirationAnnotation = "hypershift.openshift.io/kube-apiserver-service-account-token-max-expiration"
	// KubeAPIServerVerbosityLevelAnnotation is the API server's log verbosity, from 0 to 10. From 8 on, logs contain the bodies of
	// requests, also those of Secrets. Default 0.
	KubeAPIServerVerbosityLevelAnnotation = "hypershift.openshift.io/kube-apiserver-verbosity-level"
	// ControlPlanePriorityClassAnnotation is a PriorityClass, from the installation's list, that replaces hypershift-control-plane.
	ControlPlanePriorityClassAnnotation = "hypershift.openshift.io/control-plane-priority-class"
	// APICriticalPriorityClassAnnotation is the PriorityClass that replaces hypershift-api-critical.
	APICriticalPriorityClassAnnotation = "hypershift.openshift.io/api-critical-priority-class"
	// EtcdPriorityClassAnnotation is the PriorityClass that replaces hypershift-etcd.
	EtcdPriorityClassAnnotation = "hypershift.openshift.io/etcd-priority-class"
	// MemoryLimitFactorAnnotation is the memory limit of the control plane's containers as a whole multiple of their request. It
	// replaces the installation's factor, up to the installation's maximum.
	MemoryLimitFactorAnnotation = "hypershift.openshift.io/memory-limit-factor"
)

// SigningKeyTypeRSA is the value of SigningKeyTypeAnnotation for an RSA key.
const SigningKeyTypeRSA = "RSA"

// Annotations of a HostedCluster about its certificates and keys.
const (
	// DisablePKIReconciliationAnnotation, if "true", stops the operator from creating and renewing the control plane's certificates
	// and kubeconfigs. The user supplies them.
	DisablePKIReconciliationAnnotation = "hypershift.openshift.io/disable-pki-reconciliation"
	// SigningKeyTypeAnnotation is the type of the key for service account tokens, which is created with the cluster: ECDSA (P-256,
	// the default), or RSA (2048 bits) if programs that verify these tokens do not support ES256. AWS accepts both. Another value
	// has no effect. A later change has an effect on the next rotation.
	SigningKeyTypeAnnotation = "hypershift.openshift.io/service-account-signing-key-type"
	// RotateSigningKeyAnnotation replaces the generated key that signs service account tokens when its value changes. Tokens of the
	// previous key stay valid. See docs/certificates.md.
	RotateSigningKeyAnnotation = "hypershift.openshift.io/rotate-service-account-signing-key"
	// RetireSigningKeyAnnotation is the ID of a key that signs, or has signed, service account tokens. It is accepted only as long as
	// programs need to replace it, and its tokens become invalid before they expire. Remove the annotation afterwards.
	RetireSigningKeyAnnotation = "hypershift.openshift.io/retire-service-account-signing-key"
	// SigningKeyPublicationAnnotation is how long a new key is published before it signs, such as 24h, the default. Programs that
	// verify tokens, among them AWS, cache public keys.
	SigningKeyPublicationAnnotation = "hypershift.openshift.io/service-account-signing-key-publication"
	// SigningKeyMaxAgeAnnotation is the age, such as 2160h, at least 24h, at which the generated key is replaced. Default: never.
	SigningKeyMaxAgeAnnotation = "hypershift.openshift.io/service-account-signing-key-max-age"
	// RotateCertificatesAnnotation replaces the control plane's certificate authorities when its value changes. Both are
	// trusted until all programs use the new ones.
	RotateCertificatesAnnotation = "hypershift.openshift.io/rotate-certificates"
	// RotationPauseAnnotation is the minimum duration of each step of such a rotation, such as 24h. Default five minutes. Programs
	// with open connections to the API server need this time to restart.
	RotationPauseAnnotation = "hypershift.openshift.io/certificate-rotation-pause"
	// CertificateValidityAnnotation is the validity of new certificates, such as 2160h. Default a year, at least an hour.
	CertificateValidityAnnotation = "hypershift.openshift.io/certificate-validity"
	// CertificateRenewalAnnotation is the fraction of the validity that is left when a certificate is renewed, such as 0.5. Default
	// a third, at most 0.9.
	CertificateRenewalAnnotation = "hypershift.openshift.io/certificate-renewal"
)

// Annotations of a HostedCluster about AWS.
const (
	// TargetNodeLabelsAnnotation restricts the targets of its load balancers to nodes with these labels.
	TargetNodeLabelsAnnotation = "hypershift.openshift.io/aws-load-balancer-target-node-labels"
	// LoadBalancerSubnetsAnnotation lists the subnets of its load balancers in the management account, by id or name, separated
	// by commas: public ones for a public load balancer. Default: the subnets with the load balancer controller's tags.
	LoadBalancerSubnetsAnnotation = "hypershift.openshift.io/aws-load-balancer-subnets"
	// AWSLoadBalancerHealthProbeModeAnnotation is how load balancers of Services with externalTrafficPolicy Cluster in the
	// hosted cluster check nodes: ServiceNodePort, the default, checks each Service's node port, Shared the health endpoint of
	// kube-proxy. A cloud-controller-manager without it ignores it.
	AWSLoadBalancerHealthProbeModeAnnotation = "hypershift.openshift.io/aws-load-balancer-health-probe-mode"
	// SharedLoadBalancerHealthProbePathAnnotation is the path of the health check in mode Shared. Default /healthz.
	SharedLoadBalancerHealthProbePathAnnotation = "hypershift.openshift.io/shared-load-balancer-health-probe-path"
	// SharedLoadBalancerHealthProbePortAnnotation is its port. Default 10256.
	SharedLoadBalancerHealthProbePortAnnotation = "hypershift.openshift.io/shared-load-balancer-health-probe-port"
	// SharedRouterAnnotation, "true", publishes the cluster through the router and the load balancers that the installation shares, and not
	// through its own. It can be set and removed at any time: the cluster moves without an interruption. The API server and konnectivity must
	// be published as Route, and endpointAccess must not be Public.
	SharedRouterAnnotation = "hypershift.openshift.io/shared-router"
	// AWSMachinePublicIPsAnnotation, if "true", assigns public addresses to its machines.
	AWSMachinePublicIPsAnnotation = "hypershift.openshift.io/aws-machine-public-ips"
)

// Annotations of a HostedCluster about its deletion.
const (
	// CleanupCloudResourcesAnnotation, if "false", keeps the load balancers, volumes and snapshots that the hosted cluster
	// created, and the bucket of its image registry. Otherwise its deletion removes them; status.leftBehind lists the rest.
	CleanupCloudResourcesAnnotation = "hypershift.openshift.io/cleanup-cloud-resources"
	// DestroyGracePeriodAnnotation is a Go duration for which the object stays after everything is deleted, so that others can
	// read its final state.
	DestroyGracePeriodAnnotation = "hypershift.openshift.io/destroy-grace-period"
	// GiveUpAfterAnnotation is a Go duration for which the deletion waits, for example for a role that cannot be assumed,
	// before it leaves the remaining resources and lists them. Default 10m.
	GiveUpAfterAnnotation = "hypershift.openshift.io/give-up-after"
)

// Annotations of a HostedCluster about its sleep. While it sleeps, its control plane has no pods, and etcd keeps its volumes.
const (
	// SleepAnnotation, "true" on a HostedCluster, lets it sleep, and "false" wakes it, whatever SleepScheduleAnnotation says.
	// Without it, the schedule decides, and without a schedule the cluster is awake.
	SleepAnnotation = "hypershift.openshift.io/sleep"
	// SleepScheduleAnnotation is when a HostedCluster falls asleep and when it wakes, as two cron expressions, and a time zone,
	// separated by semicolons: "0 20 * * 1-5; 0 7 * * 1-5; Europe/Berlin". Without a time zone, it is UTC.
	SleepScheduleAnnotation = "hypershift.openshift.io/sleep-schedule"
	// SleepMachinesAnnotation is what happens to the machines of NodePools when the cluster falls asleep: Keep, the default, or
	// Delete, which drains and deletes them, and creates others when the cluster wakes. Nodes on demand are always kept. A change
	// has an effect the next time.
	SleepMachinesAnnotation = "hypershift.openshift.io/sleep-machines"
	// SleepLoadBalancersAnnotation is what happens to the load balancers and endpoints of the control plane while the cluster
	// sleeps: Keep, the default, or Delete. They are kept if the address of the API server would not be the same again, which the
	// condition Asleep reports.
	SleepLoadBalancersAnnotation = "hypershift.openshift.io/sleep-load-balancers"
	// SleepEtcdAnnotation is what happens to the pods of etcd while the cluster sleeps: Delete, the default, or Keep, so that a
	// backup can be made that contains every write of the API servers.
	SleepEtcdAnnotation = "hypershift.openshift.io/sleep-etcd"
)

// Annotations about the move of a HostedCluster to another management cluster. They are on the HostedCluster, except for the last two. The
// command `hypershift move cluster` writes them.
const (
	// MovedFromAnnotation is the UID that owns the VPC endpoints of the cluster on the management cluster that it comes from.
	MovedFromAnnotation = "hypershift.openshift.io/moved-from"
	// PreviousEndpointsAnnotation is what happens to the endpoints of MovedFromAnnotation: Keep, the default, leaves them and the private
	// records that lead to them; Replace lets the records lead to the new endpoints; Adopt, after the loss of that management cluster,
	// treats the endpoints as those of this cluster, which replaces them.
	PreviousEndpointsAnnotation = "hypershift.openshift.io/previous-endpoints"
	// PrivateRecordTTLAnnotation is how long resolvers may cache the private records of the control plane, as a Go duration from 1s to 24h.
	// Default 5m. A move makes it shorter before the records change.
	PrivateRecordTTLAnnotation = "hypershift.openshift.io/private-record-ttl"
	// HandedOverAnnotation is "true" on a HostedCluster that another management cluster has taken over. Its deletion deletes what this
	// management cluster has of it, and its VPC endpoints. Machines, their security group, OIDC documents and the cloud resources of
	// workloads stay.
	HandedOverAnnotation = "hypershift.openshift.io/handed-over"
	// EtcdBackupOfMoveAnnotation, "true" on an HCPEtcdBackup, leaves the time out of the key of its object, so that an EtcdRestore can wait
	// for it.
	EtcdBackupOfMoveAnnotation = "hypershift.openshift.io/etcd-backup-of-move"
	// EtcdBackupImportedAnnotation is "true" on an HCPEtcdBackup that was stored by another management cluster: it is not made again.
	EtcdBackupImportedAnnotation = "hypershift.openshift.io/etcd-backup-imported"
)

// Values of PreviousEndpointsAnnotation.
const (
	PreviousEndpointsKeep    = "Keep"
	PreviousEndpointsReplace = "Replace"
	PreviousEndpointsAdopt   = "Adopt"
)

// Values of SleepMachinesAnnotation, SleepLoadBalancersAnnotation and SleepEtcdAnnotation.
const (
	SleepKeep   = "Keep"
	SleepDelete = "Delete"
)

// Annotations of a NodePool.
const (
	// MachineHealthCheckTimeoutAnnotation, on a NodePool or its HostedCluster, is a Go duration for which a node may be unhealthy
	// before its machine is replaced (spec.management.autoRepair). Default 8m.
	MachineHealthCheckTimeoutAnnotation = "hypershift.openshift.io/machine-health-check-timeout"
	// MachineHealthCheckNodeStartupTimeoutAnnotation, on a NodePool or its HostedCluster, is a Go duration that a machine may take
	// to become a node before it is replaced. Default 20m.
	MachineHealthCheckNodeStartupTimeoutAnnotation = "hypershift.openshift.io/machine-health-check-node-startup-timeout"
	// MachineHealthCheckMaxUnhealthyAnnotation, on a NodePool or its HostedCluster, is a number or a percentage. If more
	// machines are unhealthy, none is replaced. Default 2, for spot machines 100%.
	MachineHealthCheckMaxUnhealthyAnnotation = "hypershift.openshift.io/machine-health-check-max-unhealthy"
	// MetadataHopLimitAnnotation, "1" or "2" on a NodePool, is the hop limit of the instance metadata service. With 2, pods with
	// their own network can reach it, read the user data and use the instance's role. Default 1.
	MetadataHopLimitAnnotation = "hypershift.openshift.io/ec2-instance-metadata-hop-limit"
	// UserDataFormatAnnotation, "ignition" or "cloud-config" on a NodePool, is the user data format of the image in
	// spec.platform.aws.ami. Default ignition; without spec.platform.aws.ami the release names the format. Another format replaces
	// the machines.
	UserDataFormatAnnotation = "hypershift.openshift.io/user-data-format"
)

// Annotations that the operators write. Do not change them.
const (
	// ApprovedRequestAnnotation, on a CertificateSigningRequestApproval, is the UID of the only request that it approves.
	ApprovedRequestAnnotation = "hypershift.openshift.io/approved-request"
	// HostedClusterAnnotation is "<namespace>/<name>" of the HostedCluster, on every object that was created for it in another
	// namespace.
	HostedClusterAnnotation = "hypershift.openshift.io/cluster"
	// CopiedFromAnnotation is the name of the original, on a copy of a user's Secret or ConfigMap.
	CopiedFromAnnotation = "hypershift.openshift.io/copied-from"
	// PublishedNamesAnnotation, on a control plane's namespace, lists the host names that its objects may publish, separated by
	// commas. A name that starts with a dot permits all names below it.
	PublishedNamesAnnotation = "hypershift.openshift.io/published-names"
	// ExternalDNSHostnameAnnotation, on a Service, is the public name that
	// external-dns registers for it. external-dns reads it before version 0.22.
	ExternalDNSHostnameAnnotation = "external-dns.alpha.kubernetes.io/hostname"
	// CurrentExternalDNSHostnameAnnotation is the same for external-dns 0.22 and later.
	CurrentExternalDNSHostnameAnnotation = "external-dns.kubernetes.io/hostname"
	// NodePoolAnnotation is "<namespace>/<name>" of the NodePool, on the same objects.
	NodePoolAnnotation = "hypershift.openshift.io/nodePool"
	// ReleaseVersionAnnotation is the release of the nodes, on a NodeBootstrapTemplate.
	ReleaseVersionAnnotation = "hypershift.openshift.io/releaseVersion"
	// ClusterAutoscalerAnnotation is "true" on a HostedControlPlane for which the cluster autoscaler runs. The
	// control-plane-operator creates its kubeconfig and its permissions.
	ClusterAutoscalerAnnotation = "hypershift.openshift.io/cluster-autoscaler"
	// ControlPlaneSizeAnnotation, on a HostedControlPlane, is the number of nodes from which on the installation gives control planes the
	// requests that this one has.
	ControlPlaneSizeAnnotation = "hypershift.openshift.io/control-plane-size"
	// MemoryLimitMaxAnnotation, on a HostedControlPlane, is the largest memory limit that the installation allows for a container, such as
	// 64Gi.
	MemoryLimitMaxAnnotation = "hypershift.openshift.io/memory-limit-max"
	// AutoNodeRemovedAnnotation is "true" on a HostedControlPlane after spec.autoNode was removed, while nodes on demand are left.
	// The control-plane-operator deletes them, and then the condition AutoNodeEnabled.
	AutoNodeRemovedAnnotation = "hypershift.openshift.io/auto-node-removed"
	// SharedRouterPublicHostAnnotation is the host name of the public load balancer of the shared router, on a HostedControlPlane that it
	// serves.
	SharedRouterPublicHostAnnotation = "hypershift.openshift.io/shared-router-public-host"
	// SharedRouterPrivateHostAnnotation is the host name of its internal load balancer.
	SharedRouterPrivateHostAnnotation = "hypershift.openshift.io/shared-router-private-host"
	// SleepPhaseAnnotation, on a HostedControlPlane, is RemovingMachines, Asleep or Waking. It is absent while the cluster is
	// awake.
	SleepPhaseAnnotation = "hypershift.openshift.io/sleep-phase"
	// EtcdRestoreAnnotation, on a HostedControlPlane, is the UID of the EtcdRestore whose backup etcd is to begin with. The
	// control-plane-operator records it in status.etcdRestore when the control plane has no pods.
	EtcdRestoreAnnotation = "hypershift.openshift.io/etcd-restore-uid"
	// HostedClusterDeletedAnnotation is "true" on a HostedControlPlane whose HostedCluster is being deleted. Nothing new may be
	// created, and the hosted cluster's cloud resources are removed if CleanupCloudResourcesAnnotation is "true" there. The
	// HostedControlPlane is deleted when its API server is no longer needed.
	HostedClusterDeletedAnnotation = "hypershift.openshift.io/hosted-cluster-deleted"
)
