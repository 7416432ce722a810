// Package clusteraccess gives a user access to a hosted cluster: the kubeconfig of its administrator, and a way to its API server
// through the management cluster.
package clusteraccess

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/portforward"
)

// ErrNoKubeconfig is returned while a cluster has no kubeconfig.
var ErrNoKubeconfig = errors.New("it has no kubeconfig yet, because its API server has no address")

// ContextName is the name of the context, and of the cluster, in kubeconfigs.
func ContextName(hc client.ObjectKey) string { return hc.Namespace + "-" + hc.Name }

// Kubeconfig returns the kubeconfig of the administrator of a hosted cluster. It has one context, with the name ContextName.
func Kubeconfig(ctx context.Context, reader client.Reader, hc *hyperv1.HostedCluster) (*clientcmdapi.Config, error) {
	key := client.ObjectKeyFromObject(hc)
	if hc.Status.KubeConfig == nil {
		return nil, fmt.Errorf("HostedCluster %s: %w", key, ErrNoKubeconfig)
	}
	secret := &corev1.Secret{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: hc.Namespace, Name: hc.Status.KubeConfig.Name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("HostedCluster %s: %w", key, ErrNoKubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of HostedCluster %s: %w", key, err)
	}
	text := secret.Data[names.AdminKubeconfigFile]
	// The text becomes part of the user's kubeconfig. It must not contain a program to run.
	if _, err := kubeconfig.Config(text); err != nil {
		return nil, fmt.Errorf("Secret %s/%s %w", secret.Namespace, secret.Name, err)
	}
	raw, err := clientcmd.Load(text)
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s %w", secret.Namespace, secret.Name, kubeconfig.ErrUnreadable)
	}
	config, err := renamed(raw, ContextName(key), "admin")
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s %w", secret.Namespace, secret.Name, err)
	}
	return config, nil
}

// renamed returns the current context of a kubeconfig as its only one, under another name. The user's name gets a suffix.
func renamed(raw *clientcmdapi.Config, name, suffix string) (*clientcmdapi.Config, error) {
	current := raw.Contexts[raw.CurrentContext]
	if current == nil {
		return nil, kubeconfig.ErrUnreadable
	}
	cluster, user := raw.Clusters[current.Cluster], raw.AuthInfos[current.AuthInfo]
	if cluster == nil || user == nil { // client-go accepts a context without a user
		return nil, kubeconfig.ErrUnreadable
	}
	out := clientcmdapi.NewConfig()
	out.Clusters[name], out.AuthInfos[name+"-"+suffix] = cluster, user
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name + "-" + suffix}
	out.CurrentContext = name
	return out, nil
}

// Forwarded changes the kubeconfig so that it uses a forwarded port on this machine. The certificate of the server is still verified
// for its own name.
func Forwarded(config *clientcmdapi.Config, port int) error {
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err != nil {
			return fmt.Errorf("reading the address of the API server: %w", err)
		}
		if cluster.TLSServerName == "" {
			cluster.TLSServerName = server.Hostname()
		}
		cluster.Server, cluster.ProxyURL = "https://127.0.0.1:"+strconv.Itoa(port), ""
	}
	return nil
}

// Merge adds the contexts to a kubeconfig file; "" is kubectl's file. The current context of the file stays, because it may be the
// context of the management cluster. It returns the name of the file.
func Merge(path string, added *clientcmdapi.Config) (string, error) {
	options := clientcmd.NewDefaultPathOptions()
	options.LoadingRules.ExplicitPath = path
	all, err := options.GetStartingConfig()
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig to merge into: %w", err)
	}
	for name, cluster := range added.Clusters {
		all.Clusters[name] = cluster
	}
	for name, user := range added.AuthInfos {
		all.AuthInfos[name] = user
	}
	for name, c := range added.Contexts {
		all.Contexts[name] = c
	}
	if all.CurrentContext == "" {
		all.CurrentContext = added.CurrentContext
	}
	if err := clientcmd.ModifyConfig(options, *all, false); err != nil {
		return "", fmt.Errorf("writing the kubeconfig: %w", err)
	}
	if path == "" {
		path = options.GetDefaultFilename()
	}
	return path, nil
}

// apiPort is the port of the API server in its pods.
const apiPort = 6443

// Dial connects to the API server of a hosted cluster through the management cluster. Each call chooses a pod that is ready. Users without
// permissions in the namespace of the control plane get a tunnel of the hypershift-operator.
func Dial(ctx context.Context, reader client.Reader, config *rest.Config, hc client.ObjectKey) (net.Conn, error) {
	pods := &corev1.PodList{}
	namespace := names.ControlPlaneNamespace(hc.Namespace, hc.Name)
	if err := reader.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{"app": names.KubeAPIServer}); apierrors.IsForbidden(err) {
		return dialTunnel(ctx, config, hc)
	} else if err != nil {
		return nil, fmt.Errorf("listing the pods of the API server: %w", err)
	}
	ready := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil || !isReady(&p) })
	if len(ready) == 0 {
		return nil, fmt.Errorf("no pod of the API server in namespace %s is ready: see `hypershift describe cluster`", namespace)
	}
	slices.SortFunc(ready, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return portforward.Dial(ctx, config, portforward.Pod{Namespace: namespace, Name: ready[0].Name, Port: apiPort})
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
