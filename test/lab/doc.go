// Command lab builds, starts and removes a complete management cluster on one Linux machine: a control plane, machines with
// containerd and kubelet in zones, a registry, DNS, storage. The host only gets a directory, one network link and cgroups.
//
//	go -C test/lab build -o ../../bin/ .                as make lab does
//	bin/lab up [--machines 3] [--zones 3]               starts a lab, or completes the running one
//	bin/lab status
//	kubectl --kubeconfig "$(bin/lab kubeconfig)" get nodes
//	kubectl --kubeconfig "$(bin/lab kubeconfig clusters one)" get nodes   of a hosted cluster
//	bin/lab machine kill m2                             add | stop | start | kill | remove
//	bin/lab down
//
// The packages, from the outside to the inside:
//
//	cluster      API for tests, the demo and this command: Up, Down, machines
//	supervisor   pid 1 of the lab: network, control plane, registry, machines
//	machine      pid 1 of a machine: containerd, kubelet, kube-proxy
//	networkpolicy  enforcement of NetworkPolicies in the management cluster
//	disruption   upgrades, rotations and deaths that happen to control planes
//	namespace    Linux namespaces of the lab and of its machines
//	cgroup       cgroups of version 1 or 2
//	images       container images, built from programs
//	cloud        AWS: the emulator and the networks that carry packets for it
//	balancer     load balancers that forward traffic
//	resolver     DNS, with the private zones of each VPC
//	vpc          networks of the VPCs of customers: security groups, routes, endpoints, metadata
package main
