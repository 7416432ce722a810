package v1beta1

// MetricsForwardingMode defines whether metrics of the control plane are forwarded into the hosted cluster.
//
// +kubebuilder:validation:Enum=Forward;None
type MetricsForwardingMode string

const (
	// MetricsForward forwards them.
	MetricsForward MetricsForwardingMode = "Forward"
	// MetricsForwardNone does not forward them.
	MetricsForwardNone MetricsForwardingMode = "None"
)

// MonitoringSpec configures which metrics of the control plane the users of the hosted cluster can see.
type MonitoringSpec struct {
	// metricsForwarding configures which metrics of the control plane are visible inside the hosted cluster.
	//
	// +optional
	MetricsForwarding *MetricsForwardingSpec `json:"metricsForwarding,omitempty"`
}

// MetricsForwardingSpec configures which metrics are forwarded.
type MetricsForwardingSpec struct {
	// mode defines whether metrics are forwarded.
	//
	// +required
	Mode MetricsForwardingMode `json:"mode,omitempty"`
}
