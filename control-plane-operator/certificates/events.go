package certificates

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// Reasons of events.
const (
	authorityReplaced = "CertificateAuthorityReplaced"
	authorityRotation = "CertificateAuthorityRotation"
)

// event is an event that is recorded after the change is written.
type event struct{ kind, reason, text string }

func (p *plan) addEvent(kind, reason, format string, args ...any) {
	p.events = append(p.events, event{kind, reason, fmt.Sprintf(format, args...)})
}

func (p *plan) addRotationEvent(signer string, turn pki.Turn) {
	switch turn {
	case pki.Introduced:
		p.addEvent(corev1.EventTypeNormal, authorityRotation, "created the next certificate authority of %s; it signs as soon as it is trusted everywhere", signer)
	case pki.Switched:
		p.addEvent(corev1.EventTypeNormal, authorityRotation, "the new certificate authority of %s signs; the previous one is still trusted", signer)
	case pki.Finished:
		p.addEvent(corev1.EventTypeNormal, authorityRotation, "the old certificate authority of %s is no longer trusted", signer)
	case pki.NoTurn:
	}
}
