package hostedapi

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// publish says in the namespace of the control plane how the API server is reached.
func (a *API) publish(ctx context.Context, hc *hyperv1.HostedCluster) error {
	text, err := kubeconfig(hc.Name, a.Config)
	if err != nil {
		return err
	}
	for _, secret := range []*corev1.Secret{
		{
			ObjectMeta: metav1.ObjectMeta{Name: names.ClusterKubeconfig(hc.Spec.InfraID), Labels: map[string]string{clusterv1.ClusterNameLabel: hc.Spec.InfraID}},
			Type:       clusterv1.ClusterSecretType,
			Data:       map[string][]byte{names.ClusterKubeconfigFile: text},
		},
		{
			ObjectMeta: metav1.ObjectMeta{Name: names.AdminKubeconfig},
			Data:       map[string][]byte{names.AdminKubeconfigFile: text},
		},
		{
			ObjectMeta: metav1.ObjectMeta{Name: names.ControlPlaneOperatorKubeconfig},
			Data:       map[string][]byte{names.AdminKubeconfigFile: text},
		},
	} {
		secret.Namespace = a.namespace
		if err := a.management.Create(ctx, secret); err != nil {
			return fmt.Errorf("writing Secret %s: %w", client.ObjectKeyFromObject(secret), err)
		}
	}
	clients := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: names.KubeletClientCA},
		Data:       map[string]string{pki.TrustKey: string(a.Config.CAData)}, // one authority for everything
	}
	if err := a.management.Create(ctx, clients); err != nil {
		return fmt.Errorf("writing ConfigMap %s: %w", client.ObjectKeyFromObject(clients), err)
	}
	return nil
}

func kubeconfig(cluster string, c *rest.Config) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}
	config.Contexts["admin"] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: "admin"}
	config.CurrentContext = "admin"
	text, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("writing a kubeconfig of %s: %w", cluster, err)
	}
	return text, nil
}
