// Package machine is the inside of a machine of the lab, comparable to an EC2 instance. It shares the kernel with the host, with
// its own network card, disk, memory, hostname, processes, cgroups and mounts.
//
//	boot.go        pid 1: cgroups, mounts, hostname, network; then
//	agent.go       replaces systemd: starts these, and restarts them when they end
//	  networkpolicy.go  NetworkPolicies, on machines of the management cluster
//	  containerd.go   containerd, runc, CNI plugins
//	  volumes.go      CSI driver of the lab's disks, on machines of the management cluster
//	  kubelet.go      kubelet, which joins with a bootstrap token
//	  cni.go          bridge of the pods, after the node has got its pod range
//	  kubeproxy.go    kube-proxy, if the cluster does not run its own
//
// An instance of a customer gets everything about its cluster from its user data, and its pod network from the cluster. It boots
// Debian with its systemd:
//
//	root.go        pid 1: root file system (hack/images) below a layer of its own, then systemd
//	image.go       additions of a node's image: containerd, kubelet, all from the directory of the lab
//	ignition.go    Ignition, before the first boot; on other images cloud-init, which is a unit
//	power.go       console, power on, power off
//
// A machine is its directory: Spec as JSON, the disk, the logs. If it is killed and booted again, it is the same node with the
// same containers. After its directory is removed, the machine is gone completely.
package machine
