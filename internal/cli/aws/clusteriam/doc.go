// Package clusteriam is the identity provider and the roles of a hosted cluster in the customer's account, as a graph of
// resources. `hypershift create iam aws` creates them, and `destroy iam aws` deletes them.
//
//	spec.go      the user's request, and the output file
//	roles.go     the table of roles: their trust policies and permissions
//	nodes.go     nodes of the provider, the roles, their policies and the instance profile
//	sharedvpc.go the roles in the account of a shared VPC
//	discover.go  existing resources, for deletion
//	policies/    policies of roles that components of OpenShift use; the others are in config/iam
package clusteriam
