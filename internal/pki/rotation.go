package pki

import "time"

// A Turn is a step of a rotation.
type Turn string

// The steps of a rotation, in order. Between two steps, every program that trusts the signer, or uses a certificate from
// it, gets the change.
const (
	// NoTurn: the signer is unchanged.
	NoTurn Turn = ""
	// Introduced: there is a next authority, and programs begin to trust it.
	Introduced Turn = "Introduced"
	// Switched: the next authority signs, and the former one is still trusted.
	Switched Turn = "Switched"
	// Finished: the former authority is not trusted any more.
	Finished Turn = "Finished"
)

// Timing holds the minimum durations of a rotation.
type Timing struct {
	// Propagation is how long it takes until a program has reloaded a file that has changed in a Secret.
	Propagation time.Duration
	// Lives is the validity of certificates that other programs sign with the key of the authority. A rotation does not renew
	// them.
	Lives time.Duration
}

// AuthorityTerms are the terms of authorities themselves, which must outlive their certificates.
var AuthorityTerms = Terms{Validity: authorityLife, Renewal: 1.0 / 3}

// Advance takes the next step of a rotation if it is time for it. A rotation starts with a new value of requested, or when the current
// authority is old. rolledOut is true when all programs use the current state of the signer.
//
//	            Introduced           Switched              Finished
//	   steady ──────────► Next ────────────► Old ──────────► steady
//	signs:    current      current      the former next      the same
//	trusted:  current      both         both                 the signing one
//
// A rotation that is requested while old certificates only have to expire starts at once. A rotation that is requested during
// another step waits.
func (s *Signer) Advance(name, requested string, rolledOut bool, timing Timing, now time.Time) (Turn, error) {
	propagated := rolledOut && !now.Before(s.Since.Add(timing.Propagation))
	switch {
	case s.Next != nil && propagated:
		s.Old = append(s.Old, s.Current.Certificate)
		s.Current, s.Next, s.Since, s.Retired = s.Next, nil, now, now
		return Switched, nil
	case s.Next != nil:
		return NoTurn, nil
	case len(s.Old) > 0 && propagated && !now.Before(s.gone(timing.Lives)):
		s.Old = nil
		return Finished, nil
	case len(s.Old) > 0 && !propagated, !s.wants(requested, now):
		return NoTurn, nil
	}
	next, err := NewAuthority(name, now)
	if err != nil {
		return NoTurn, err
	}
	s.Next, s.Asked, s.Since = next, requested, now
	return Introduced, nil
}

// wants reports whether it is time for another authority.
func (s *Signer) wants(requested string, now time.Time) bool {
	return requested != "" && requested != s.Asked || !AuthorityTerms.due(s.Current.Certificate).After(now)
}

// Rotating reports whether a change is still being propagated.
func (s *Signer) Rotating() bool { return s.Next != nil || len(s.Old) > 0 }

// Due returns the next time at which Advance may have something to do without another event.
func (s *Signer) Due(timing Timing, now time.Time) time.Time {
	propagated, expiry := s.Since.Add(timing.Propagation), s.gone(timing.Lives)
	switch {
	case !s.Rotating():
		return AuthorityTerms.due(s.Current.Certificate)
	case propagated.After(now):
		return propagated
	case s.Next == nil && expiry.After(now):
		return expiry
	}
	return now.Add(timing.Propagation) // no event may report that all is rolled out
}
