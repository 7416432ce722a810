package certificates

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A plan is the desired state of one reconcile.
type plan struct {
	table
	hcp   *hyperv1.HostedControlPlane
	facts Facts
	terms pki.Terms
	// stepDuration is the shortest duration of a rotation step.
	stepDuration time.Duration
	now          time.Time

	there found
	// current holds the desired signers by name.
	current map[string]*pki.Signer
	// authorities are the desired Secrets of the signers, and objects the desired objects that depend on them.
	authorities, objects []client.Object
	// shared are the shared Secrets among them, by name.
	shared map[string]*corev1.Secret
	// sharedBundles is the shared ConfigMap among them.
	sharedBundles *corev1.ConfigMap
	// differs is true when an existing object differs from the desired one.
	differs bool
	// due is the time of the next reconcile.
	due time.Time
	// issued lists the certificates that are issued again, with the reasons.
	issued []issue
	events []event
}

type issue struct{ secret, why string }

// make computes the plan. It computes the objects twice only if a rotation advances.
func (p *plan) make() error {
	if err := p.findSigners(); err != nil {
		return err
	}
	if err := p.compute(); err != nil {
		return err
	}
	if !p.differs {
		turned, err := p.advance()
		if err != nil || !turned {
			return err
		}
		return p.compute()
	}
	// The trusted or served certificates are only being written now, perhaps long after the step began. The duration of
	// the step starts again.
	for _, s := range p.current {
		if s.Rotating() {
			s.Since = p.now
		}
	}
	return p.compute()
}

// findSigners reads the authorities, and creates missing ones.
func (p *plan) findSigners() error {
	p.current = map[string]*pki.Signer{}
	for _, line := range p.signers {
		s, err := p.findSigner(line.name)
		if err != nil {
			return err
		}
		if line.lives > 0 {
			before := line.lives // only we have had the key of a new authority
			if _, exists := p.there.secrets[line.name]; exists {
				before = legacyNodeCertificateRetention
			}
			s.Limit(line.lives, before, p.now)
		}
		p.current[line.name] = s
	}
	return nil
}

func (p *plan) findSigner(name string) (*pki.Signer, error) {
	requested := p.hcp.Annotations[hyperv1.RotateCertificatesAnnotation]
	data, exists := p.there.secrets[name]
	if !exists {
		return pki.NewSigner(name, requested, p.now)
	}
	s, err := pki.DecodeSigner(data)
	secret, content := p.place(name)
	var lost *pki.LostKeyError
	switch {
	case errors.As(err, &lost):
		p.addEvent(corev1.EventTypeWarning, authorityReplaced, "the private key of %s in %s cannot be read: a new certificate authority replaces the previous one", name, secret)
		return pki.NewSigner(name, requested, p.now, lost.Trusted...)
	case err != nil:
		return nil, reconcile.Block(hyperv1.CertificateAuthorityBrokenReason,
			"%s has the private key of certificate authority %s but not its certificate (%v): restore the certificate, or delete %s to get a new authority", secret, name, err, content)
	case s.Expired(p.now):
		p.addEvent(corev1.EventTypeWarning, authorityReplaced, "the certificate authority %s in %s has expired: a new one replaces it", name, secret)
		return pki.NewSigner(name, requested, p.now)
	}
	return s, nil
}

// advance takes the next step of every rotation that is due.
func (p *plan) advance() (turned bool, err error) {
	for _, line := range p.signers {
		turn, err := p.advanceSigner(line)
		if err != nil {
			return turned, fmt.Errorf("rotating %s: %w", line.name, err)
		}
		turned = turned || turn != pki.NoTurn
		p.addRotationEvent(line.name, turn)
	}
	return turned, nil
}

func (p *plan) advanceSigner(line signer) (pki.Turn, error) {
	s := p.current[line.name]
	if r := p.facts.Revocation; line.name == names.CustomerBreakGlassSigner && r.ID != "" {
		return s.Revoke(line.name, r.ID, r.Trusted, p.now)
	}
	rolledOut := p.facts.RolledOut != nil && p.facts.RolledOut(line.name)
	return s.Advance(line.name, p.hcp.Annotations[hyperv1.RotateCertificatesAnnotation], rolledOut, p.pace(line.lives), p.now)
}

func (p *plan) pace(lives time.Duration) pki.Timing {
	return pki.Timing{Propagation: p.stepDuration, Lives: lives}
}

// compute returns the desired objects for the current signers.
func (p *plan) compute() error {
	p.authorities, p.objects, p.differs, p.issued, p.due = nil, nil, false, nil, time.Time{}
	p.shared, p.sharedBundles = map[string]*corev1.Secret{}, nil
	for _, line := range p.signers {
		s := p.current[line.name]
		data, err := s.Data()
		if err != nil {
			return fmt.Errorf("writing signer %s: %w", line.name, err)
		}
		p.addSecret(&p.authorities, line.name, corev1.SecretTypeOpaque, nil, data)
		p.requeueBefore(s.Due(p.pace(line.lives), p.now))
	}
	for _, b := range p.bundles {
		p.bundle(b)
	}
	for _, l := range p.leaves(p.hcp, p.facts) {
		if err := p.leaf(l); err != nil {
			return err
		}
	}
	for _, k := range p.kubeconfigs(p.hcp, p.facts) {
		if err := p.kubeconfig(k); err != nil {
			return err
		}
	}
	return p.kubeadmin()
}

func (p *plan) leaf(l leaf) error {
	have, err := p.certificate(l, p.there.secrets[l.secret])
	if err != nil {
		return err
	}
	p.addSecret(&p.objects, l.secret, corev1.SecretTypeTLS, nil, have.Data(p.current[l.signer].Trust()))
	return nil
}

func (p *plan) kubeconfig(k kubeconfig) error {
	if k.host == "" {
		return nil
	}
	l := leaf{secret: k.secret, signer: names.ClientSigner, Request: k.Request}
	have, err := p.certificate(l, pki.CertificateIn(p.there.secrets[k.secret][k.key]))
	if err != nil {
		return err
	}
	trust := p.current[names.RootCA].Trust()
	if k.outside {
		trust = append(trust, p.userServingCertificates()...)
	}
	text, err := pki.Kubeconfig(k.server(), trust, have)
	if err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", k.secret, err)
	}
	p.addSecret(&p.objects, k.secret, corev1.SecretTypeOpaque, k.labels, map[string][]byte{k.key: text})
	return nil
}

// certificate returns the certificate in data if it is still valid, and a new one otherwise.
func (p *plan) certificate(l leaf, data map[string][]byte) (*pki.Leaf, error) {
	by, terms := p.current[l.signer].Current, termsOfLeaf(p.hcp, l, p.terms)
	have, reason := pki.Evaluate(data, l.Request, by, terms, p.now)
	if reason != "" {
		var err error
		if have, err = by.Issue(l.Request, terms, p.now); err != nil {
			return nil, fmt.Errorf("issuing %s: %w", l.secret, err)
		}
		p.issued = append(p.issued, issue{l.secret, reason})
	}
	p.requeueBefore(have.Due(terms))
	return have, nil
}

// rotating returns whether an authority is being replaced.
func (p *plan) rotating() bool {
	for _, s := range p.current {
		if s.Rotating() {
			return true
		}
	}
	return false
}

// requeueBefore requeues the reconcile at this time at the latest.
func (p *plan) requeueBefore(at time.Time) {
	if p.due.IsZero() || at.Before(p.due) {
		p.due = at
	}
}
