// Package imageregistry gives users and nodes of a hosted cluster access to its image registry. The registry itself is the program of the
// project distribution, which knows no users of Kubernetes.
//
//	docker, kubelet ──https──► gateway ──http, in the pod──► registry ──► bucket
//	                              │
//	                              └──► API server: TokenReview, SubjectAccessReview, Lease
//
// A repository belongs to the namespace that its name begins with. What a user may do with it is decided by the API server:
//
//	request       verb     resource repositories.registry.hypershift.openshift.io
//	GET, HEAD     get      of that namespace and name
//	POST, PUT...  update
//	DELETE        delete
//	_catalog      list     of all namespaces
//
// The password is a token for the API server. Requests without credentials are those of system:anonymous.
//
// The garbage collection of distribution needs a registry that is not written to. A Collection holds a Lease during it, and each gateway refuses
// writes while the Lease is held, or when it cannot read it.
package imageregistry
