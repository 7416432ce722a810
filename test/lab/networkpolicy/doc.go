// Package networkpolicy enforces NetworkPolicies on a node of the lab, with nftables:
//
//	enforcer.go   informers: policies, namespaces, pods ─┐
//	plugin.go     CNI: addresses of a new pod ───────────┤
//	                                                     ▼
//	evaluate.go   State ─► Rules: the permitted traffic of each pod of the node
//	                                                     ▼
//	table.go      Rules ─► table: sets, maps and chains of nftables
//	                                                     ▼
//	nftables      the difference to the table in the kernel, in one transaction (package nftables)
//
// The semantics follow the API documentation:
//
//   - A pod is isolated for a direction when a policy of that direction selects it. A packet passes when the sender's egress and
//     the receiver's ingress both allow it. Policies are additive; their order has no meaning.
//   - Replies of allowed connections pass. A change of a policy affects new connections only.
//   - The node of a pod always reaches it (probes). A pod always reaches itself. Pods on the host's network are not peers: their
//     addresses are those of nodes, which only ipBlock matches.
//   - Connections to a Service are evaluated by its endpoints: kube-proxy has translated the address before.
//   - Packets of a pod to its own node, such as requests for instance metadata, are evaluated like all others.
//
// Pods have no network until their rules exist. The table is created before containerd starts. A pod's CNI ADD returns only when
// the rules of the pod are in the kernel, so that they apply to its first packet. The bridge drops packets with addresses that do
// not belong to a pod of the node, in both directions. Other nodes learn about a new pod when its status has its address; until
// then they drop connections that only policies with selectors allow.
//
// Packets between pods of one node only pass the bridge; rules apply to them if the kernel has br_netfilter.
package networkpolicy
