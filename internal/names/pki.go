package names

import "time"

// Secrets with the certificate authorities of a control plane. Each signs for
// one purpose, so that what one of them has signed is nothing to the others.
const (
	// RootCA signs what the servers of a control plane show; the ConfigMap of
	// the same name has what their clients trust.
	RootCA = "root-ca"
	// ClusterSignerCA signs what nodes ask for.
	ClusterSignerCA = "cluster-signer-ca"
	// ClientSigner signs for the clients of the API server that this operator knows.
	ClientSigner = "client-signer"
	EtcdSigner   = "etcd-signer"
	// KonnectivitySigner signs for both ends of the tunnels to the nodes.
	KonnectivitySigner = "konnectivity-signer"
	// AggregatorClientSigner signs for the API server as a client of other API servers.
	AggregatorClientSigner = "aggregator-client-signer"
	// KubeletClientSigner signs for the API server as a client of kubelets.
	KubeletClientSigner = "kubelet-client-signer"
)

// Secrets of type kubernetes.io/tls, with what to trust of the others beside the
// certificate.
const (
	// APIServerCertificate is for the names that users and nodes know, and
	// APIServerPrivateCertificate for those within the management cluster.
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
)

// ClientCA is the ConfigMap with the authorities whose clients the API server
// lets in.
const ClientCA = "client-ca"

// NodeCertificateLife is for how long the certificates of nodes are made out.
// Kubelets renew them after 70 to 90 % of it.
const NodeCertificateLife = 30 * 24 * time.Hour

// KubeletServingCA is the ConfigMap with the authority by which the API server
// knows kubelets.
const KubeletServingCA = "kubelet-serving-ca"

// KubeletClientCA is the ConfigMap with the authority by which kubelets know the
// API server when it calls them.
const KubeletClientCA = "kubelet-client-ca"

// Secrets with kubeconfigs for inside the management cluster, under AdminKubeconfigFile.
const (
	CustomAdminKubeconfig          = "custom-admin-kubeconfig"
	ControllerManagerKubeconfig    = "kube-controller-manager-kubeconfig"
	SchedulerKubeconfig            = "kube-scheduler-kubeconfig"
	CloudControllerKubeconfig      = "cloud-controller-manager-kubeconfig"
	ControlPlaneOperatorKubeconfig = "control-plane-operator-kubeconfig"
)

// ClusterNameLabel is on the Secret ClusterKubeconfig, as Cluster API wants it.
const ClusterNameLabel = "cluster.x-k8s.io/cluster-name"

// KubeadminPassword is the Secret with the password of the first user of a
// cluster that has an OAuth server, under KubeadminPasswordFile.
const (
	KubeadminPassword     = "kubeadmin-password"
	KubeadminPasswordFile = "password"
)

// Who the certificates make their owners in the hosted cluster.
const (
	// AdminUser is the owner of the administrator's kubeconfig, and AdminGroup
	// his group, which is bound to a role in the hosted cluster: that binding
	// can be taken away, which membership in system:masters could not.
	AdminUser  = "system:admin"
	AdminGroup = "hypershift:cluster-admins"

	ControllerManagerUser     = "system:kube-controller-manager"
	SchedulerUser             = "system:kube-scheduler"
	CloudControllerUser       = "system:cloud-controller-manager"
	ControlPlaneOperatorUser  = "system:control-plane-operator"
	ControlPlaneOperatorGroup = "hypershift:control-plane-operator"
	ClusterAPIUser            = "system:cluster-api"
	ClusterAPIGroup           = "hypershift:cluster-api"
	// APIServerUser is who the API server is to kubelets.
	APIServerUser = "system:kube-apiserver"
	// AggregatorUser is who it is to other API servers, which believe it whom it speaks for.
	AggregatorUser = "system:aggregator"
)
