package bootstrap

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Keys of what is read here.
const (
	configKey = "config"
	sshKeyKey = "id_rsa.pub"
	bundleKey = "ca-bundle.crt"
)

// resolveInputs reads what the pool and the cluster want on the node.
func (r *Reconciler) resolveInputs(ctx context.Context, s *scope) error {
	text, err := r.fromSecret(ctx, s, s.nb.Spec.ConfigName, configKey)
	if err != nil {
		return err
	}
	if text == nil {
		return reconcile.Wait(lookAgain, hyperv1.ConfigNotFoundReason, "Secret %s with the configuration of the node pool is not there", s.nb.Spec.ConfigName)
	}
	if s.config, err = nodeconfig.Unmarshal(text); err != nil {
		return reconcile.Wait(lookAgain, hyperv1.ConfigNotFoundReason, "Secret %s does not hold the configuration of a node pool: delete it, it is written again", s.nb.Spec.ConfigName)
	}
	spec := &s.hcp.Spec
	if s.node.ClusterDNS, err = clusterDNS(spec.Networking.ServiceNetwork); err != nil {
		return reconcile.Wait(lookAgain, hyperv1.InvalidNodeInputReason, "spec.networking.serviceNetwork has no address for the DNS of the cluster: %v", err)
	}
	if err := r.resolveSSHKeys(ctx, s); err != nil {
		return err
	}
	if name := ptr.Deref(spec.AdditionalTrustBundle, corev1.LocalObjectReference{}).Name; name != "" {
		if err := r.addTrust(ctx, s, "spec.additionalTrustBundle", name); err != nil {
			return err
		}
	}
	return r.resolveProxy(ctx, s)
}

func (r *Reconciler) resolveSSHKeys(ctx context.Context, s *scope) error {
	name := s.hcp.Spec.SSHKey.Name
	if name == "" {
		return nil
	}
	text, err := r.fromSecret(ctx, s, name, sshKeyKey)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			s.node.SSHKeys = append(s.node.SSHKeys, line)
		}
	}
	if len(s.node.SSHKeys) == 0 {
		return reconcile.Wait(lookAgain, hyperv1.InvalidNodeInputReason, "there is no ssh key: the Secret that spec.sshKey of the HostedCluster names needs one under the key %s", sshKeyKey)
	}
	return nil
}

// addTrust adds the authorities of a ConfigMap.
func (r *Reconciler) addTrust(ctx context.Context, s *scope, field, name string) error {
	cm := &corev1.ConfigMap{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.nb.Namespace, Name: name}, cm)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting ConfigMap %s: %w", name, err)
	}
	bundle := bytes.TrimSpace([]byte(cm.Data[bundleKey]))
	if len(bundle) == 0 {
		return reconcile.Wait(lookAgain, hyperv1.InvalidNodeInputReason, "there is no trust bundle: the ConfigMap that %s of the HostedCluster names needs one under the key %s", field, bundleKey)
	}
	s.node.TrustBundle = append(append(s.node.TrustBundle, bundle...), '\n')
	return nil
}

// resolveProxy says how the node reaches the world, and what it reaches without a proxy.
func (r *Reconciler) resolveProxy(ctx context.Context, s *scope) error {
	if s.hcp.Spec.Configuration == nil || s.hcp.Spec.Configuration.Proxy == nil {
		return nil
	}
	p := s.hcp.Spec.Configuration.Proxy
	if p.TrustedCA.Name != "" {
		if err := r.addTrust(ctx, s, "spec.configuration.proxy.trustedCA", p.TrustedCA.Name); err != nil {
			return err
		}
	}
	if p.HTTPProxy != "" || p.HTTPSProxy != "" {
		s.node.Proxy = nodeconfig.Proxy{HTTP: p.HTTPProxy, HTTPS: p.HTTPSProxy, No: strings.Join(withoutProxy(s.hcp), ",")}
	}
	return nil
}

// withoutProxy is what is near, and what the user adds: the machine, its metadata, the networks of the cluster, and the
// private way to its control plane. A public API server is reached by the proxy unless the user adds it.
func withoutProxy(hcp *hyperv1.HostedControlPlane) []string {
	near := []string{"localhost", "127.0.0.1", "169.254.169.254", ".svc", ".cluster.local", ".hypershift.local", ".internal"}
	n := hcp.Spec.Networking
	for _, e := range n.MachineNetwork {
		near = append(near, e.CIDR)
	}
	for _, e := range n.ClusterNetwork {
		near = append(near, e.CIDR)
	}
	for _, e := range n.ServiceNetwork {
		near = append(near, e.CIDR)
	}
	if more := strings.TrimSpace(hcp.Spec.Configuration.Proxy.NoProxy); more != "" {
		near = append(near, more)
	}
	return near
}

// dnsIndex is the address, in each service network, that DNS has by convention.
const dnsIndex = 10

func clusterDNS(networks []hyperv1.ServiceNetworkEntry) ([]string, error) {
	var addresses []string
	for _, n := range networks {
		_, subnet, err := net.ParseCIDR(n.CIDR)
		if err != nil {
			return nil, err
		}
		ip, err := netutils.GetIndexedIP(subnet, dnsIndex)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, ip.String())
	}
	return addresses, nil
}

// fromSecret is what a Secret of the namespace has under a key; nil if there is no such Secret.
func (r *Reconciler) fromSecret(ctx context.Context, s *scope, name, key string) ([]byte, error) {
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.nb.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting Secret %s: %w", name, err)
	}
	return secret.Data[key], nil
}
