// Package etcd runs the etcd of a hosted cluster: one member, or three of a
// highly available one, each with a volume of its own.
//
//	ConfigMap etcd-config ─► (member: what it starts as) ─► etcd
//	                                ▲
//	snapshot ─► fetch ─► restore ───┘   only until the cluster has been up once, and without data
//
// A single member has the whole configuration from the ConfigMap, and no init
// container: whoever waits for the cluster waits for it. That the cluster has
// been up is in the ConfigMap, too, and members learn it when they start: another
// template would start them again.
//
//	formed: "false"  a member without data begins the cluster
//	formed: "true"   it joins the others, or says that its data is lost
//
// The user who brings an etcd of their own has none of this. Who may talk to etcd
// says the hypershift-operator, with all other policies of the namespace.
package etcd
