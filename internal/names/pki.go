package names

import "time"

// Secrets with the certificate authorities of a control plane. Each signs for one purpose, so that its certificates are not
// valid for another.
const (
	// RootCA signs the serving certificates of a control plane. The ConfigMap of the same name contains the bundle for
	// their clients.
	RootCA = "root-ca"
	// ClusterSignerCA signs the certificate requests of nodes.
	ClusterSignerCA = "cluster-signer-ca"
	// ClientSigner signs the client certificates of the API server that the operator itself creates.
	ClientSigner = "client-signer"
	EtcdSigner   = "etcd-signer"
	// KonnectivitySigner signs for both ends of the tunnels to the nodes.
	KonnectivitySigner = "konnectivity-signer"
	// AggregatorClientSigner signs for the API server as a client of aggregated API servers.
	AggregatorClientSigner = "aggregator-client-signer"
	// KubeletClientSigner signs for the API server as a client of kubelets.
	KubeletClientSigner = "kubelet-client-signer"
	// CustomerBreakGlassSigner signs client certificates of administrators for access in an emergency.
	CustomerBreakGlassSigner = "customer-system-admin-signer"
)

// Secrets of type kubernetes.io/tls, which also contain the bundle that verifies the peer.
const (
	// APIServerCertificate is for the names that users and nodes use, and APIServerPrivateCertificate for the names
	// inside the management cluster.
	APIServerCertificate         = "kas-server-crt"
	APIServerPrivateCertificate  = "kas-server-private-crt"
	EtcdServerCertificate        = "etcd-server-tls"
	EtcdPeerCertificate          = "etcd-peer-tls"
	EtcdClientCertificate        = "etcd-client-tls"
	KonnectivityCertificate      = "konnectivity-cluster-tls"
	KonnectivityAgentCertificate = "konnectivity-agent-tls"
	AggregatorClientCertificate  = "kas-aggregator-client-tls"
	KubeletClientCertificate     = "kas-kubelet-client-tls"
	ControllerManagerCertificate = "kcm-server-tls"
	SchedulerCertificate         = "scheduler-server-tls"
	// ImageRegistryCertificate is for the image registry, in the hosted cluster.
	ImageRegistryCertificate = "image-registry-tls"
	// IngressCertificate is for the names of applications in the hosted cluster.
	IngressCertificate = "ingress-tls"
	// MetricsServerCertificate is for metrics-server, in the hosted cluster.
	MetricsServerCertificate = "metrics-server-tls"
	// PodIdentityWebhookCertificate is for the webhook in the namespace of the control plane.
	PodIdentityWebhookCertificate = "pod-identity-webhook-tls"
	// CustomerBreakGlassCertificate is the client certificate of an administrator for access in an emergency.
	CustomerBreakGlassCertificate = "customer-system-admin-client-cert-key"
)

// ClientCA is the ConfigMap with the certificate authorities of the clients of the API server.
const ClientCA = "client-ca"

// NodeCertificateLife is the validity of node certificates. Kubelets renew them after 70 to 90 % of it.
const NodeCertificateLife = 30 * 24 * time.Hour

// KubeletServingCA is the ConfigMap with the CA with which the API server verifies kubelets.
const KubeletServingCA = "kubelet-serving-ca"

// KubeletClientCA is the ConfigMap with the CA with which kubelets verify the API server as a client.
const KubeletClientCA = "kubelet-client-ca"

// Secrets with kubeconfigs for use inside the management cluster, under AdminKubeconfigFile.
const (
	CustomAdminKubeconfig          = "custom-admin-kubeconfig"
	ControllerManagerKubeconfig    = "kube-controller-manager-kubeconfig"
	SchedulerKubeconfig            = "kube-scheduler-kubeconfig"
	CloudControllerKubeconfig      = "cloud-controller-manager-kubeconfig"
	ControlPlaneOperatorKubeconfig = "control-plane-operator-kubeconfig"
	PodIdentityWebhookKubeconfig   = "pod-identity-webhook-kubeconfig"
	EBSCSIControllerKubeconfig     = "aws-ebs-csi-driver-controller-kubeconfig"
	ClusterAutoscalerKubeconfig    = "cluster-autoscaler-kubeconfig"
	KarpenterKubeconfig            = "karpenter-kubeconfig"
)

// ClusterNameLabel is on the Secret ClusterKubeconfig; Cluster API requires it.
const ClusterNameLabel = "cluster.x-k8s.io/cluster-name"

// PublishedLabel is on the Secrets of a control plane that the hypershift-operator copies for users. It watches them by this label.
const (
	PublishedLabel = "hypershift.openshift.io/published"
	Published      = "true"
)

// KubeadminPassword is the Secret with the password of the first user of a cluster with an OAuth server, under KubeadminPasswordFile.
const (
	KubeadminPassword     = "kubeadmin-password"
	KubeadminPasswordFile = "password"
)

// Users and groups of the certificates in the hosted cluster.
const (
	// AdminUser is the user of the administrator's kubeconfig, and AdminGroup its group, which is bound to a role in the
	// hosted cluster. The binding can be removed; membership in system:masters could not.
	AdminUser  = "system:admin"
	AdminGroup = "hypershift:cluster-admins"
	// ViewerGroup is the group of kubeconfigs that read everything but Secrets.
	ViewerGroup = "hypershift:cluster-viewers"

	ControllerManagerUser     = "system:kube-controller-manager"
	SchedulerUser             = "system:kube-scheduler"
	CloudControllerUser       = "system:cloud-controller-manager"
	ControlPlaneOperatorUser  = "system:control-plane-operator"
	ControlPlaneOperatorGroup = "hypershift:control-plane-operator"
	PodIdentityWebhookUser    = "system:pod-identity-webhook"
	EBSCSIControllerUser      = "system:ebs-csi-controller"
	ClusterAPIUser            = "system:cluster-api"
	ClusterAPIGroup           = "hypershift:cluster-api"
	ClusterAutoscalerUser     = "system:cluster-autoscaler"
	KarpenterUser             = "system:karpenter"
	// APIServerUser is the user of the API server as a client of kubelets.
	APIServerUser = "system:kube-apiserver"
	// AggregatorUser is the user of the API server as a client of aggregated API servers, which accept the user that it names
	// in headers.
	AggregatorUser = "system:aggregator"
)
