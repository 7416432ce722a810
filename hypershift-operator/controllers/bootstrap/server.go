package bootstrap

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
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// lookAgain is the retry interval for objects that are not watched.
const lookAgain = 15 * time.Second

// resolveServer determines the address of the API server and the certificate authorities between it and the node.
func (r *Reconciler) resolveServer(ctx context.Context, s *scope) error {
	if s.hcp == nil {
		return reconcile.Wait(lookAgain, hyperv1.WaitingForAPIServerReason, "namespace %s has no control plane", s.nb.Namespace)
	}
	if problem := s.hcp.Unreadable(); problem != "" {
		return reconcile.Wait(lookAgain, hyperv1.UnreadableReason, "HostedControlPlane %s cannot be read: %s", s.hcp.Name, problem)
	}
	at := s.hcp.Status.ControlPlaneEndpoint
	if at.Host == "" {
		return reconcile.Wait(lookAgain, hyperv1.WaitingForAPIServerReason, "the control plane has no address yet")
	}
	if s.hcp.Spec.Platform.PrivateLink() {
		at.Host = names.LocalAPI(s.hcp.Name) // workers use the endpoint even if there is a public address
	}
	s.node.Server = "https://" + net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
	var err error
	if s.node.CA, err = r.authority(ctx, s.nb.Namespace, names.ClusterKubeconfig(s.machine.Spec.ClusterName)); err != nil {
		return err
	}
	if s.node.ClientCA, err = r.clientAuthority(ctx, s.nb.Namespace); err != nil {
		return err
	}
	s.node.Advertised, err = advertised(s.hcp.Spec.Networking)
	return err
}

// advertised returns the address at which pods of the node reach the API server.
func advertised(n hyperv1.ClusterNetworking) (netip.AddrPort, error) {
	address, err := netip.ParseAddr(n.AdvertiseAddress())
	if err != nil {
		return netip.AddrPort{}, reconcile.Wait(lookAgain, hyperv1.InvalidNodeInputReason, "spec.networking.apiServer.advertiseAddress %q is no address", n.AdvertiseAddress())
	}
	return netip.AddrPortFrom(address, uint16(n.AdvertisePort())), nil
}

// clientAuthority returns the CA with which kubelets verify the API server as a client.
func (r *Reconciler) clientAuthority(ctx context.Context, namespace string) ([]byte, error) {
	cm := &corev1.ConfigMap{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.KubeletClientCA}, cm)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting ConfigMap %s: %w", names.KubeletClientCA, err)
	}
	if cm.Data[pki.TrustKey] == "" {
		return nil, reconcile.Wait(lookAgain, hyperv1.WaitingForAPIServerReason, "waiting for ConfigMap %s with the CA of the clients of kubelets", names.KubeletClientCA)
	}
	return []byte(cm.Data[pki.TrustKey]), nil
}

// authority returns the CA of the kubeconfig in a Secret.
func (r *Reconciler) authority(ctx context.Context, namespace, name string) ([]byte, error) {
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Wait(lookAgain, hyperv1.WaitingForAPIServerReason, "waiting for Secret %s with the CA of the API server", name)
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
	return nil, reconcile.Wait(lookAgain, hyperv1.WaitingForAPIServerReason, "Secret %s has no kubeconfig with the CA of the API server", name)
}
