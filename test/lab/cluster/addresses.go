package cluster

// The addresses of a lab. They are the same for every lab, so there is one at a time on a host; manifests and documents may name
// them.
const (
	// MachineNetwork is the switch that all machines are plugged into, and SwitchAddress what runs beside them: the
	// registry, the AWS emulator, the DNS server. The API server has an address of its own: a NetworkPolicy that keeps pods from
	// it must not keep them from AWS.
	MachineNetwork   = "10.55.0.0/16"
	SwitchAddress    = "10.55.0.1"
	APIServerAddress = "10.55.0.2"
	PodNetwork       = "10.56.0.0/16"
	ServiceNetwork   = "10.57.0.0/16"
	// BalancerNetwork has the addresses of load balancers.
	BalancerNetwork = "10.58.0.0/24"

	// APIServer and Registry are where clients find them, from the host as from a machine.
	APIServer = "https://" + APIServerAddress + ":6443"
	Registry  = SwitchAddress + ":5000"
	// ClusterDNS is the Service of CoreDNS.
	ClusterDNS = "10.57.0.10"

	// Host is where the host is found from within the lab.
	Host = "10.59.0.1"

	// A cable leads from the host into the lab, where its end is UplinkName.
	hostLink      = "hypershift-lab"
	hostAddress   = Host + "/30"
	UplinkName    = "uplink"
	UplinkAddress = "10.59.0.2/30"
)
