package nodepool

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// clusterWide is what the user of a cluster asks of all of its nodes and only a
// new machine can have. It names what machines are made from: a field that is
// added here must be left out where it is empty, or all nodes are replaced.
// Mirrors of images are in the configuration itself.
type clusterWide struct {
	HTTPProxy   string `json:"httpProxy,omitempty"`
	HTTPSProxy  string `json:"httpsProxy,omitempty"`
	NoProxy     string `json:"noProxy,omitempty"`
	ProxyTrust  string `json:"proxyTrust,omitempty"`
	TrustBundle string `json:"trustBundle,omitempty"`
	SSHKey      string `json:"sshKey,omitempty"`
}

// resolveClusterWide reads it where the control plane is, as user data does. A
// HostedCluster that is paused, or not valid, has not told it yet: its machines
// would be replaced by others of the old kind, and stay so.
func (r *Reconciler) resolveClusterWide(ctx context.Context, s *scope) error {
	hcp := &hyperv1.HostedControlPlane{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: s.hc.Name}, hcp)
	if apierrors.IsNotFound(err) {
		return reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for HostedCluster %s to have its control plane: its conditions say what that waits for", s.hc.Name)
	}
	if err != nil {
		return fmt.Errorf("getting HostedControlPlane %s: %w", s.hc.Name, err)
	}
	c := clusterWide{}
	if ref := hcp.Spec.AdditionalTrustBundle; ref != nil && ref.Name != "" {
		if c.TrustBundle, err = r.copiedFrom(ctx, s, &corev1.ConfigMap{}, ref.Name); err != nil {
			return err
		}
	}
	if name := hcp.Spec.SSHKey.Name; name != "" {
		if c.SSHKey, err = r.copiedFrom(ctx, s, &corev1.Secret{}, name); err != nil {
			return err
		}
	}
	s.clusterWide, err = withProxy(c, hcp).words()
	return err
}

// copiedFrom is what the user calls the source of a copy. Copies that nodes have
// keep their names when the user names another source.
func (r *Reconciler) copiedFrom(ctx context.Context, s *scope, obj client.Object, name string) (string, error) {
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: name}, obj)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("getting %s, which all nodes have: %w", name, err)
	}
	source := obj.GetAnnotations()[hyperv1.CopiedFromAnnotation]
	if source == "" {
		return "", reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for HostedCluster %s to have copied %s: its conditions say what that waits for", s.hc.Name, name)
	}
	return source, nil
}

func withProxy(c clusterWide, hcp *hyperv1.HostedControlPlane) clusterWide {
	if hcp.Spec.Configuration == nil || hcp.Spec.Configuration.Proxy == nil {
		return c
	}
	proxy := hcp.Spec.Configuration.Proxy
	c.ProxyTrust = proxy.TrustedCA.Name
	if proxy.HTTPProxy != "" || proxy.HTTPSProxy != "" {
		c.HTTPProxy, c.HTTPSProxy, c.NoProxy = proxy.HTTPProxy, proxy.HTTPSProxy, proxy.NoProxy
	}
	return c
}

// words are for a hash; none if nothing was asked for.
func (c clusterWide) words() ([]string, error) {
	if c == (clusterWide{}) {
		return nil, nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("naming what all nodes of the cluster have: %w", err)
	}
	return []string{string(text)}, nil
}
