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
)

// What the operators say of themselves to AWS.
const (
	// WebIdentityAudience is what the trust policies of the roles ask for.
	WebIdentityAudience = "openshift"
	// ControlPlaneOperatorSubject is the service account, in the hosted
	// cluster, that the trust policy of the control-plane-operator role names.
	ControlPlaneOperatorSubject = "system:serviceaccount:kube-system:control-plane-operator"
)

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

// LocalApps is the name under which the local zone finds what the router serves.
func LocalApps(hcpName string) string { return "*.apps." + LocalZone(hcpName) }

// ClusterTag is the key of the tag that everything in AWS carries that belongs
// to a cluster; its value is "owned".
func ClusterTag(infraID string) string { return "kubernetes.io/cluster/" + infraID }
