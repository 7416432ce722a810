package authorities

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ForNodes returns the data of the ConfigMap with the authorities that nodes trust, signed, with their revision.
func ForNodes(ctx context.Context, management client.Client, hcp *hyperv1.HostedControlPlane, cluster *connection.Cluster) (map[string]string, error) {
	clients := &corev1.ConfigMap{}
	if err := certsecret.GetBundle(ctx, management, client.ObjectKey{Namespace: hcp.Namespace, Name: names.KubeletClientCA}, clients); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", names.KubeletClientCA, err)
	}
	data := map[string]string{}
	for _, b := range []struct {
		key, from string
		text      []byte
	}{
		{names.ServerAuthorities, "Secret " + names.ControlPlaneOperatorKubeconfig, cluster.Config.CAData},
		{names.KubeletClientAuthorities, "ConfigMap " + names.KubeletClientCA, []byte(clients.Data[pki.TrustKey])},
	} {
		certs, err := pki.ParseBundle(b.text)
		if err != nil {
			return nil, reconcile.Wait(connection.SecretInterval, hyperv1.WaitingForCertificateReason, "waiting for the authorities that nodes trust in %s: %v", b.from, err)
		}
		// The order of the authorities has no meaning for nodes: sorting prevents a restart of kubelets that have all of
		// them.
		slices.SortFunc(certs, func(a, b *x509.Certificate) int { return bytes.Compare(a.Raw, b.Raw) })
		data[b.key] = string(pki.Bundle(certs...))
	}
	data[names.AuthoritiesRevision] = target.Digest([]byte(data[names.ServerAuthorities]), []byte(data[names.KubeletClientAuthorities]))
	return data, sign(ctx, management, hcp, data)
}

// sign signs the nodes' authorities with the authority of the API server, which nodes trust already in each
// step of a rotation. The serial number is the time of the latest step, so that nodes do not accept older ones. If users
// bring the certificates there may be no key. Then nodes keep the authorities from their user data.
func sign(ctx context.Context, management client.Client, hcp *hyperv1.HostedControlPlane, data map[string]string) error {
	var serial int64
	var by *pki.Authority
	for _, name := range []string{names.KubeletClientSigner, names.RootCA} {
		secret := &corev1.Secret{}
		if err := certsecret.Get(ctx, management, client.ObjectKey{Namespace: hcp.Namespace, Name: name}, secret); client.IgnoreNotFound(err) != nil {
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

// AddServer adds the address of the API server to data of ForNodes. Nodes take it over if it answers. It has no serial number: an
// earlier address that is served again by someone else has no certificate of this cluster.
func AddServer(ctx context.Context, management client.Client, hcp *hyperv1.HostedControlPlane, data map[string]string) error {
	at := publishing.API(hcp)
	if at.Host == "" || data[names.AuthoritiesSignature] == "" {
		return nil // nodes accept only signed content
	}
	secret := &corev1.Secret{}
	if err := certsecret.Get(ctx, management, client.ObjectKey{Namespace: hcp.Namespace, Name: names.RootCA}, secret); err != nil {
		return fmt.Errorf("reading Secret %s: %w", names.RootCA, err)
	}
	signer, err := pki.DecodeSigner(secret.Data)
	if err != nil {
		return fmt.Errorf("reading the authority in Secret %s: %w", names.RootCA, err)
	}
	signature, err := signer.Current.Sign([]byte(names.SignedServer(publishing.URL(at))))
	if err != nil {
		return fmt.Errorf("signing the address of the API server for nodes: %w", err)
	}
	data[names.ServerURL], data[names.ServerURLSignature] = publishing.URL(at), base64.StdEncoding.EncodeToString(signature)
	return nil
}
