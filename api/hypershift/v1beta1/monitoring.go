package v1beta1

// MetricsForwardingMode says whether metrics of the control plane are forwarded into the hosted cluster.
//
// +kubebuilder:validation:Enum=Forward;None
type MetricsForwardingMode string

const (
	// MetricsForward forwards them.
	MetricsForward MetricsForwardingMode = "Forward"
	// MetricsForwardNone does not.
	MetricsForwardNone MetricsForwardingMode = "None"
)

// MonitoringSpec says what the users of the hosted cluster see of its control plane.
type MonitoringSpec struct {
	// metricsForwarding says which metrics of the control plane are visible inside the hosted cluster.
	//
	// +optional
	MetricsForwarding *MetricsForwardingSpec `json:"metricsForwarding,omitempty"`
}

// MetricsForwardingSpec says which metrics are forwarded.
type MetricsForwardingSpec struct {
	// mode says whether metrics are forwarded at all.
	//
	// +required
	Mode MetricsForwardingMode `json:"mode,omitempty"`
}
