// Package oidcbucket is the bucket of the OIDC documents of hosted clusters, in the account of the management cluster, as a graph
// of resources. `hypershift create oidc-bucket aws` creates them, and `destroy oidc-bucket aws` deletes them.
//
// AWS reads the documents without credentials, so that the objects are public. Access control lists stay blocked: the policy of
// the bucket is the only way to its objects.
package oidcbucket
