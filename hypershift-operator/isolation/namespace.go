package isolation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// namespaceSet has no kinds to prune by: all clusters share its name.
var namespaceSet = apply.Set{Name: "namespace"}

// podSecurity is the pod security level of control planes.
const podSecurity = "restricted"

// Namespace returns the namespace of a cluster's control plane.
func Namespace(hc *hyperv1.HostedCluster) (apply.Set, *corev1.Namespace) {
	n := controlplane.NamespaceOf(hc)
	annotations := n.Annotations()
	annotations[hyperv1.PublishedNamesAnnotation] = publishedNames(hc)
	return namespaceSet, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:        n.Name,
		Annotations: annotations,
		Labels: map[string]string{
			hyperv1.ControlPlaneNamespaceLabel:   "true",
			hyperv1.HostedClusterUIDLabel:        string(hc.UID),
			"pod-security.kubernetes.io/enforce": podSecurity,
			"pod-security.kubernetes.io/audit":   podSecurity,
			"pod-security.kubernetes.io/warn":    podSecurity,
		},
	}}
}

// publishedNames returns the host names that objects of the control plane may
// request from external-dns and routers: those that the HostedCluster publishes, and
// all in the cluster's local zone, which begins with a dot. An admission policy of
// the installation reads them from the namespace, which the control-plane-operator
// cannot write.
func publishedNames(hc *hyperv1.HostedCluster) string {
	hosts := append(Hostnames(hc), "."+names.LocalZone(hc.Name))
	slices.Sort(hosts)
	return strings.Join(hosts, ",")
}

// Hostnames returns every host name that a cluster publishes once, as DNS compares
// them.
func Hostnames(hc *hyperv1.HostedCluster) []string {
	var hosts []string
	for _, svc := range hc.Spec.Services {
		if host := strings.ToLower(svc.ServicePublishingStrategy.Hostname()); host != "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
