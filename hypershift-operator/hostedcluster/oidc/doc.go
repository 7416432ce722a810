// Package oidc publishes the documents with which AWS verifies a hosted cluster's tokens:
// the discovery document and the public keys of its issuer, in a bucket of the
// installation.
//
//	ParseIssuer   which bucket serves the URL of an issuer    location.go
//	SigningKeys   the keys that sign the tokens                signingkey.go
//	Publisher     the documents in the bucket                  publisher.go
//
// Neither needs a running control plane: AWS can verify tokens before the hosted
// API server exists and after it is gone.
package oidc
