package names

import "strings"

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
	// AuthoritiesSerial is greater for what is newer, a whole number.
	AuthoritiesSerial = "serial"
	// AuthoritiesSignature is that of an authority that nodes trust for servers, on SignedAuthorities, in base64. ConfigMaps in
	// kube-public may be written by more people than those who may have a shell on every node.
	AuthoritiesSignature = "signature"
)

// SignedAuthorities is the text to which the signature in NodeAuthorities belongs. The script of nodes makes it of the same
// values; no bundle has a line like those between them.
func SignedAuthorities(data map[string]string) string {
	return strings.Join([]string{
		AuthoritiesHeader, data[AuthoritiesSerial], data[AuthoritiesRevision],
		strings.TrimRight(data[ServerAuthorities], "\n"), AuthoritiesSeparator, strings.TrimRight(data[KubeletClientAuthorities], "\n"), "",
	}, "\n")
}

// Lines of SignedAuthorities.
const (
	AuthoritiesHeader    = "hypershift node authorities"
	AuthoritiesSeparator = "of kubelet clients"
)

// AuthoritiesAnnotation is on a Node: the revision of NodeAuthorities that it has taken over.
const AuthoritiesAnnotation = "hypershift.openshift.io/authorities"

// ServingCertificateAnnotation is on a Node whose kubelet serves with a certificate that the hosted cluster has signed.
const ServingCertificateAnnotation = "hypershift.openshift.io/kubelet-serving-certificate"

// NodeCertificates is the ConfigMap in the namespace of a control plane that has, by the UID of a Machine that has not joined
// yet, the digest of the key for which it got a client certificate. There is one for each Machine.
const NodeCertificates = "node-certificates"
