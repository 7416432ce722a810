package hosting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// AdminKubeconfig writes the kubeconfig of a hosted cluster's user to a file, and returns its path. The host cannot
// resolve the names of the lab. Therefore the server is the address of the load balancer, with the TLS server name of the
// original.
func (h *Hosting) AdminKubeconfig(ctx context.Context, hc client.ObjectKey) (string, error) {
	config, addresses, err := h.userKubeconfig(ctx, hc)
	if err != nil {
		return "", err
	}
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err != nil {
			return "", fmt.Errorf("reading the kubeconfig of %s: %w", hc, err)
		}
		if address, found := addresses[server.Hostname()]; found {
			cluster.TLSServerName = server.Hostname()
			server.Host = net.JoinHostPort(address, server.Port())
			cluster.Server = server.String()
		}
	}
	return h.writeKubeconfig(config, hc.Namespace+"-"+hc.Name)
}

// UserKubeconfig writes the kubeconfig of a hosted cluster's user to a file as it is, and returns its path. addresses maps
// the host names of the servers to addresses, for programs with an /etc/hosts of their own.
func (h *Hosting) UserKubeconfig(ctx context.Context, hc client.ObjectKey) (path string, addresses map[string]string, err error) {
	config, addresses, err := h.userKubeconfig(ctx, hc)
	if err != nil {
		return "", nil, err
	}
	path, err = h.writeKubeconfig(config, hc.Namespace+"-"+hc.Name+"-user")
	return path, addresses, err
}

func (h *Hosting) writeKubeconfig(config *clientcmdapi.Config, name string) (string, error) {
	path := filepath.Join(h.Dir, name+".kubeconfig")
	unfinished := path + ".new" // someone may read the former one meanwhile
	if err := clientcmd.WriteToFile(*config, unfinished); err != nil {
		return "", fmt.Errorf("writing the kubeconfig %s: %w", name, err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return "", fmt.Errorf("writing the kubeconfig %s: %w", name, err)
	}
	return path, nil
}

// userKubeconfig returns the kubeconfig of a hosted cluster's user, and the addresses of the names in it.
func (h *Hosting) userKubeconfig(ctx context.Context, hc client.ObjectKey) (*clientcmdapi.Config, map[string]string, error) {
	c, err := h.management()
	if err != nil {
		return nil, nil, fmt.Errorf("finding the kubeconfig of %s: %w", hc, err)
	}
	secret := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: hc.Namespace, Name: hc.Name + "-admin-kubeconfig"}, secret); err != nil {
		return nil, nil, fmt.Errorf("finding the kubeconfig of %s: %w", hc, err)
	}
	config, err := clientcmd.Load(secret.Data["kubeconfig"])
	if err != nil {
		return nil, nil, fmt.Errorf("reading the kubeconfig of %s: %w", hc, err)
	}
	addresses := map[string]string{}
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the kubeconfig of %s: %w", hc, err)
		}
		if net.ParseIP(server.Hostname()) != nil {
			continue // of a node, which the host reaches
		}
		if addresses[server.Hostname()], err = h.balancerOf(ctx, c, hc); err != nil {
			return nil, nil, err
		}
	}
	return config, addresses, nil
}

// management returns the client of the administrator, always the same one: each new client discovers the kinds of the API again.
func (h *Hosting) management() (client.Client, error) {
	h.connecting.Lock()
	defer h.connecting.Unlock()
	if h.administrator != nil {
		return h.administrator, nil
	}
	c, err := client.New(h.Config, client.Options{})
	h.administrator = c
	return c, err
}

// balancerOf is the address of the load balancer of a hosted cluster's API.
func (h *Hosting) balancerOf(ctx context.Context, c client.Client, hc client.ObjectKey) (string, error) {
	namespace := names.ControlPlaneNamespace(hc.Namespace, hc.Name)
	status, err := h.Status(ctx)
	if err != nil {
		return "", err
	}
	for _, key := range []client.ObjectKey{
		{Namespace: namespace, Name: names.KubeAPIServer}, {Namespace: namespace, Name: names.KubeAPIServerPrivate},
		{Namespace: namespace, Name: names.Router}, {Namespace: namespace, Name: names.PrivateRouter}, {Namespace: Namespace, Name: sharedrouter.Public},
	} {
		svc := &corev1.Service{}
		if err := c.Get(ctx, key, svc); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("finding the load balancer of %s: %w", hc, err)
		}
		for _, ingress := range svc.Status.LoadBalancer.Ingress {
			for _, b := range status.Cloud.LoadBalancers {
				if b.Host == ingress.Hostname {
					return b.Address.String(), nil
				}
			}
		}
	}
	return "", errors.New("no load balancer of " + hc.String() + " carries traffic")
}
