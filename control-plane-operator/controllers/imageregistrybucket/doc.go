// Package imageregistrybucket manages the bucket of the image registry in the customer's account:
//
//	<infraID>-image-registry-<8 hexadecimal digits of the SHA-256 checksum of spec.clusterID>
//
//	live                                                  deleted
//	  target  name, region, role                            role    session with AWS
//	  record  what deletion needs, finalizer                bucket  emptied in several passes, and deleted
//	  role    session with AWS                              record  and the finalizer
//	  bucket  created and repaired
//
// Without the capability, the bucket stays with its images until the cluster is deleted. It also stays if the user keeps the cluster's cloud resources
// (the annotation cleanup-cloud-resources with the value "false"), and if another management cluster has taken the cluster over: its bucket has the
// same name and the same tag.
//
// A bucket of another account or without the tag of the cluster is neither changed nor deleted. status.imageRegistry.ready is
//
//	absent  nothing was created: a bucket without tags belongs to another cluster or to a person
//	false   the creation has begun: a bucket without tags is the cluster's
//	true    the bucket has had its settings
//
// The role of these calls is rolesRef.imageRegistryARN, which also the registry assumes.
package imageregistrybucket
