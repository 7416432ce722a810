package certificates

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// A Validity is the validity of one control plane certificate.
type Validity struct {
	// Secret is the certificate's name: the name of its Secret, unless the Secret is shared.
	Secret string
	// Expires is the end of the certificate. Renewal is when the operator issues it again; it is zero for a certificate that users bring.
	Expires, Renewal time.Time
}

// everything lists all certificates and kubeconfigs that a control plane can have. Those that it does not have do not exist.
var everything = Facts{API: target.Host{Name: "api", Port: 1}, MetricsServer: true, Ingress: true, ImageRegistry: true, PodIdentityWebhook: true, EBSCSIController: true, CloudController: true, Scheduler: true}

// FirstExpiry is when the first certificate of hcp expires; zero: there is none.
func (c *Certificates) FirstExpiry(ctx context.Context, hcp *hyperv1.HostedControlPlane) (first time.Time, _ error) {
	certs, err := c.Validities(ctx, hcp)
	for _, cert := range certs {
		if first.IsZero() || cert.Expires.Before(first) {
			first = cert.Expires
		}
	}
	return first, err
}

// Validities returns the certificates of hcp that exist, in the order of their Secrets. It reads the cache, so that it also works while the reconcile is
// paused or fails, when certificates are not renewed. A certificate that cannot be parsed is left out: Ensure replaces it.
func (c *Certificates) Validities(ctx context.Context, hcp *hyperv1.HostedControlPlane) ([]Validity, error) {
	list := &corev1.SecretList{}
	if err := c.Client.List(ctx, list, client.InNamespace(hcp.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Secrets with certificates: %w", err)
	}
	secrets := map[string]*corev1.Secret{}
	for i := range list.Items {
		secrets[list.Items[i].Name] = &list.Items[i]
	}
	certsecret.Expand(secrets)
	var found []Validity
	add := func(secret string, terms pki.Terms, text func(map[string][]byte) []byte) {
		if s := secrets[secret]; s != nil {
			if v, ok := c.parsed.validity(s, terms, text); ok {
				found = append(found, v)
			}
		}
	}
	terms, none := termsOf(hcp), pki.Terms{}
	authorities := pki.AuthorityTerms
	if hcp.Annotations[hyperv1.DisablePKIReconciliationAnnotation] == yes {
		terms, authorities = none, none
	}
	for _, s := range c.table.signers {
		add(s.name, authorities, certificate)
	}
	for _, l := range c.table.leaves(hcp, everything) {
		own := terms
		if own != none {
			own = termsOfLeaf(hcp, l, terms)
		}
		add(l.secret, own, certificate)
	}
	for _, k := range c.table.kubeconfigs(hcp, everything) {
		own := terms
		if k.User == names.AdminUser && own != none {
			own = adminTerms(hcp)
		}
		add(k.secret, own, func(data map[string][]byte) []byte { return certificate(pki.CertificateIn(data[k.key])) })
	}
	if cfg := hcp.Spec.Configuration; cfg != nil && cfg.APIServer != nil {
		for _, named := range cfg.APIServer.ServingCerts.NamedCertificates {
			add(named.ServingCertificate.Name, none, certificate)
		}
	}
	c.parsed.keep(secrets)
	slices.SortFunc(found, func(a, b Validity) int { return cmp.Compare(a.Secret, b.Secret) })
	return found, nil
}

func certificate(data map[string][]byte) []byte { return data[corev1.TLSCertKey] }

// parsed caches certificates by Secret, so that a scrape parses only changed Secrets.
type parsed struct {
	mutex sync.Mutex
	known map[string]parsedSecret
}

type parsedSecret struct {
	version string
	// certificate is nil if the Secret has none.
	certificate *x509.Certificate
}

func (p *parsed) validity(s *corev1.Secret, terms pki.Terms, text func(map[string][]byte) []byte) (v Validity, ok bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	cached := p.known[s.Name]
	if cached.version != versionOf(s) {
		cached = parsedSecret{version: versionOf(s)}
		if certs, err := pki.ParseBundle(text(s.Data)); err == nil && len(certs) > 0 {
			cached.certificate = certs[0]
		}
		if p.known == nil {
			p.known = map[string]parsedSecret{}
		}
		p.known[s.Name] = cached
	}
	if cached.certificate == nil {
		return Validity{}, false
	}
	v = Validity{Secret: s.Name, Expires: cached.certificate.NotAfter}
	if terms != (pki.Terms{}) {
		v.Renewal = (&pki.Leaf{Certificate: cached.certificate}).Due(terms)
	}
	return v, true
}

// keep forgets all other Secrets.
func (p *parsed) keep(secrets map[string]*corev1.Secret) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	maps.DeleteFunc(p.known, func(name string, _ parsedSecret) bool { return secrets[name] == nil })
}
