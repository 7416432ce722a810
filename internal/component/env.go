package component

import (
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// OperatorImage stands in assets for the image of the control-plane-operator.
const OperatorImage = "control-plane-operator"

// Env is what adapters know of the cluster: facts, gathered before. Whoever has
// it reads it and changes nothing in it.
type Env struct {
	HCP *hyperv1.HostedControlPlane
	// Release is the one that the control plane is to run.
	Release *release.Release
	// OperatorImage is the image that this operator runs in itself.
	OperatorImage string
	// API and Konnectivity are where the hosted cluster's nodes and users find
	// them, as far as that is known yet.
	API, Konnectivity Host
	// Workers says that the cluster has nodes, or has had some.
	Workers bool
	// Available are the names of the components that do their work.
	Available []string
	// AWSEndpoints is environment that says where AWS is, if it is not where it is for everybody.
	AWSEndpoints []corev1.EnvVar
	// Routes are those of the namespace, and Services those that they lead to, by name.
	Routes   []routev1.Route
	Services map[string]*corev1.Service
	// Secrets and ConfigMaps are those of the namespace, by name.
	Secrets    map[string]*corev1.Secret
	ConfigMaps map[string]*corev1.ConfigMap
}

// A Host is a name and a port; the name is empty until there is one.
type Host struct {
	Name string
	Port int32
}

// HighlyAvailable says whether the parts of the control plane run more than once.
func (e *Env) HighlyAvailable() bool {
	return e.HCP.Spec.ControllerAvailabilityPolicy == hyperv1.HighlyAvailable
}

// Has says whether the payload has an image of that name.
func (e *Env) Has(image string) bool { return e.Image(image) != "" }

// Image is the reference of an image of the payload, empty if it has none of
// that name.
func (e *Env) Image(name string) string {
	if name == OperatorImage {
		return e.OperatorImage
	}
	return e.Release.Components[name]
}

// SecretData is what is under a key of a Secret, nil if there is none.
func (e *Env) SecretData(name, key string) []byte {
	if s := e.Secrets[name]; s != nil {
		return s.Data[key]
	}
	return nil
}

// ConfigMapData is what is under a key of a ConfigMap, empty if there is none.
func (e *Env) ConfigMapData(name, key string) string {
	if c := e.ConfigMaps[name]; c != nil {
		return c.Data[key]
	}
	return ""
}

// Replicas is how many pods a component has that says nothing else.
func (e *Env) Replicas(c Component) int32 {
	switch {
	case !e.HighlyAvailable():
		return 1
	case c.RequestServing:
		return 3
	default:
		return 2
	}
}
