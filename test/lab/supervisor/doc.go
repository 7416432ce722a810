// Package supervisor runs a lab: pid 1 of a tree of processes that have mounts, network and process ids of their own.
//
//	host                      lab: boot.go                                   machine: test/lab/machine
//	┌───────────────┐         ┌─────────────────────────────────────┐        ┌──────────────────┐
//	│ hypershift-lab ├─────────┤ uplink            switch 10.55.0.1  ├────────┤ eth0 10.55.0.x   │
//	│ 10.59.0.1     │  cable  │ 10.59.0.2          │ (network.go)   │  one   │  containerd      │
//	│ kubectl,      │         │  etcd              │                │  cable │  kubelet         │
//	│ tests, demo   │         │  kube-apiserver  :6443              │  for   │  kube-proxy      │
//	└───────────────┘         │  kube-controller-manager, scheduler │  each  │  pods 10.56.x.0  │
//	        │                 │  registry        :5000              │        └──────────────────┘
//	        └── socket ───────┤  supervisor (api.go)                │
//	                          └─────────────────────────────────────┘
//
// Run starts, each step after those it needs:
//
//	network.go ► pki.go ► registry.go ► controlplane.go ► join.go (who may join) ► routes.go, services
//
// and then does what it is asked for: machines.go (add, remove), power.go (on, off). What other packages have a lab run is in services.go; it runs in this process,
// and so in the network of the lab.
package supervisor
