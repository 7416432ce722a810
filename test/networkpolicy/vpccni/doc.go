// Package vpccni evaluates NetworkPolicies as the VPC CNI of EKS enforces them, which differs from the definition of the API: a
// controller that AWS runs resolves each policy to addresses (controller.go), and an agent on each node looks up the longest prefix
// that contains the address of the other end (agent.go).
//
//	| Behaviour of EKS                                                             | Effect
//	| every selected pod and ClusterIP is an entry of a PolicyEndpoint, 200 entries per object | a selector of all namespaces writes every pod of the cluster again for each policy (controller.go, Endpoints.Objects)
//	| ClusterIPs count as their Services' pods, because the agent judges packets before they are translated | pods reach Services of the namespaces that they may reach
//	| a named port of an ingress rule is resolved for all selected pods together   | the union of the numbers is open on each of them
//	| a rule without peers, with named ports only, opens the resolved numbers to all addresses | since amazon-network-policy-controller-k8s#92
//	| entries of all policies with the same prefix are one: ports and exceptions are united | an exception of one rule from 0.0.0.0/0 is closed also for a port that another rule opens to 0.0.0.0/0
//	| the longest prefix decides; it inherits the ports of wider prefixes that do not except it | an exception is undone only by a rule for the same or a longer prefix
//	| the node of the pod always reaches it                                        | probes of the kubelet need no rule
//	| only one IP family is enforced, the cluster's                                |
//
// Sources, read on 2026-11-27:
//
//	https://github.com/aws/amazon-network-policy-controller-k8s  pkg/resolvers/endpoints.go (getAllowAllNetworkPeers,
//	    getMatchingPodAddresses, getMatchingServiceClusterIPs), pkg/policyendpoints/manager.go; the module proxy does not have it
//	https://github.com/aws/aws-network-policy-agent v1.5.0       pkg/fwruleprocessor/fw_rule_processor.go, pkg/ebpf/c/tc.v4ingress.bpf.c;
//	    testdata/agent.json contains 400 decisions of it, with which a test compares agent.go
//	https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy-configure.html
package vpccni
