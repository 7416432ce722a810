package names

// NodeAuthorities is the ConfigMap in kube-public of the hosted cluster that says whom its nodes have to believe. They follow it
// (nodeconfig writes how), and the control-plane-operator waits for them while it replaces an authority.
const NodeAuthorities = "node-authorities"

// Keys of the ConfigMap NodeAuthorities. Nodes read them without a parser of JSON: the keys are no ends of one another, and the
// values have nothing that JSON escapes but ends of lines.
const (
	// ServerAuthorities are in PEM, for who calls the API server.
	ServerAuthorities = "server-ca.crt"
	// KubeletClientAuthorities are in PEM, for the kubelet when the API server calls it.
	KubeletClientAuthorities = "kubelet-client-ca.crt"
	// AuthoritiesRevision names them all.
	AuthoritiesRevision = "revision"
)

// AuthoritiesAnnotation is on a Node: the revision of NodeAuthorities that it has taken over.
const AuthoritiesAnnotation = "hypershift.openshift.io/authorities"

// NodeCertificates is the ConfigMap in the namespace of a control plane that has, by the UID of a Machine that has not joined
// yet, the digest of the key for which it got a client certificate. There is one for each Machine.
const NodeCertificates = "node-certificates"
