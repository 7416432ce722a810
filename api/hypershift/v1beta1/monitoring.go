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

// MetricsSet is a selection of the metrics of the control plane.
//
// +kubebuilder:validation:Enum=Telemetry;SRE;All
type MetricsSet string

const (
	// MetricsSetTelemetry is the smallest selection: what a vendor's telemetry collects.
	MetricsSetTelemetry MetricsSet = "Telemetry"
	// MetricsSetSRE is what alerts and dashboards of an operations team need.
	MetricsSetSRE MetricsSet = "SRE"
	// MetricsSetAll is every metric.
	MetricsSetAll MetricsSet = "All"
)

// MonitoringSpec configures which metrics of the control plane are collected, and which of them the users of the hosted
// cluster can see.
type MonitoringSpec struct {
	// metricsSet selects the metrics of the control plane that monitoring of the management cluster collects. It is
	// accepted for compatibility and has no effect: the scrape configuration of the management cluster selects them.
	//
	// +optional
	MetricsSet MetricsSet `json:"metricsSet,omitempty"`

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

	// metricsSet selects the metrics that are forwarded. The default is that of monitoring.metricsSet.
	//
	// +optional
	MetricsSet MetricsSet `json:"metricsSet,omitempty"`
}
