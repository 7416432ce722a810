// Package pki creates certificates and evaluates existing ones. It knows the format of Secrets with certificates, and no component
// that uses one.
//
//	Authority   authority.go  a certificate authority: signs
//	  Request   request.go    a desired certificate: subject, hosts, usages
//	  Leaf      leaf.go       a certificate and its key, as Issue creates them or a Secret has them
//	  Evaluate  evaluate.go   (Secret, Request, Authority, Terms, now) ─► the Leaf that may stay, or why a new one must be issued
//	  Terms                   validity and renewal
//	Signer      signer.go     the former, current and next Authority, as a Secret has them
//	  Advance   rotation.go   one step of a rotation in which every certificate in use is trusted at every moment
//	  Revoke    revocation.go  one step of a rotation after which the certificates of the former authority are refused
//	Kubeconfig  kubeconfig.go a Leaf, a server and its CA, in the format of clients
//
// All functions are pure except for the creation of keys, which are random. No error and no reason contains a part of a private
// key.
package pki
