package target

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// A HostedCluster is the target of the components inside a hosted cluster, in its namespace kube-system. It is shared and must
// not be changed.
type HostedCluster struct {
	HCP *hyperv1.HostedControlPlane
	// Release is the release of the pods on nodes.
	Release *release.Release
	// OperatorImage is the image of the control-plane-operator, with the programs of the image registry.
	OperatorImage string
	// API and Konnectivity are the addresses for nodes.
	API, Konnectivity Fact[Host]
	// Authorities are the API server's authorities for pods that start now.
	Authorities Fact[[]byte]
	// KonnectivityCertificate is the content of the Secret with the certificate of the tunnels.
	KonnectivityCertificate Fact[map[string][]byte]
	// MetricsServerCertificate is the content of the Secret with the serving certificate of metrics-server, or nil without
	// such a Secret. It exists once the cluster expects nodes and its release contains metrics-server.
	MetricsServerCertificate Fact[map[string][]byte]
	// IngressCertificate is the same for the ingress controller.
	IngressCertificate Fact[map[string][]byte]
	// ImageRegistryCertificate is the same for the image registry.
	ImageRegistryCertificate Fact[map[string][]byte]
	// KubeletAuthorities are the authorities that sign the serving certificates of kubelets.
	KubeletAuthorities Fact[[]byte]
}

// A Fact is a value that may not be known yet. Only components that need it wait for it.
type Fact[V any] struct {
	Value V
	// Err is why the value is not known: an error, or a wait.
	Err error
}

// FactOf returns a Fact.
func FactOf[V any](value V, err error) Fact[V] { return Fact[V]{Value: value, Err: err} }

// Get returns the value, or why it is not known.
func (f Fact[V]) Get() (V, error) { return f.Value, f.Err }

// Kinds are the kinds of objects that components have or have ever had.
func (*HostedCluster) Kinds() []client.ObjectList {
	return []client.ObjectList{
		&corev1.ServiceAccountList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{},
		&policyv1.PodDisruptionBudgetList{}, &appsv1.DeploymentList{}, &appsv1.DaemonSetList{}, apiServices(),
		&storagev1.CSIDriverList{}, &storagev1.StorageClassList{}, &networkingv1.IngressClassList{}, &batchv1.CronJobList{},
	}
}

// apiServices is a list of APIServices. Their Go type would link the aggregator.
func apiServices() client.ObjectList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIServiceList"})
	return list
}

// Has reports whether the release contains an image of that name. Without the image, the cluster does not have the component.
func (t *HostedCluster) Has(image string) bool { return t.Image(image) != "" }

// Image returns the reference of an image of the release, or "" if it has none of that name.
func (t *HostedCluster) Image(name string) string {
	if name == OperatorImage {
		return t.OperatorImage
	}
	return t.Release.Components[name]
}

// Prepare sets the namespace.
func (*HostedCluster) Prepare(_ component.Traits, obj client.Object) (wanted bool) {
	if isClusterScoped(obj) {
		return true
	}
	obj.SetNamespace(metav1.NamespaceSystem)
	return true
}

func isClusterScoped(obj client.Object) bool {
	switch obj.(type) {
	case *storagev1.CSIDriver, *storagev1.StorageClass, *networkingv1.IngressClass, *unstructured.Unstructured: // the last one is an APIService
		return true
	}
	return false
}

// HasNodes reports whether the cluster has nodes now.
func (t *HostedCluster) HasNodes() bool { return ptr.Deref(t.HCP.Status.NodeCount, 0) > 0 }

// HighlyAvailable reports whether components on nodes have more than one replica.
func (t *HostedCluster) HighlyAvailable() bool {
	return t.HCP.Spec.InfrastructureAvailabilityPolicy == hyperv1.HighlyAvailable
}

// Replicas is the number of pods of a component on nodes that serves the cluster.
func (t *HostedCluster) Replicas() *int32 {
	if t.HighlyAvailable() {
		return ptr.To[int32](2)
	}
	return ptr.To[int32](1)
}

// KeyPair returns the certificate and the key of a Secret of the control plane, for the Secret of a component in the cluster.
func KeyPair(secret Fact[map[string][]byte]) (map[string][]byte, error) {
	data, err := secret.Get()
	return map[string][]byte{corev1.TLSCertKey: data[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: data[corev1.TLSPrivateKeyKey]}, err
}

// Finish does nothing: what a component needs is in its asset.
func (*HostedCluster) Finish(component.Traits, *component.Workload, []client.Object) {}

// Complete lets the pods pull the images of the release. They start without the Secret if it does not exist. Everything else is in the assets: pods on nodes have little in common.
func (*HostedCluster) Complete(_ component.Traits, w *component.Workload) error {
	w.Pod().ImagePullSecrets = []corev1.LocalObjectReference{{Name: names.HostedPullSecret}}
	return nil
}

// ConnectToAPI sets the address of the API server for the first container. The address cannot be resolved in the cluster,
// because these pods must start before other pods. The pods restart when the trusted authorities change.
func (t *HostedCluster) ConnectToAPI(template *corev1.PodTemplateSpec) error {
	api, err := t.API.Get()
	if err != nil {
		return err
	}
	authorities, err := t.Authorities.Get()
	if err != nil {
		return err
	}
	RestartOn(template, authorities)
	c := &template.Spec.Containers[0]
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: api.Name},
		corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: strconv.Itoa(int(api.Port))},
	)
	return nil
}

// RestartOn restarts the pods when texts change that their programs read only once.
func RestartOn(template *corev1.PodTemplateSpec, texts ...[]byte) {
	template.Annotations = with(template.Annotations, contentsAnnotation, Digest(texts...))
}

// Digest hashes some texts in their order.
func Digest(texts ...[]byte) string {
	sum := sha256.New()
	for _, text := range texts {
		part := sha256.Sum256(text)
		sum.Write(part[:])
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
