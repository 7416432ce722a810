package v1alpha1

import (
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package.
var GroupVersion = schema.GroupVersion{Group: "access.hypershift.openshift.io", Version: "v1alpha1"}

// Resource is the resource that has the subresources.
const Resource = "hostedclusters"

// Subresource is a subresource of a HostedCluster.
type Subresource string

// The subresources.
const (
	AdminKubeconfig  Subresource = "adminkubeconfig"
	ViewerKubeconfig Subresource = "viewerkubeconfig"
	Tunnel           Subresource = "tunnel"
)

// Path returns the path of a subresource at the API server of the management cluster.
func Path(namespace, name string, subresource Subresource) string {
	return "/apis/" + GroupVersion.String() + "/namespaces/" + url.PathEscape(namespace) + "/" + Resource + "/" + url.PathEscape(name) + "/" + string(subresource)
}

// Limits of KubeconfigRequestSpec.ExpirationSeconds.
const (
	DefaultExpiration = time.Hour
	MinExpiration     = 10 * time.Minute
	MaxExpiration     = 24 * time.Hour
)

// KubeconfigRequestKind is the kind of KubeconfigRequest.
const KubeconfigRequestKind = "KubeconfigRequest"

// KubeconfigRequest asks for a kubeconfig of a hosted cluster. It is not stored.
type KubeconfigRequest struct {
	metav1.TypeMeta `json:",inline"`
	// metadata has the namespace and the name of the HostedCluster. Both are optional in a request.
	Metadata metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user asks for.
	Spec KubeconfigRequestSpec `json:"spec,omitzero"`

	// status is the result.
	Status KubeconfigRequestStatus `json:"status,omitzero"`
}

// KubeconfigRequestSpec is what a user asks for.
type KubeconfigRequestSpec struct {
	// expirationSeconds is how long the kubeconfig is valid, from 600 to 86400. The default is 3600.
	ExpirationSeconds int64 `json:"expirationSeconds,omitempty"`
}

// KubeconfigRequestStatus is a kubeconfig.
type KubeconfigRequestStatus struct {
	// kubeconfig is the file, in base64. Its user in the hosted cluster is management: and the user's name in the management cluster.
	Kubeconfig []byte `json:"kubeconfig,omitempty"`

	// expirationTimestamp is when it expires.
	ExpirationTimestamp metav1.Time `json:"expirationTimestamp,omitzero"`
}
