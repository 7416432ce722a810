// Package kubeapiserver runs the API server of a hosted cluster, and beside it
// the end of the tunnels to the nodes.
//
//	flags.go           addresses, networks, who issues tokens
//	tls.go             protocol and ciphers, the user's own certificates
//	clients.go         whose certificates it takes
//	audit.go           what is written down about requests
//	authentication.go  who users are: an OIDC provider or a webhook
//	encryption.go      how Secrets are kept in etcd: the keys that status.secretEncryption names
//	kms.go             the same with keys of AWS KMS
//	konnectivity.go    the way to the nodes
//
// Each adds its flags and volumes to what is the same for all clusters, which is
// in assets.
package kubeapiserver
