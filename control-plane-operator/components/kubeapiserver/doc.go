// Package kubeapiserver runs the API server of a hosted cluster, with the konnectivity server in the same pod.
//
//	flags.go           addresses, networks, issuer of tokens
//	tls.go             protocol and ciphers, the user's own certificates
//	clients.go         trusted client certificates
//	audit.go           the audit log
//	authentication.go  users: an OIDC provider or a webhook
//	encryption.go      encryption of Secrets in etcd, with the keys in status.secretEncryptionRecord
//	kms.go             encryption with keys of AWS KMS
//	konnectivity.go    the connection to the nodes
//
// Each adds its flags and volumes to the common manifests in assets.
package kubeapiserver
