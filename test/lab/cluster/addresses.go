package cluster

// The addresses of a lab. They are the same for every lab, so that manifests and documents may contain them. Therefore, a
// host can run only one lab at a time.
const (
	// MachineNetwork is the network of all machines, and SwitchAddress the address of the other servers: the registry, the
	// AWS emulator, the DNS server. The API server has its own address: a NetworkPolicy that blocks it for pods must
	// not block AWS.
	MachineNetwork   = "10.55.0.0/16"
	SwitchAddress    = "10.55.0.1"
	APIServerAddress = "10.55.0.2"
	PodNetwork       = "10.56.0.0/16"
	ServiceNetwork   = "10.57.0.0/16"
	// BalancerNetwork contains the addresses of load balancers, a /24 for each account.
	BalancerNetwork = "10.58.0.0/16"

	// APIServer and Registry are the addresses for clients, on the host and on machines.
	APIServer = "https://" + APIServerAddress + ":6443"
	Registry  = SwitchAddress + ":5000"
	// ClusterDNS is the Service of CoreDNS.
	ClusterDNS = "10.57.0.10"

	// The addresses of the second management cluster. The host has no route to its pods.
	SecondAPIServerAddress = "10.55.0.3"
	SecondPodNetwork       = "10.60.0.0/16"
	SecondServiceNetwork   = "10.61.0.0/16"
	SecondClusterDNS       = "10.61.0.10"

	// Host is the address of the host within the lab.
	Host = "10.59.0.1"

	// A veth pair connects the host with the lab, where its end is UplinkName.
	hostLink      = "hypershift-lab"
	hostAddress   = Host + "/30"
	UplinkName    = "uplink"
	UplinkAddress = "10.59.0.2/30"
)
