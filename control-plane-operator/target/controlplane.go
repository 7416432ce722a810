// Package target defines the targets of the control-plane-operator's components: the facts of a cluster that adapters
// use, and the defaults of all components of a target.
//
//	ControlPlane    in the namespace of the control plane   controlplane.go  the facts
//	                                                        defaults.go      labels, replicas, pull secret, rollout
//	                                                        placement.go     priority, nodes, zones
//	                                                        pods.go          user, /tmp, memory, trusted authorities
//	                                                        contents.go      a hash of what is mounted, so that a change
//	                                                                         restarts the pods
//	                                                        features.go, leader.go   flags of Kubernetes' programs
//	                                                        sleep.go         what is left while it sleeps
//	HostedCluster   inside the hosted cluster               hostedcluster.go
package target

import (
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// OperatorImage is a placeholder in assets for the image of the control-plane-operator.
const OperatorImage = "control-plane-operator"

// A ControlPlane is the target of the components in the namespace of a control plane. It is shared and must not be changed.
type ControlPlane struct {
	HCP *hyperv1.HostedControlPlane
	// Release is the desired release of the control plane.
	Release *release.Release
	// OperatorImage is the image of this operator.
	OperatorImage string
	// API and Konnectivity are the addresses for nodes and users of the hosted cluster, empty while they are not known.
	API, Konnectivity Host
	// ExpectsNodes is true when the cluster has nodes, has or had node pools or nodes on demand, or is not on AWS.
	ExpectsNodes bool
	// Available names the available components.
	Available []string
	// Serving is true while a pod of the API server exists. Then etcd keeps its pods, although the control plane is to sleep.
	Serving bool
	// Egress are environment variables with custom endpoints of AWS and the proxy of the management cluster.
	Egress []corev1.EnvVar
	// Routes are the Routes of the namespace, and Services those that they refer to, by name, and those of the routers.
	Routes   []routev1.Route
	Services map[string]*corev1.Service
	// Secrets and ConfigMaps are the namespace's objects, by name. Certificates in shared Secrets are also there by their own
	// names; see package certsecret.
	Secrets    map[string]*corev1.Secret
	ConfigMaps map[string]*corev1.ConfigMap
}

// A Host is a name and a port. The name is empty until it is known.
type Host struct {
	Name string
	Port int32
}

// HighlyAvailable reports whether components have more than one replica.
func (p *ControlPlane) HighlyAvailable() bool {
	return p.HCP.Spec.ControllerAvailabilityPolicy == hyperv1.HighlyAvailable
}

// Has reports whether the payload contains an image of that name.
func (p *ControlPlane) Has(image string) bool { return p.Image(image) != "" }

// Image returns the reference of an image of the payload, or "" if it has none of that name.
func (p *ControlPlane) Image(name string) string {
	if name == OperatorImage {
		return p.OperatorImage
	}
	return p.Release.Components[name]
}

// SecretData returns the value of a key of a Secret, or nil.
func (p *ControlPlane) SecretData(name, key string) []byte {
	if s := p.Secrets[name]; s != nil {
		return s.Data[key]
	}
	return nil
}

// ConfigMapData returns the value of a key of a ConfigMap, or "".
func (p *ControlPlane) ConfigMapData(name, key string) string {
	if c := p.ConfigMaps[name]; c != nil {
		return c.Data[key]
	}
	return ""
}

// replicas returns the default number of replicas of a component.
func (p *ControlPlane) replicas(c component.Traits) int32 {
	switch {
	case !p.HighlyAvailable():
		return 1
	case c.RequestServing:
		return 3
	default:
		return 2
	}
}
