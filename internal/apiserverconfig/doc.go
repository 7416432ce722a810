// Package apiserverconfig defines the rules about the API server's part of spec.configuration. Package validation reports them before a
// cluster is created, and the components of the control plane use the results: both give the same result for one value.
//
//	tls.go             TLS versions and cipher suites
//	audit.go           audit profiles
//	authentication.go  OIDC providers
//	features.go        feature gates
package apiserverconfig
