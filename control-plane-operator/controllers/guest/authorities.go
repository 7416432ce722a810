package guest

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/flow"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// nodeAuthorities says whom nodes have to believe. Their user data says it once,
// when a machine is made; this they follow.
var nodeAuthorities = part{
	name:      "node-authorities",
	namespace: metav1.NamespacePublic,
	kinds:     []client.ObjectList{&corev1.ConfigMapList{}},
	desired: func(r *Reconciler, ctx context.Context, s *scope) ([]client.Object, error) {
		data, err := r.authorities(ctx, s)
		if err != nil {
			return nil, err
		}
		return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: names.NodeAuthorities}, Data: data}}, nil
	},
}

// authorities are those that nodes have to believe, and a name for them all.
func (r *Reconciler) authorities(ctx context.Context, s *scope) (map[string]string, error) {
	clients := &corev1.ConfigMap{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.KubeletClientCA}, clients); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", names.KubeletClientCA, err)
	}
	data := map[string]string{}
	for _, b := range []struct {
		key, from string
		text      []byte
	}{
		{names.ServerAuthorities, "Secret " + names.ControlPlaneOperatorKubeconfig, s.hosted.config.CAData},
		{names.KubeletClientAuthorities, "ConfigMap " + names.KubeletClientCA, []byte(clients.Data[pki.TrustKey])},
	} {
		certs, err := pki.ParseBundle(b.text)
		if err != nil {
			return nil, flow.Wait(waitForSecret, hyperv1.WaitingForCertificateReason, "waiting for the authorities that nodes have to believe, in %s: %v", b.from, err)
		}
		// Which of them signs is nothing to nodes: a kubelet that has them all is not started again for it.
		slices.SortFunc(certs, func(a, b *x509.Certificate) int { return bytes.Compare(a.Raw, b.Raw) })
		data[b.key] = string(pki.Bundle(certs...))
	}
	data[names.AuthoritiesRevision] = digest([]byte(data[names.ServerAuthorities]), []byte(data[names.KubeletClientAuthorities]))
	return data, nil
}

// rootCAOfPods is the ConfigMap that kube-controller-manager puts into every
// namespace, and that every pod has mounted.
const rootCAOfPods = "kube-root-ca.crt"

// believed is who vouches for the API server to pods that start now. Programs
// read it when they start, most of them once. It is what we believe but for a
// while after that has changed: kube-controller-manager hears of it later.
func (r *Reconciler) believed(ctx context.Context, s *scope) ([]byte, error) {
	ours := s.hosted.config.CAData
	if bytes.Equal(s.hosted.believed, ours) {
		return ours, nil
	}
	cm := &corev1.ConfigMap{}
	err := s.hosted.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: rootCAOfPods}, cm)
	if apierrors.IsNotFound(err) {
		return ours, nil // no pod can start before it is there
	}
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", rootCAOfPods, err)
	}
	s.hosted.believed = []byte(cm.Data[pki.TrustKey])
	return s.hosted.believed, nil
}
