// Package nodes plays the machines of a hosted cluster: for each EC2 instance of the cluster that runs in the emulator it does
// what the machine would do, and what the cloud controller would do about it.
//
//	user data ─ nodeconfigtest ─► server, CA, token, flags of the kubelet
//	          ─ join.go        ─► the token gets a certificate, the certificate makes the Node: what the API server refuses to a
//	                              kubelet, it refuses here
//	          ─ cloud.go       ─► zone, type and addresses; the Node goes when its instance has gone
//
// The API server is called by the name that the user data says, and its certificate is checked for it; only the way there is
// loopback. Nothing runs on such a node, and no heartbeat is sent: a node is ready until NotReady says otherwise.
package nodes
