// Package nodeserver determines how nodes reach the API server of a hosted cluster: its address, and the certificate authorities
// between both.
package nodeserver

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Interval is the retry interval for objects that are not watched.
const Interval = 15 * time.Second

// Resolve sets the address of the API server and the certificate authorities of a node. It waits for inputs that do not exist yet.
func Resolve(ctx context.Context, reader client.Reader, hcp *hyperv1.HostedControlPlane, node *nodeconfig.Machine) error {
	if problem := hcp.Unreadable(); problem != "" {
		return reconcile.Wait(Interval, hyperv1.UnreadableReason, "HostedControlPlane %s cannot be read: %s", hcp.Name, problem)
	}
	at := hcp.Status.ControlPlaneEndpoint
	if at.Host == "" {
		return reconcile.Wait(Interval, hyperv1.WaitingForAPIServerReason, "the control plane has no address yet")
	}
	if hcp.Spec.Platform.PrivateLink() {
		at.Host = names.LocalAPI(hcp.Name) // workers use the endpoint even if there is a public address
	}
	node.Server = "https://" + net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
	var err error
	if node.CA, err = authority(ctx, reader, hcp.Namespace, names.ClusterKubeconfig(hcp.Spec.InfraID)); err != nil {
		return err
	}
	if node.ClientCA, err = clientAuthority(ctx, reader, hcp.Namespace); err != nil {
		return err
	}
	node.Advertised, err = advertised(hcp.Spec.Networking)
	return err
}

// advertised returns the address at which pods of the node reach the API server.
func advertised(n hyperv1.ClusterNetworking) (netip.AddrPort, error) {
	address, err := netip.ParseAddr(n.AdvertiseAddress())
	if err != nil {
		return netip.AddrPort{}, reconcile.Wait(Interval, hyperv1.InvalidNodeInputReason, "spec.networking.apiServer.advertiseAddress %q is no address", n.AdvertiseAddress())
	}
	return netip.AddrPortFrom(address, uint16(n.AdvertisePort())), nil //nolint:gosec // the API server accepts 1 to 65535
}

// clientAuthority returns the CA with which kubelets verify the API server as a client.
func clientAuthority(ctx context.Context, reader client.Reader, namespace string) ([]byte, error) {
	cm := &corev1.ConfigMap{}
	err := certsecret.GetBundle(ctx, reader, client.ObjectKey{Namespace: namespace, Name: names.KubeletClientCA}, cm)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting ConfigMap %s: %w", names.KubeletClientCA, err)
	}
	if cm.Data[pki.TrustKey] == "" {
		return nil, reconcile.Wait(Interval, hyperv1.WaitingForAPIServerReason, "waiting for ConfigMap %s with the CA of the clients of kubelets", names.KubeletClientCA)
	}
	return []byte(cm.Data[pki.TrustKey]), nil
}

// authority returns the CA of the kubeconfig in a Secret.
func authority(ctx context.Context, reader client.Reader, namespace, name string) ([]byte, error) {
	secret := &corev1.Secret{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Wait(Interval, hyperv1.WaitingForAPIServerReason, "waiting for Secret %s with the CA of the API server", name)
	}
	if err != nil {
		return nil, fmt.Errorf("getting Secret %s: %w", name, err)
	}
	kubeconfig, err := clientcmd.Load(secret.Data[names.ClusterKubeconfigFile])
	if err == nil {
		if current := kubeconfig.Contexts[kubeconfig.CurrentContext]; current != nil {
			if cluster := kubeconfig.Clusters[current.Cluster]; cluster != nil && len(cluster.CertificateAuthorityData) > 0 {
				return cluster.CertificateAuthorityData, nil
			}
		}
	}
	// The message leaves out the parse error, which may quote a part of the Secret.
	return nil, reconcile.Wait(Interval, hyperv1.WaitingForAPIServerReason, "Secret %s has no kubeconfig with the CA of the API server", name)
}
