package kubeapiserver

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// clientCA has our authorities and the user's authority, because the API server takes only one file.
const clientCA = "kas-client-ca"

func bringsClientCA(env *target.ControlPlane) bool { return apiServer(env).ClientCA.Name != "" }

// adaptClientCA adds the user's authority. Our own authorities stay in the file, because the control plane authenticates
// with them.
func adaptClientCA(env *target.ControlPlane, cm *corev1.ConfigMap) error {
	clusterCA, userCA := env.ConfigMapData(names.ClientCA, pki.TrustKey), env.ConfigMapData(apiServer(env).ClientCA.Name, trustBundleKey)
	if clusterCA == "" {
		return fmt.Errorf("ConfigMap %s has no %s yet", names.ClientCA, pki.TrustKey)
	}
	if userCA == "" {
		return fmt.Errorf("configuration.apiServer.clientCA names ConfigMap %s, which has no %s", apiServer(env).ClientCA.Name, trustBundleKey)
	}
	cm.Data = map[string]string{pki.TrustKey: strings.TrimRight(clusterCA, "\n") + "\n" + userCA}
	return nil
}

// addKubeletCA makes the API server verify the certificates of nodes. Traffic to nodes passes agents on nodes, and each
// agent could respond in place of the node.
func addKubeletCA(env *target.ControlPlane, p *pod) error {
	if env.HCP.Status.KubeletVerification != hyperv1.KubeletVerificationEnabled {
		return nil
	}
	if env.ConfigMapData(names.KubeletServingCA, pki.TrustKey) == "" {
		return fmt.Errorf("ConfigMap %s has no %s yet, and kubelets are verified with it", names.KubeletServingCA, pki.TrustKey)
	}
	p.arg("--kubelet-certificate-authority=" + p.mountConfigMap("kubelet-ca", names.KubeletServingCA) + "/" + pki.TrustKey)
	return nil
}

func addClientCA(env *target.ControlPlane, p *pod) error {
	if bringsClientCA(env) {
		p.volume("client-ca").ConfigMap.Name = clientCA
	}
	return nil
}
