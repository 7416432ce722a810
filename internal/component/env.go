package component

import (
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// OperatorImage is a placeholder in assets for the image of the control-plane-operator.
const OperatorImage = "control-plane-operator"

// Env has the facts of the cluster that adapters use. It is shared and must not be changed.
type Env struct {
	HCP *hyperv1.HostedControlPlane
	// Release is the desired release of the control plane.
	Release *release.Release
	// OperatorImage is the image of this operator.
	OperatorImage string
	// API and Konnectivity are the addresses for nodes and users of the hosted cluster, empty while they are not known.
	API, Konnectivity Host
	// Workers is true when the cluster has or has had nodes.
	Workers bool
	// Available has the names of the available components.
	Available []string
	// AWSEndpoints are environment variables with custom endpoints of AWS.
	AWSEndpoints []corev1.EnvVar
	// Routes are the Routes of the namespace, and Services those that they refer to, by name.
	Routes   []routev1.Route
	Services map[string]*corev1.Service
	// Secrets and ConfigMaps are those of the namespace, by name.
	Secrets    map[string]*corev1.Secret
	ConfigMaps map[string]*corev1.ConfigMap
}

// A Host is a name and a port. The name is empty until it is known.
type Host struct {
	Name string
	Port int32
}

// HighlyAvailable reports whether components have more than one replica.
func (e *Env) HighlyAvailable() bool {
	return e.HCP.Spec.ControllerAvailabilityPolicy == hyperv1.HighlyAvailable
}

// Has reports whether the payload has an image of that name.
func (e *Env) Has(image string) bool { return e.Image(image) != "" }

// Image returns the reference of an image of the payload, or "" if it has none of that name.
func (e *Env) Image(name string) string {
	if name == OperatorImage {
		return e.OperatorImage
	}
	return e.Release.Components[name]
}

// SecretData returns the value of a key of a Secret, or nil.
func (e *Env) SecretData(name, key string) []byte {
	if s := e.Secrets[name]; s != nil {
		return s.Data[key]
	}
	return nil
}

// ConfigMapData returns the value of a key of a ConfigMap, or "".
func (e *Env) ConfigMapData(name, key string) string {
	if c := e.ConfigMaps[name]; c != nil {
		return c.Data[key]
	}
	return ""
}

// Replicas returns the default number of replicas of a component.
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
