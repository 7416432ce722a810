package pki

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// entry is the name of every entry in our kubeconfigs.
const entry = "cluster"

// Kubeconfig returns a kubeconfig for a client certificate. The same input gives the same text.
func Kubeconfig(server string, trust []byte, leaf *Leaf) ([]byte, error) {
	user := leaf.Certificate.Subject.CommonName
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{entry: {Server: server, CertificateAuthorityData: trust}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {ClientCertificateData: leaf.CertPEM, ClientKeyData: leaf.KeyPEM}},
		Contexts:       map[string]*clientcmdapi.Context{entry: {Cluster: entry, AuthInfo: user}},
		CurrentContext: entry,
	})
}

// CertificateIn returns the certificate and the key in a kubeconfig, under the keys of a Secret. It returns nil for a
// kubeconfig that Kubeconfig did not write.
func CertificateIn(kubeconfig []byte) map[string][]byte {
	cfg, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil
	}
	for _, user := range cfg.AuthInfos {
		if user != nil && len(cfg.AuthInfos) == 1 {
			return map[string][]byte{corev1.TLSCertKey: user.ClientCertificateData, corev1.TLSPrivateKeyKey: user.ClientKeyData}
		}
	}
	return nil
}
