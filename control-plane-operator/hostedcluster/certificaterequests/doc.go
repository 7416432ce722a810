// Package certificaterequests approves the certificates of nodes in a hosted cluster.
//
//	decide.go    which request is of which Machine: no reads and no writes
//	approver.go  the pending requests of a signer, and their approval
//	joining.go   first client certificates, one per Machine, with a bootstrap token
//	serving.go   serving certificates of kubelets
//
// Other requests stay pending: the addresses of a Machine may be missing yet, and people can decide. kube-controller-manager approves
// the renewal of a node's own client certificate.
package certificaterequests
