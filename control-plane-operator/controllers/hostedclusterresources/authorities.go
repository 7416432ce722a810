package hostedclusterresources

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// nodeAuthorities publishes the authorities that nodes trust. User data has them only once, when a machine is created.
// Nodes follow this ConfigMap.
var nodeAuthorities = part{
	name:      "node-authorities",
	namespace: metav1.NamespacePublic,
	kinds:     []client.ObjectList{&corev1.ConfigMapList{}},
	desired: func(r *Reconciler, ctx context.Context, s *scope) ([]client.Object, error) {
		data, err := r.authorities(ctx, s)
		if err == nil {
			err = r.publishServer(ctx, s, data)
		}
		if err != nil {
			return nil, err
		}
		return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: names.NodeAuthorities}, Data: data}}, nil
	},
}

// authorities returns the authorities that nodes trust, with their revision.
func (r *Reconciler) authorities(ctx context.Context, s *scope) (map[string]string, error) {
	clients := &corev1.ConfigMap{}
	if err := certsecret.GetBundle(ctx, r.Client, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.KubeletClientCA}, clients); client.IgnoreNotFound(err) != nil {
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
			return nil, reconcile.Wait(waitForSecret, hyperv1.WaitingForCertificateReason, "waiting for the authorities that nodes trust in %s: %v", b.from, err)
		}
		// The order of the authorities has no meaning for nodes: sorting prevents a restart of kubelets that have all of
		// them.
		slices.SortFunc(certs, func(a, b *x509.Certificate) int { return bytes.Compare(a.Raw, b.Raw) })
		data[b.key] = string(pki.Bundle(certs...))
	}
	data[names.AuthoritiesRevision] = target.Digest([]byte(data[names.ServerAuthorities]), []byte(data[names.KubeletClientAuthorities]))
	return data, r.signAuthorities(ctx, s, data)
}

// signAuthorities signs the nodes' authorities with the authority of the API server, which nodes trust already in each
// step of a rotation. The serial number is the time of the latest step, so that nodes do not accept older ones. If users
// bring the certificates there may be no key. Then nodes keep the authorities from their user data.
func (r *Reconciler) signAuthorities(ctx context.Context, s *scope, data map[string]string) error {
	var serial int64
	var by *pki.Authority
	for _, name := range []string{names.KubeletClientSigner, names.RootCA} {
		secret := &corev1.Secret{}
		if err := certsecret.Get(ctx, r.Client, client.ObjectKey{Namespace: s.hcp.Namespace, Name: name}, secret); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading Secret %s: %w", name, err)
		}
		signer, err := pki.DecodeSigner(secret.Data)
		if by = nil; err == nil {
			by, serial = signer.Current, max(serial, signer.Since.Unix())
		}
	}
	if by == nil {
		return nil
	}
	data[names.AuthoritiesSerial] = strconv.FormatInt(serial, 10)
	signature, err := by.Sign([]byte(names.SignedAuthorities(data)))
	if err != nil {
		return fmt.Errorf("signing the authorities of nodes: %w", err)
	}
	data[names.AuthoritiesSignature] = base64.StdEncoding.EncodeToString(signature)
	return nil
}

// publishServer adds the address of the API server, which nodes take over if it answers. It has no serial number: an
// earlier address that is served again by someone else has no certificate of this cluster.
func (r *Reconciler) publishServer(ctx context.Context, s *scope, data map[string]string) error {
	at := apiHost(s.hcp)
	if at.Host == "" || data[names.AuthoritiesSignature] == "" {
		return nil // nodes accept only what is signed
	}
	secret := &corev1.Secret{}
	if err := certsecret.Get(ctx, r.Client, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.RootCA}, secret); err != nil {
		return fmt.Errorf("reading Secret %s: %w", names.RootCA, err)
	}
	signer, err := pki.DecodeSigner(secret.Data)
	if err != nil {
		return fmt.Errorf("reading the authority in Secret %s: %w", names.RootCA, err)
	}
	signature, err := signer.Current.Sign([]byte(names.SignedServer(apiURL(at))))
	if err != nil {
		return fmt.Errorf("signing the address of the API server for nodes: %w", err)
	}
	data[names.ServerURL], data[names.ServerURLSignature] = apiURL(at), base64.StdEncoding.EncodeToString(signature)
	return nil
}

// rootCAOfPods is the ConfigMap that kube-controller-manager writes to every namespace, and that every pod mounts.
const rootCAOfPods = "kube-root-ca.crt"

// podAuthorities returns the API server's authorities for pods that start now. Most programs read them only at their start.
// They differ from the operator's authorities for a while after a change, because kube-controller-manager publishes them
// later.
func (r *Reconciler) podAuthorities(ctx context.Context, s *scope) ([]byte, error) {
	ours := s.hosted.config.CAData
	if bytes.Equal(s.hosted.podAuthorities, ours) {
		return ours, nil
	}
	cm := &corev1.ConfigMap{}
	err := s.hosted.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: rootCAOfPods}, cm)
	if apierrors.IsNotFound(err) {
		return ours, nil // no pod can start before it exists
	}
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", rootCAOfPods, err)
	}
	s.hosted.podAuthorities = []byte(cm.Data[pki.TrustKey])
	return s.hosted.podAuthorities, nil
}
