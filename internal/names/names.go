// Package names defines the names of objects that both operators use, so that neither imports the other.
package names

import "strings"

// The operators. They are also the field owners of their writes.
const (
	HypershiftOperator   = "hypershift-operator"
	ControlPlaneOperator = "control-plane-operator"
)

// Services of a control plane.
const (
	KubeAPIServer        = "kube-apiserver"
	KubeAPIServerPrivate = "kube-apiserver-private"
	// Router is the public load balancer in front of the SNI router.
	Router = "router"
	// PrivateRouter is its internal load balancer, which PrivateLink uses.
	PrivateRouter      = "private-router"
	KonnectivityServer = "konnectivity-server"
)

// Secrets of a control plane.
const (
	// ServiceAccountSigningKey holds the key pair that signs the service account tokens of the hosted cluster. AWS trusts its
	// public key.
	ServiceAccountSigningKey = "sa-signing-key"
	// ServiceAccountPrivateKeyFile and ServiceAccountPublicKeyFile are its keys, in PEM.
	ServiceAccountPrivateKeyFile = "service-account.key"
	ServiceAccountPublicKeyFile  = "service-account.pub"
	// NextServiceAccountPrivateKeyFile is the private key that will sign after a rotation, and ServiceAccountKeysRecord the state of
	// the rotation (package signingkeys).
	NextServiceAccountPrivateKeyFile = "next-service-account.key"
	ServiceAccountKeysRecord         = "rotation"
	PullSecret                       = "pull-secret"
	// HostedPullSecret is its copy in kube-system of the hosted cluster. Pods on nodes name it, and nodes read it.
	HostedPullSecret = "hypershift-pull-secret"
	// AdditionalPullSecret is a Secret in kube-system of the hosted cluster, with credentials that its users add.
	AdditionalPullSecret = "additional-pull-secret"
	// SSHKey holds the public keys that may log in to the nodes.
	SSHKey = "ssh-key"
	// AdminKubeconfig holds the kubeconfig of the hosted cluster's administrator, under AdminKubeconfigFile, with the API
	// server name that users can reach.
	AdminKubeconfig     = "admin-kubeconfig"
	AdminKubeconfigFile = "kubeconfig"
	// ClusterKubeconfigFile is the key in the Secret ClusterKubeconfig.
	ClusterKubeconfigFile = "value"
)

// ClusterKubeconfig returns the name of the Secret with the kubeconfig with which the management cluster reaches the hosted
// API server. Cluster API requires this name.
func ClusterKubeconfig(infraID string) string { return infraID + "-kubeconfig" }

// UserCABundle is the ConfigMap of a control plane with the certificate
// authorities that the user trusts.
const UserCABundle = "user-ca-bundle"

// The controllers of the machines, which run in the namespace of a control plane that has node pools.
const (
	// ClusterAPI is the core of Cluster API, CAPIProvider its AWS provider.
	ClusterAPI   = "cluster-api"
	CAPIProvider = "capi-provider"
	// ClusterAutoscaler sets the number of machines of node pools with autoScaling. It is also the name of its image.
	ClusterAutoscaler = "cluster-autoscaler"
)

// Identities of the operators for AWS. The trust policy of a role names the subject of a token. The hosted API server
// signs with the same key, but only subjects of the form system:serviceaccount:<namespace>:<name>. Ours have another form, so
// that an administrator of the hosted cluster cannot mint them.
const (
	// WebIdentityAudience is the audience in the trust policies of the roles.
	WebIdentityAudience = "openshift"
	// ControlPlaneOperatorSubject is for rolesRef.controlPlaneOperatorARN.
	ControlPlaneOperatorSubject = "hypershift:control-plane-operator"
	// KMSSubject is for the role of the KMS key.
	KMSSubject = "hypershift:kms-provider"
	// CloudControllerSubject is for rolesRef.kubeCloudControllerARN.
	CloudControllerSubject = "hypershift:cloud-controller-manager"
	// CAPIProviderSubject is for rolesRef.nodePoolManagementARN.
	CAPIProviderSubject = "hypershift:cluster-api-provider-aws"
	// StorageSubject is for rolesRef.storageARN.
	StorageSubject = "hypershift:ebs-csi-driver"
	// ImageRegistrySubject is for rolesRef.imageRegistryARN, and ImageRegistryPodSubject for the pods of the registry in the hosted cluster.
	ImageRegistrySubject    = "hypershift:image-registry"
	ImageRegistryPodSubject = "system:serviceaccount:kube-system:" + ImageRegistry
	// IngressSubject is for rolesRef.ingressARN.
	IngressSubject = "hypershift:ingress"
	// KarpenterSubject is for autoNode.provisionerConfig.karpenter.aws.roleARN.
	KarpenterSubject = "hypershift:karpenter"
	// EtcdBackupSubject is for the role that stores backups of etcd.
	EtcdBackupSubject = "hypershift:etcd-backup"
	// WebIdentityTokenFile is the path of the token with which a component authenticates to AWS.
	WebIdentityTokenFile = "/var/run/secrets/openshift/serviceaccount/token"
)

// ServiceAccountSubject returns the service account of the hosted cluster that trust policies of earlier versions or other
// command lines name instead of one of these subjects. Its tokens are accepted, too, but the hosted API server issues them to
// every user with permission to create a token for it.
func ServiceAccountSubject(subject string) string {
	return serviceAccountSubjects[subject]
}

var serviceAccountSubjects = map[string]string{
	ControlPlaneOperatorSubject: "system:serviceaccount:kube-system:control-plane-operator",
	KMSSubject:                  "system:serviceaccount:kube-system:kms-provider",
	CloudControllerSubject:      "system:serviceaccount:kube-system:kube-controller-manager",
	CAPIProviderSubject:         "system:serviceaccount:kube-system:capa-controller-manager",
	KarpenterSubject:            "system:serviceaccount:kube-system:karpenter",
	IngressSubject:              "system:serviceaccount:openshift-ingress-operator:ingress-operator",
	ImageRegistrySubject:        "system:serviceaccount:openshift-image-registry:cluster-image-registry-operator",
}

// maxNamespace is the maximum length of the name of a Namespace.
const maxNamespace = 63

// ControlPlaneNamespace returns the namespace of the control plane of a HostedCluster. Dots in the name of a HostedCluster,
// which a Namespace cannot have, become dashes. Two clusters may have the same namespace therefore; the second one gets an
// error in its conditions.
func ControlPlaneNamespace(hcNamespace, hcName string) string {
	return hcNamespace + "-" + strings.ReplaceAll(hcName, ".", "-")
}

// FitsNamespace reports whether ns can be the name of a Namespace.
func FitsNamespace(ns string) bool { return len(ns) <= maxNamespace }

// LocalZone returns the private DNS zone in which the workers of a private cluster find its control plane.
func LocalZone(hcpName string) string { return hcpName + ".hypershift.local" }

// LocalAPI returns the name of the API server in the local zone.
func LocalAPI(hcpName string) string { return "api." + LocalZone(hcpName) }

// LocalApp returns the name of a service of the router in the local zone.
func LocalApp(hcpName, app string) string { return app + ".apps." + LocalZone(hcpName) }

// LocalApps is the wildcard for all of these.
func LocalApps(hcpName string) string { return LocalApp(hcpName, "*") }

// ClusterTag returns the key of the tag on every AWS resource of a cluster; its value is ClusterTagValue.
func ClusterTag(infraID string) string { return "kubernetes.io/cluster/" + infraID }

// IsClusterTag returns whether a key is a cluster tag's key, for this or another cluster.
func IsClusterTag(key string) bool { return strings.HasPrefix(key, ClusterTag("")) }

// ClusterTagValue marks resources that are deleted with the cluster.
const ClusterTagValue = "owned"

// InstanceProfile returns the default instance profile of the workers of a cluster, and WorkerRole the role in it. The
// infrastructure command of the CLI creates both.
func InstanceProfile(infraID string) string { return infraID + "-worker" }

// WorkerRole returns the only role that the role for node pools may pass.
func WorkerRole(infraID string) string { return infraID + "-worker-role" }

// Bastion is the name of the bastion of a cluster, and of its role, its instance profile and its security group.
func Bastion(infraID string) string { return infraID + "-bastion" }

// EtcdSnapshotTimeAnnotation is on a HostedControlPlane: when the command etcd-snapshot last wrote a complete snapshot, in RFC 3339.
const EtcdSnapshotTimeAnnotation = "hypershift.openshift.io/etcd-snapshot-time"
