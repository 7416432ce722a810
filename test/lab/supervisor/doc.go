// Package supervisor runs a lab: pid 1 of a tree of processes that have mounts, network and process ids of their own.
//
//	host                      lab: boot.go                                   machine: test/lab/machine
//	┌────────────────┐        ┌─────────────────────────────────────┐        ┌──────────────────┐
//	│ hypershift-lab ├────────┤ uplink            10.55.0.1    eni… ├────────┤ eth0 10.55.x.y   │
//	│ 10.59.0.1      │  veth  │ 10.59.0.2         router of the VPC │  one   │  containerd      │
//	│ kubectl,       │        │  etcd              │                │  veth  │  kubelet         │
//	│ tests, demo    │        │  kube-apiserver  :6443              │  for   │  kube-proxy      │
//	└────────────────┘        │  kube-controller-manager, scheduler │  each  │  pods 10.56.x.0  │
//	        │                 │  registry        :5000              │        └──────────────────┘
//	        └── socket ───────┤  supervisor (api.go)                │
//	                          └─────────────────────────────────────┘
//
// Machines are in the networks of their VPCs: test/lab/vpc. Machines that are no instances are on a switch (network.go).
//
// Run starts the components; each step comes after those that it needs:
//
//	network.go ► pki.go ► registry.go ┬► controlplane.go (etcd, API server ► join.go ► controllers) ┬► storage ► cloud-controller-manager
//	                                  └► cloud.go (AWS emulator, load balancers, DNS) ──────────────┘            (cloud.go)
//
// Then it serves requests: machines.go (add, remove), power.go (on, off), second.go (a second management cluster, with its API server at
// 10.55.0.3 and pods in 10.60.0.0/16). servers.go restarts processes. workers.go starts machines for EC2 instances. Components of other packages
// run in this process, and therefore in the network of the lab.
package supervisor
