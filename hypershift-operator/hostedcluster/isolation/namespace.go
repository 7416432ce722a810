package isolation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/routes"
)

// namespaceSet has no kinds to prune by: all clusters share its name.
var namespaceSet = apply.Set{Name: "namespace"}

// podSecurity is the pod security level of control planes.
const podSecurity = "restricted"

// Namespace returns the namespace of a cluster's control plane, which publishes these services.
func Namespace(hc *hyperv1.HostedCluster, services []hyperv1.ServicePublishingStrategyMapping) (apply.Set, *corev1.Namespace) {
	n := controlplane.NamespaceOf(hc)
	annotations := n.Annotations()
	annotations[hyperv1.PublishedNamesAnnotation] = publishedNames(hc.Name, services)
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
func publishedNames(cluster string, services []hyperv1.ServicePublishingStrategyMapping) string {
	hosts := append(hostnames(services), "."+names.LocalZone(cluster))
	slices.Sort(hosts)
	return strings.Join(hosts, ",")
}

// Hostnames returns every host name that a cluster publishes once, as DNS compares
// them. These are those in spec and the defaults. servesRoutes is true if the management
// cluster serves Routes.
func Hostnames(hc *hyperv1.HostedCluster, servesRoutes bool) []string {
	return hostnames(routes.WithHosts(hc.Name, &hc.Spec, servesRoutes))
}

func hostnames(services []hyperv1.ServicePublishingStrategyMapping) []string {
	var hosts []string
	for _, svc := range services {
		if host := strings.ToLower(svc.ServicePublishingStrategy.Hostname()); host != "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
