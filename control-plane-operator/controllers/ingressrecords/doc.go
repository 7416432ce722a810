// Package ingressrecords manages the DNS records that lead from the names of a cluster's applications to the load balancer of its ingress
// controller, in the hosted zones of spec.dns:
//
//	*.apps.<cluster>.<base domain>  CNAME  load balancer
//
//	public zone    if the load balancer is reached from the internet
//	private zone   always: the VPC asks this zone alone
//
//	live                                                  deleted, or not wanted any more
//	  target          name, zones, load balancer            role     session with AWS
//	  record          what deletion needs, finalizer        records  those that lead to a recorded load balancer
//	  role            session with AWS                      record   and the finalizer
//	  records         created and repaired
//	  former records  of another name or zone, deleted
//
// A record that leads elsewhere is neither changed nor deleted: it belongs to another cluster or to a person. The role of these calls is
// rolesRef.ingressARN. Decision 0099 has the reasons why external-dns does not write these records.
package ingressrecords
