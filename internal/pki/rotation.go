package pki

import "time"

// A Turn is what a rotation has come to.
type Turn string

// The turns of a rotation, in order. Between two of them everybody who trusts
// the signer, or has a certificate of it, gets what has changed.
const (
	// NoTurn: nothing has changed.
	NoTurn Turn = ""
	// Introduced: there is a next authority, which everybody begins to trust.
	Introduced Turn = "Introduced"
	// Switched: it signs, and the one before is still trusted.
	Switched Turn = "Switched"
	// Finished: the one before is not trusted any more.
	Finished Turn = "Finished"
)

// A Pace is how long the parts of a rotation take at least.
type Pace struct {
	// Settle is how long it takes until a program has read a file that has
	// changed in a Secret.
	Settle time.Duration
	// Lives is how long certificates live that others sign with the key of the
	// authority: they are not renewed by its rotation.
	Lives time.Duration
}

// authorityTerms are those by which authorities renew themselves: what they
// sign must not outlive them.
var authorityTerms = Terms{Validity: authorityLife, Renewal: 1.0 / 3}

// Advance takes the next step of a rotation if it is time to. It is asked for by
// another value of asked, and by age. rolledOut says that all who have something
// of this signer have what it is now.
//
//	               asked        rolled out      rolled out
//	   steady ──────────► Next ────────────► Old ──────────► steady
//	signs:    current      current      what was next        the same
//	trusted:  current      both         both                 what signs
//
// A rotation that is asked for while old certificates are only waited for begins
// at once; one that is asked for in the middle of another waits.
func (s *Signer) Advance(name, asked string, rolledOut bool, pace Pace, now time.Time) (Turn, error) {
	settled := rolledOut && !now.Before(s.Since.Add(pace.Settle))
	switch {
	case s.Next != nil && settled:
		s.Old = append(s.Old, s.Current.Certificate)
		s.Current, s.Next, s.Since, s.Retired = s.Next, nil, now, now
		return Switched, nil
	case s.Next != nil:
		return NoTurn, nil
	case len(s.Old) > 0 && settled && !now.Before(s.gone(pace.Lives)):
		s.Old = nil
		return Finished, nil
	case len(s.Old) > 0 && !settled, !s.wants(asked, now):
		return NoTurn, nil
	}
	next, err := NewAuthority(name, now)
	if err != nil {
		return NoTurn, err
	}
	s.Next, s.Asked, s.Since = next, asked, now
	return Introduced, nil
}

// wants says whether it is time for another authority.
func (s *Signer) wants(asked string, now time.Time) bool {
	return asked != "" && asked != s.Asked || !authorityTerms.due(s.Current.Certificate).After(now)
}

// Rotating says whether somebody has to get what has changed.
func (s *Signer) Rotating() bool { return s.Next != nil || len(s.Old) > 0 }

// Due is when Advance may have something to do that nothing but time tells of.
func (s *Signer) Due(pace Pace, now time.Time) time.Time {
	settled, gone := s.Since.Add(pace.Settle), s.gone(pace.Lives)
	switch {
	case !s.Rotating():
		return authorityTerms.due(s.Current.Certificate)
	case settled.After(now):
		return settled
	case s.Next == nil && gone.After(now):
		return gone
	}
	return now.Add(pace.Settle) // nobody may tell that all is rolled out
}
