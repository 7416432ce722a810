package names

import "strings"

// NodeAuthorities is the ConfigMap in kube-public of the hosted cluster with the certificate authorities that its nodes
// trust, and the address of the API server that they use. Nodes apply it (package nodeconfig), and the
// control-plane-operator waits for them during a CA rollout or a change of the access mode.
const NodeAuthorities = "node-authorities"

// Keys of the ConfigMap NodeAuthorities. Nodes read them without a JSON parser: no key is a suffix of another one, and the
// only characters of the values that JSON escapes are line breaks.
const (
	// ServerAuthorities contains the CA of the API server, in PEM.
	ServerAuthorities = "server-ca.crt"
	// KubeletClientAuthorities contains the CA with which kubelets verify the API server as a client, in PEM.
	KubeletClientAuthorities = "kubelet-client-ca.crt"
	// AuthoritiesRevision identifies both bundles.
	AuthoritiesRevision = "revision"
	// AuthoritiesSerial is an integer that increases with each change.
	AuthoritiesSerial = "serial"
	// AuthoritiesSignature is the signature on SignedAuthorities, in base64, by an authority that nodes trust for servers.
	// More users may write ConfigMaps in kube-public than may have root access to every node.
	AuthoritiesSignature = "signature"
	// ServerURL is the URL of the API server for nodes.
	ServerURL = "server-url"
	// ServerURLSignature is the signature on SignedServer, in base64, by the same authority. It is separate from the
	// signature on the authorities, which nodes of earlier releases verify.
	ServerURLSignature = "server-url-signed"
)

// SignedServer returns the signed text of ServerURL.
func SignedServer(url string) string { return ServerHeader + "\n" + url + "\n" }

// ServerHeader is the first line of SignedServer.
const ServerHeader = "hypershift node API server"

// SignedAuthorities returns the signed text of NodeAuthorities. The script on nodes builds the same text. No bundle contains
// one of its separator lines.
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

// AuthoritiesAnnotation is on a Node: the revision of NodeAuthorities that it has applied.
const AuthoritiesAnnotation = "hypershift.openshift.io/authorities"

// ServerAnnotation is on a Node: the URL of the API server that it uses.
const ServerAnnotation = "hypershift.openshift.io/api-server"

// ServingCertificateAnnotation is on a Node if the hosted cluster has signed the serving certificate of its kubelet.
const ServingCertificateAnnotation = "hypershift.openshift.io/kubelet-serving-certificate"

// NodeCertificates is the ConfigMap in the namespace of a control plane with, by the UID of a Machine that has not joined
// yet, the digest of the key of its client certificate. Each Machine gets one certificate.
const NodeCertificates = "node-certificates"
