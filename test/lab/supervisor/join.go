package supervisor

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hosted-control-planes/hypershift/test/fixture"
	machineos "github.com/hosted-control-planes/hypershift/test/lab/machine"
)

// bootstrapRBAC permits machines with a token to join, and to renew their certificates.
//
//go:embed manifests/bootstrap.yaml
var bootstrapRBAC string

// bootstrappers is the group in bootstrapRBAC.
const bootstrappers = "system:bootstrappers:machines"

// joined is a cluster with machines of this lab.
type joined struct {
	config   *rest.Config
	client   kubernetes.Interface
	machines int // number of machines; guarded by machines.mu

	wake  chan struct{} // receives when the routes may have changed
	leave context.CancelFunc
}

// join returns a management cluster or, without one, the cluster of a kubeconfig, and prepares it for machines to join.
func (all *machines) join(ctx context.Context, of *management, kubeconfig string) (*joined, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	config, err := clientConfig(of, kubeconfig)
	if err != nil {
		return nil, err
	}
	if known := all.clusters[config.Host]; known != nil {
		known.machines++
		return known, nil
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster to join: %w", err)
	}
	if err := fixture.Apply(ctx, config, bootstrapRBAC); err != nil {
		return nil, fmt.Errorf("letting machines join %s: %w", config.Host, err)
	}
	life, leave := context.WithCancel(context.Background())
	c := &joined{config: config, client: client, machines: 1, wake: make(chan struct{}, 1), leave: leave}
	all.clusters[config.Host] = c
	go all.route(life, c)
	return c, nil
}

func clientConfig(of *management, kubeconfig string) (*rest.Config, error) {
	if of != nil {
		return of.admin, nil
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the cluster to join: %w", err)
	}
	return config, nil
}

// leave removes a cluster with its last machine.
func (all *machines) leave(c *joined) {
	if c == nil {
		return // the lab has not prepared it
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if c.machines--; c.machines == 0 {
		c.leave()
		delete(all.clusters, c.config.Host)
	}
}

// changed triggers an update of the cluster's routes.
func (c *joined) changed() {
	if c == nil {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default: // an update is pending
	}
}

// admit creates the credentials with which a machine joins the cluster.
func (c *joined) admit(ctx context.Context, spec machineos.Spec, clientCA string) error {
	random := make([]byte, 11)
	if _, err := rand.Read(random); err != nil {
		return fmt.Errorf("making a bootstrap token: %w", err)
	}
	id, secret := hex.EncodeToString(random[:3]), hex.EncodeToString(random[3:])
	_, err := c.client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": id, "token-secret": secret,
			"usage-bootstrap-authentication": "true",
			"auth-extra-groups":              bootstrappers,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making a bootstrap token: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: c.config.Host, CertificateAuthorityData: c.config.CAData}
	config.AuthInfos["c"] = &clientcmdapi.AuthInfo{Token: id + "." + secret}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}
	config.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*config, filepath.Join(spec.Dir, machineos.BootstrapKubeconfig)); err != nil {
		return fmt.Errorf("writing what it joins with: %w", err)
	}
	if clientCA == "" {
		clientCA = string(c.config.CAData)
	}
	if err := os.WriteFile(filepath.Join(spec.Dir, machineos.CA), []byte(clientCA), 0o644); err != nil {
		return fmt.Errorf("writing the client CA of its kubelet: %w", err)
	}
	return nil
}
