// Package names holds the names of what both operators make or look for, so
// that neither has to know the other.
package names

import "strings"

// The operators, and the field owners under which they write.
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
	// PrivateRouter is its internal one, the standard path of PrivateLink.
	PrivateRouter      = "private-router"
	KonnectivityServer = "konnectivity-server"
	OAuthServer        = "oauth-openshift"
)

// Secrets of a control plane.
const (
	// ServiceAccountSigningKey holds the key pair that signs the service
	// account tokens of the hosted cluster. AWS trusts its public half.
	ServiceAccountSigningKey = "sa-signing-key"
	// ServiceAccountPrivateKeyFile and ServiceAccountPublicKeyFile are its keys, PEM both.
	ServiceAccountPrivateKeyFile = "service-account.key"
	ServiceAccountPublicKeyFile  = "service-account.pub"
	PullSecret                   = "pull-secret"
	// SSHKey holds the public key that opens the nodes.
	SSHKey = "ssh-key"
	// AdminKubeconfig holds the kubeconfig of the hosted cluster's
	// administrator, under AdminKubeconfigFile, with the name of the API server
	// that users reach.
	AdminKubeconfig     = "admin-kubeconfig"
	AdminKubeconfigFile = "kubeconfig"
	// ClusterKubeconfigFile is the key in the Secret ClusterKubeconfig.
	ClusterKubeconfigFile = "value"
)

// ClusterKubeconfig is the Secret with the kubeconfig by which the management
// cluster reaches the hosted API server. Cluster API looks for it by this name.
func ClusterKubeconfig(infraID string) string { return infraID + "-kubeconfig" }

// UserCABundle is the ConfigMap of a control plane with the certificate
// authorities that the user trusts.
const UserCABundle = "user-ca-bundle"

// The controllers of the machines, which run beside a control plane that has node pools.
const (
	// ClusterAPI is the core of Cluster API, CAPIProvider its AWS provider.
	ClusterAPI   = "cluster-api"
	CAPIProvider = "capi-provider"
	// ClusterAPIWebhooks is the Secret with the certificate without which neither starts.
	ClusterAPIWebhooks = "capi-webhooks-tls"
	// NodeManagementCredentials is the Secret with the AWS configuration of the provider.
	NodeManagementCredentials = "node-management-creds"
)

// What the operators say of themselves to AWS. A token's subject is what the
// trust policy of a role names. The hosted API server signs with the same key as
// we do, and signs no subject but system:serviceaccount:<namespace>:<name>. Ours
// have another form, so that an administrator of the hosted cluster cannot mint them.
const (
	// WebIdentityAudience is what the trust policies of the roles ask for.
	WebIdentityAudience = "openshift"
	// ControlPlaneOperatorSubject is for rolesRef.controlPlaneOperatorARN.
	ControlPlaneOperatorSubject = "hypershift:control-plane-operator"
	// KMSSubject is for the role of the key for Secrets.
	KMSSubject = "hypershift:kms-provider"
	// CloudControllerSubject is for rolesRef.kubeCloudControllerARN.
	CloudControllerSubject = "hypershift:cloud-controller-manager"
	// CAPIProviderSubject is for rolesRef.nodePoolManagementARN.
	CAPIProviderSubject = "hypershift:cluster-api-provider-aws"
	// WebIdentityTokenFile is where a component finds the token by which AWS knows it.
	WebIdentityTokenFile = "/var/run/secrets/openshift/serviceaccount/token"
)

// ServiceAccountSubject is the service account of the hosted cluster that trust
// policies name instead of one of these subjects, where they were written for
// earlier versions or by other command lines. Its tokens are accepted too, but
// the hosted API server signs them for whoever may ask it to.
func ServiceAccountSubject(subject string) string {
	return serviceAccountSubjects[subject]
}

var serviceAccountSubjects = map[string]string{
	ControlPlaneOperatorSubject: "system:serviceaccount:kube-system:control-plane-operator",
	KMSSubject:                  "system:serviceaccount:kube-system:kms-provider",
	CloudControllerSubject:      "system:serviceaccount:kube-system:kube-controller-manager",
	CAPIProviderSubject:         "system:serviceaccount:kube-system:capa-controller-manager",
}

// maxNamespace is the longest name that Kubernetes accepts for a Namespace.
const maxNamespace = 63

// ControlPlaneNamespace is where the control plane of a HostedCluster lives.
// Dots, which a HostedCluster may have in its name and a Namespace may not,
// become dashes; two clusters may therefore want the same namespace, and the
// one that comes second is told so.
func ControlPlaneNamespace(hcNamespace, hcName string) string {
	return hcNamespace + "-" + strings.ReplaceAll(hcName, ".", "-")
}

// FitsNamespace says whether ns can be the name of a Namespace.
func FitsNamespace(ns string) bool { return len(ns) <= maxNamespace }

// LocalZone is the private DNS zone through which the workers of a private
// cluster find its control plane.
func LocalZone(hcpName string) string { return hcpName + ".hypershift.local" }

// LocalAPI is the name of the API server in the local zone.
func LocalAPI(hcpName string) string { return "api." + LocalZone(hcpName) }

// LocalApp is the name of a service in the local zone, where the router serves it.
func LocalApp(hcpName, app string) string { return app + ".apps." + LocalZone(hcpName) }

// LocalApps stands for all of these.
func LocalApps(hcpName string) string { return LocalApp(hcpName, "*") }

// ClusterTag is the key of the tag that everything in AWS carries that belongs
// to a cluster; its value is "owned".
func ClusterTag(infraID string) string { return "kubernetes.io/cluster/" + infraID }

// InstanceProfile is the default instance profile of a cluster's workers, and
// WorkerRole the role in it. The infrastructure command of the CLI makes both.
func InstanceProfile(infraID string) string { return infraID + "-worker" }

// WorkerRole is the only role that the role for node pools may pass on.
func WorkerRole(infraID string) string { return infraID + "-worker-role" }
