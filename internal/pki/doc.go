// Package pki makes certificates and judges those that there are. It knows how
// they are kept in Secrets, and of no component that has one.
//
//	Authority   authority.go  a certificate authority: signs
//	  Request   request.go    what a certificate has to be: subject, hosts, usages
//	  Leaf      leaf.go       a certificate and its key, as Issue made them or a Secret holds them
//	  Judge     judge.go      (Secret, Request, Authority, Terms, now) ─► the Leaf that may stay, or why there has to be another
//	Signer      signer.go     an Authority over time, as a Secret holds it: who signs, who will, who did
//	  Advance   rotation.go   one step of a rotation in which, at no moment, anybody meets a certificate that he does not trust
//	Kubeconfig  kubeconfig.go a Leaf, a server and what to trust, as clients take it
//
// Everything is a pure function of what it is given, but for the keys, which are
// random. No error and no reason has anything of a private key in it.
package pki
