// Package ingressrecords manages the DNS records that lead from the names of a cluster's applications to the load balancer of its ingress
// controller, in the hosted zones of spec.dns:
//
//	*.apps.<cluster>.<base domain>  CNAME  load balancer
//
//	public zone    if the load balancer is reached from the internet
//	private zone   always: the VPC asks this zone alone
//
//	live                                              deleted, or not wanted any more
//	  target   name, zones, load balancer               records    those that lead to a recorded load balancer
//	  record   finalizer, and what deletion needs       record     and the finalizer
//	  records  created and repaired
//	  former records  deleted: of another name or zone
//
// A record that leads elsewhere is neither changed nor deleted: it belongs to another cluster or to a person. The role of these calls is
// rolesRef.ingressARN. Decision 0099 has the reasons why external-dns does not write these records.
package ingressrecords
