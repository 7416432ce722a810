package v1beta1

import "slices"

// OptionalCapability is an optional part of a release.
//
// +kubebuilder:validation:Enum=ImageRegistry;openshift-samples;Insights;baremetal;Console;NodeTuning;Ingress
type OptionalCapability string

const (
	// ImageRegistryCapability is the registry inside the cluster, with its bucket. It is off by default.
	ImageRegistryCapability OptionalCapability = "ImageRegistry"
	// OpenShiftSamplesCapability is the collection of sample images and templates.
	OpenShiftSamplesCapability OptionalCapability = "openshift-samples"
	// InsightsCapability sends reports about the cluster to its vendor.
	InsightsCapability OptionalCapability = "Insights"
	// BaremetalCapability manages physical machines.
	BaremetalCapability OptionalCapability = "baremetal"
	// ConsoleCapability is the web console.
	ConsoleCapability OptionalCapability = "Console"
	// NodeTuningCapability tunes the kernels of the nodes.
	NodeTuningCapability OptionalCapability = "NodeTuning"
	// IngressCapability is the ingress controller for applications, with its load balancer and its names. It is off by default. Of the parts
	// here, releases of Kubernetes have only this one and the image registry.
	IngressCapability OptionalCapability = "Ingress"
)

// Capabilities turns optional parts of the release on and off.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !has(self.disabled) || self.enabled.all(c, !(c in self.disabled))",message="a capability cannot be both enabled and disabled"
// +kubebuilder:validation:XValidation:rule="!has(self.disabled) || !('Ingress' in self.disabled) || 'Console' in self.disabled",message="Ingress can be disabled only together with Console, which is reached through it"
type Capabilities struct {
	// enabled lists parts to turn on in addition to the default set.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=25
	Enabled []OptionalCapability `json:"enabled,omitempty"`

	// disabled lists parts of the default set to turn off.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=25
	Disabled []OptionalCapability `json:"disabled,omitempty"`
}

// Enables reports whether the user has turned a part on.
func (in *Capabilities) Enables(part OptionalCapability) bool {
	return in != nil && slices.Contains(in.Enabled, part)
}
