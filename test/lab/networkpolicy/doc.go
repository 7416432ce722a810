// Package networkpolicy enforces NetworkPolicies on a node of the lab, with nftables:
//
//	enforcer.go   informers: policies, namespaces, pods ─┐
//	plugin.go     CNI: addresses of a pod that is made ──┤
//	                                                     ▼
//	evaluate.go   State ─► Rules: what each pod of the node may receive and send
//	                                                     ▼
//	table.go      Rules ─► table: sets, maps and chains of nftables
//	                                                     ▼
//	writer.go     the difference to the table in the kernel, in one transaction
//
// Semantics are those that the API documents:
//
//   - A pod is isolated for a direction when a policy of that direction selects it. A packet passes when the sender's egress and
//     the receiver's ingress both allow it. Policies add up; their order has no meaning.
//   - Replies of allowed connections pass. A change of a policy holds for new connections; connections that exist are not cut.
//   - The node of a pod always reaches it (probes). A pod always reaches itself. Pods on the host's network are no peers: their
//     addresses are those of nodes, for ipBlock alone.
//   - A Service is judged by its endpoints: kube-proxy has translated the address before.
//   - What a pod sends to its own node, such as requests for instance metadata, is judged like everything else.
//
// Pods are closed unless their rules are there. The table exists before containerd starts. A pod's CNI ADD returns only when the
// rules of the pod are in the kernel, so they apply to its first packet. Packets with addresses that are not those of a pod of the
// node do not pass the bridge in either direction. Other nodes know a new pod once its status has its address; until then they
// drop what only policies with selectors allow.
//
// Packets between pods of one node pass the bridge alone; rules see them where the kernel has br_netfilter.
package networkpolicy
