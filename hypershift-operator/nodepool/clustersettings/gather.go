// Package clustersettings gathers the settings of a HostedCluster that every node of the cluster gets with its user data: proxy,
// trust bundle, SSH keys and networks.
//
//	HostedControlPlane, and the copies of the user's ConfigMaps and Secrets in its namespace ─ Gather ─► nodeconfig.ClusterSettings
//
// The NodePool controller gathers them, hashes them and stores them (nodeconfig.Inputs). The bootstrap provider gathers them only
// for a Secret that an earlier version of the operator has stored without them.
package clustersettings

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Keys of the user's Secrets and ConfigMaps.
const (
	sshKeyKey = "id_rsa.pub"
	bundleKey = "ca-bundle.crt"
)

// maxText is how many bytes the texts may have together: a Secret, which stores all of them, has room for 1 MiB. User data has
// room for 16 KiB, so that less than this is refused later, by the size of the user data.
const maxText = 768 << 10

// Gather reads the settings from the HostedControlPlane and its namespace, not from the HostedCluster: a HostedCluster that is
// paused or not valid has not passed its changes on, and machines that are replaced now would still get the former settings.
// It waits for settings that are missing or cannot be used.
func Gather(ctx context.Context, reader client.Reader, hcp *hyperv1.HostedControlPlane) (nodeconfig.ClusterSettings, error) {
	g := gatherer{reader: reader, hcp: hcp}
	s := nodeconfig.ClusterSettings{}
	n := hcp.Spec.Networking
	for _, e := range n.MachineNetwork {
		s.MachineNetworks = append(s.MachineNetworks, e.CIDR)
	}
	for _, e := range n.ClusterNetwork {
		s.PodNetworks = append(s.PodNetworks, e.CIDR)
	}
	for _, e := range n.ServiceNetwork {
		s.ServiceNetworks = append(s.ServiceNetworks, e.CIDR)
	}
	if _, err := s.ClusterDNS(); err != nil {
		return s, invalid("spec.networking.serviceNetwork of HostedCluster %s has no address for the DNS of the cluster: %v", hcp.Name, err)
	}
	var err error
	if ref := hcp.Spec.AdditionalTrustBundle; ref != nil && ref.Name != "" {
		if s.TrustBundle, err = g.configMap(ctx, "spec.additionalTrustBundle", ref.Name); err != nil {
			return s, err
		}
	}
	if name := hcp.Spec.SSHKey.Name; name != "" {
		if s.SSHKey, err = g.sshKey(ctx, name); err != nil {
			return s, err
		}
		if len(s.SSHKeys()) == 0 {
			return s, invalid("spec.sshKey of HostedCluster %s: Secret %s has no SSH key under %s: add one", hcp.Name, s.SSHKey.Name, sshKeyKey)
		}
	}
	if s.Proxy, err = g.proxy(ctx); err != nil {
		return s, err
	}
	if size := len(s.TrustBundle.Text) + len(s.SSHKey.Text) + len(s.Proxy.TrustedCA.Text); size > maxText {
		return s, reconcile.Wait(retryInterval, hyperv1.UserDataTooLargeReason,
			"the trust bundles and SSH keys of HostedCluster %s have %d bytes, and EC2 accepts 16 KiB of user data: put them into the machine image", hcp.Name, size)
	}
	return s, nil
}

type gatherer struct {
	reader client.Reader
	hcp    *hyperv1.HostedControlPlane
}

func (g gatherer) proxy(ctx context.Context) (nodeconfig.Proxy, error) {
	if g.hcp.Spec.Configuration == nil || g.hcp.Spec.Configuration.Proxy == nil {
		return nodeconfig.Proxy{}, nil
	}
	spec := g.hcp.Spec.Configuration.Proxy
	proxy := nodeconfig.Proxy{HTTP: spec.HTTPProxy, HTTPS: spec.HTTPSProxy, NoProxy: spec.NoProxy}
	if spec.TrustedCA.Name == "" {
		return proxy, nil
	}
	var err error
	proxy.TrustedCA, err = g.configMap(ctx, "spec.configuration.proxy.trustedCA", spec.TrustedCA.Name)
	// The name of this copy contains the name of its source. It is part of the hash, and must stay.
	proxy.TrustedCA.Name = spec.TrustedCA.Name
	return proxy, err
}

// configMap reads a bundle of certificate authorities.
func (g gatherer) configMap(ctx context.Context, field, name string) (nodeconfig.Source, error) {
	cm := &corev1.ConfigMap{}
	source, err := g.copied(ctx, cm, "ConfigMap", name)
	if err != nil {
		return nodeconfig.Source{}, err
	}
	s := nodeconfig.Source{Name: source, Text: cm.Data[bundleKey]}
	if strings.TrimSpace(s.Text) == "" {
		return s, invalid("%s of HostedCluster %s: ConfigMap %s has no certificate authority under %s: add one", field, g.hcp.Name, source, bundleKey)
	}
	return s, nil
}

func (g gatherer) sshKey(ctx context.Context, name string) (nodeconfig.Source, error) {
	secret := &corev1.Secret{}
	source, err := g.copied(ctx, secret, "Secret", name)
	return nodeconfig.Source{Name: source, Text: string(secret.Data[sshKeyKey])}, err
}

// copied reads a copy, and returns the name of the user's object that it is a copy of. The name of the copy does not tell: copies
// that others know by a fixed name keep it when the user names another source.
func (g gatherer) copied(ctx context.Context, obj client.Object, kind, name string) (source string, err error) {
	err = g.reader.Get(ctx, client.ObjectKey{Namespace: g.hcp.Namespace, Name: name}, obj)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("getting %s %s: %w", kind, name, err)
	}
	if source = obj.GetAnnotations()[hyperv1.CopiedFromAnnotation]; source == "" {
		return "", reconcile.Wait(retryInterval, hyperv1.WaitingForReason, "waiting for the copy %s of a %s that HostedCluster %s names: see its conditions", name, kind, g.hcp.Name)
	}
	return source, nil
}

// retryInterval is how soon to gather again: not every copy is watched.
const retryInterval = 30 * time.Second

func invalid(format string, args ...any) error {
	return reconcile.Wait(retryInterval, hyperv1.InvalidNodeInputReason, format, args...)
}
