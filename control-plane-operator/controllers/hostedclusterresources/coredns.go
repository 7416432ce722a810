package hostedclusterresources

import (
	"context"
	"net"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// coreDNS resolves the names of Services and pods.
var coreDNS = part{
	name:      "coredns",
	namespace: metav1.NamespaceSystem,
	kinds:     []client.ObjectList{&corev1.ServiceAccountList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{}, &appsv1.DeploymentList{}},
	desired:   desiredCoreDNS,
}

const coreDNSImage = "coredns"

// minAvailable allows one of two pods to be evicted at a time.
var minAvailable = intstr.FromInt32(1)

func desiredCoreDNS(r *Reconciler, ctx context.Context, s *scope) ([]client.Object, error) {
	image, err := r.image(ctx, s, coreDNSImage)
	if err != nil || image == "" {
		return nil, err
	}
	at, err := awaitAPIHost(s.hcp)
	if err != nil {
		return nil, err
	}
	believed, err := r.believed(ctx, s)
	if err != nil {
		return nil, err
	}
	addresses, err := dnsAddresses(s.hcp.Spec.Networking)
	if err != nil {
		return nil, err
	}
	objs, err := assets("coredns.yaml")
	if err != nil {
		return nil, err
	}
	service := one[*corev1.Service](objs)
	service.Spec.ClusterIP, service.Spec.ClusterIPs = addresses[0], addresses
	if len(addresses) > 1 {
		service.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
	}
	deployment := one[*appsv1.Deployment](objs)
	run(&deployment.Spec.Template, image, at, believed)
	deployment.Spec.Replicas = ptr.To[int32](1)
	if s.hcp.Spec.InfrastructureAvailabilityPolicy == hyperv1.HighlyAvailable {
		deployment.Spec.Replicas = ptr.To[int32](2)
		objs = append(objs, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: deployment.Namespace, Name: deployment.Name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: deployment.Spec.Selector, MinAvailable: &minAvailable},
		})
	}
	return objs, nil
}

// dnsIndex is the index of the DNS address in each service network by convention. Kubelets pass the address to pods.
const dnsIndex = 10

func dnsAddresses(n hyperv1.ClusterNetworking) ([]string, error) {
	var addresses []string
	for _, cidr := range serviceNetworks(n) {
		_, subnet, err := net.ParseCIDR(cidr)
		if err != nil {
			return nil, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.serviceNetwork: %q is not a CIDR", cidr)
		}
		ip, err := netutils.GetIndexedIP(subnet, dnsIndex)
		if err != nil {
			return nil, reconcile.Block(hyperv1.InvalidNetworkReason, "spec.networking.serviceNetwork: %s has no room for the DNS address, which is the tenth", cidr)
		}
		addresses = append(addresses, ip.String())
	}
	return addresses, nil
}

// run sets the image of a pod's only container and the address of the API server. The address cannot be resolved in the
// cluster, because these pods must start before other pods. The annotation restarts them when the trusted authorities
// change.
func run(template *corev1.PodTemplateSpec, image string, at hyperv1.APIEndpoint, believed []byte) {
	template.Annotations = map[string]string{contentsAnnotation: digest(believed)}
	pod := &template.Spec
	c := &pod.Containers[0]
	c.Image = image
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: at.Host},
		corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: strconv.Itoa(int(at.Port))},
	)
	pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: pullSecretName}}
}
