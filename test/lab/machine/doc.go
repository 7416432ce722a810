// Package machine is the inside of a machine of the lab, as an EC2 instance is the outside: a kernel that it shares with the
// host, and for itself a network card, a disk, memory, a hostname, processes, cgroups and mounts.
//
//	boot.go        pid 1: cgroups, mounts, hostname, network; then
//	agent.go       what systemd is elsewhere: starts these, and starts them again when they end
//	  networkpolicy.go  what its pods may send and receive, if it is one of the management cluster
//	  containerd.go   containerd, runc, CNI plugins
//	  kubelet.go      kubelet, which joins with a bootstrap token
//	  cni.go          once the node has its range of pod addresses: the bridge of the pods
//	  kubeproxy.go    kube-proxy, if the cluster has none of its own
//
// An instance of a customer knows nothing of its cluster but what its user data says; instead of the above it has
//
//	image.go       what a machine image has: containerd, kubelet
//	metadata.go    who it is, for those on it who ask at 169.254.169.254
//	ignition.go    the files and units of its user data, which test/lab/systemd then starts
//
// A machine is its directory: Spec as JSON, the disk, the logs. Killed and booted again it is the same node with the same
// containers on its disk; without its directory it never was.
package machine
