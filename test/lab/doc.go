// Command lab builds, starts and removes a whole management cluster on one Linux machine: a control plane, machines with
// containerd and kubelet in zones, a registry, DNS, storage. Nothing of it is on the host but its directory, one network link and
// its cgroups.
//
//	go run ./test/lab up [--machines 3] [--zones 3]     finds the one that is up; what is missing in it is added
//	go run ./test/lab status
//	kubectl --kubeconfig "$(go run ./test/lab kubeconfig)" get nodes
//	go run ./test/lab machine kill m2                   add | stop | start | kill | remove
//	go run ./test/lab down
//
// The packages, from the outside to the inside:
//
//	cluster      what tests, the demo and this command use: Up, Down, machines
//	supervisor   pid 1 of the lab: network, control plane, registry, machines
//	machine      pid 1 of a machine: containerd, kubelet, kube-proxy
//	networkpolicy  what the pods of the management cluster may send and receive
//	namespace    how both are apart from what is around them
//	cgroup       version 1 or 2
//	images       the images, made of programs
//	balancer     load balancers that carry traffic
package main
