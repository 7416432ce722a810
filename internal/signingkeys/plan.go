package signingkeys

import (
	"fmt"
	"slices"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// Facts are the observed and the desired state of a cluster.
type Facts struct {
	Now time.Time
	// Requested is the user's last request for a rotation, and Retire the ID of the key to retire at once, or empty.
	Requested, Retire string
	// UserKey is the key of the user. Without it, Generate returns a new key for each rotation.
	UserKey  *Key
	Generate func() (Key, error)
	// Created is when the Secret was created.
	Created time.Time
	// MaxAge is the age at which a generated key is replaced; 0 for never.
	MaxAge time.Duration
	// Publication is how long a key is published before it signs.
	Publication time.Duration
	// TokenLife is the longest validity that a token can be requested with.
	TokenLife time.Duration

	// Loaded is set when all programs of the control plane have loaded the Secret with these keys.
	Loaded bool
	// Stored is set when the documents with these keys are stored. Rewritten is set when they were not before: a program may have
	// cached what was there.
	Stored, Rewritten bool
	// AsksAWS is set if AWS has to accept the next key, and TrustedByAWS is the ID of the key of which it has accepted a token.
	AsksAWS      bool
	TrustedByAWS string
	// Tokens are reports about tokens of old keys.
	Tokens []hyperv1.OldSigningKeyTokens
}

// emergency reports whether the user wants the key that signs to be retired at once.
func (f Facts) emergency(s *State) bool { return f.Retire == s.Signing.ID }

// A Step is a change of the state. Its Reason is empty if users need not know it.
type Step struct{ Reason, Message string }

func event(reason, format string, args ...any) *Step {
	return &Step{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// silent is a change of a time or of a limit.
func silent() *Step { return &Step{} }

// New returns the state of a new cluster. A request that it was created with is fulfilled.
func New(key Key, f Facts) *State {
	return &State{Signing: key, Life: f.TokenLife, Requested: f.Requested}
}

// Next returns the next state and the step that leads to it; nil if there is none now.
func Next(s *State, f Facts) (*State, *Step, error) {
	for _, take := range []func(*State, Facts) (*Step, error){followUser, confirmRetired, advance, confirmSwitch, retire, start, raiseLimit} {
		next := s.clone()
		step, err := take(next, f)
		if err != nil {
			return nil, nil, err
		}
		if step == nil {
			continue
		}
		if step.Reason != "" {
			next.Since = whole(f.Now)
		}
		return next, step, next.SetExtra(next.Extra) // a further key may have become a key of the state
	}
	return nil, nil, nil
}

// followUser begins a rotation to the key that the user wants.
func followUser(s *State, f Facts) (*Step, error) {
	switch {
	case f.UserKey == nil, s.Next != nil && s.Next.ID == f.UserKey.ID, s.Next == nil && s.Signing.ID == f.UserKey.ID:
		return nil, nil
	case s.Signing.ID == f.UserKey.ID:
		withdrawn := s.Next.ID
		s.withdraw()
		return event("SigningKeyWithdrawn", "key %s does not replace key %s, because the user has reverted the change", short(withdrawn), short(s.Signing.ID)), nil
	}
	return s.begin(*f.UserKey), nil
}

// begin publishes a key. A key that was about to follow has signed nothing. A key may have signed before.
func (s *State) begin(key Key) *Step {
	isKey := func(o Old) bool { return o.ID == key.ID }
	if len(s.Old) >= maxOld && !slices.ContainsFunc(s.Old, isKey) {
		return nil
	}
	if s.Next != nil {
		s.withdraw()
	}
	s.nextLife = 0
	if i := slices.IndexFunc(s.Old, isKey); i >= 0 {
		s.nextLife = s.Old[i].Life
		s.Old = slices.Delete(s.Old, i, i+1)
	}
	s.Retired = slices.DeleteFunc(s.Retired, func(id string) bool { return id == key.ID })
	s.Next, s.Published = &key, time.Time{}
	return event("SigningKeyPublished", "key %s for service account tokens is published, and will replace key %s", short(key.ID), short(s.Signing.ID))
}

// withdraw drops the next key before it has signed. If it has signed earlier, its tokens are still to be accepted.
func (s *State) withdraw() {
	if s.nextLife > 0 {
		s.Old = append(s.Old, Old{ID: s.Next.ID, Public: s.Next.Public, Life: s.nextLife})
	} else {
		s.Retired = append(s.Retired, s.Next.ID)
	}
	s.Next, s.Published, s.nextLife = nil, time.Time{}, 0
}

// confirmRetired ends a rotation when no API server and no document has the retired keys.
func confirmRetired(s *State, f Facts) (*Step, error) {
	if len(s.Retired) == 0 || !f.Loaded || !f.Stored {
		return nil, nil
	}
	kept, err := webidentity.KeyIDs(s.Extra) // the user accepts them still
	if err != nil && len(s.Extra) > 0 {
		return nil, err
	}
	retired := slices.DeleteFunc(s.Retired, func(id string) bool { return slices.Contains(kept, id) })
	s.Retired = nil
	if len(retired) == 0 {
		return silent(), nil
	}
	return event("SigningKeyRetired", "tokens of key %s are not accepted any more", shorts(retired)), nil
}

// verified reports whether all programs that verify tokens can know the next key.
func verified(s *State, f Facts) bool {
	return f.Loaded && f.Stored && (f.emergency(s) || !f.AsksAWS || f.TrustedByAWS == s.Next.ID)
}

// advance makes the next key sign.
func advance(s *State, f Facts) (*Step, error) {
	switch {
	case s.Next == nil:
		return nil, nil
	case f.Rewritten && !s.Published.IsZero():
		s.Published = time.Time{}
		return silent(), nil
	case f.Rewritten, !verified(s, f):
		return nil, nil
	case s.Published.IsZero():
		s.Published = whole(f.Now)
		return silent(), nil
	case !f.emergency(s) && f.Now.Before(s.Published.Add(f.Publication)):
		return nil, nil
	}
	s.Old = append(s.Old, Old{ID: s.Signing.ID, Public: s.Signing.Public, Life: s.Life})
	s.Signing, s.SigningSince, s.Life = *s.Next, whole(f.Now), max(f.TokenLife, s.nextLife)
	s.Next, s.Published, s.nextLife = nil, time.Time{}, 0
	return event("SigningKeySwitched", "key %s signs service account tokens from now on", short(s.Signing.ID)), nil
}

// confirmSwitch records when no program signed with a key any more.
func confirmSwitch(s *State, f Facts) (*Step, error) {
	if !f.Loaded || !s.switching() {
		return nil, nil
	}
	for i := range s.Old {
		if s.Old[i].Replaced.IsZero() {
			s.Old[i].Replaced = whole(f.Now)
		}
	}
	return event("SigningKeyReplaced", "all service account tokens are signed with key %s; earlier tokens are accepted until they expire", short(s.Signing.ID)), nil
}

// switching reports whether a program may still sign with an old key.
func (s *State) switching() bool {
	return slices.ContainsFunc(s.Old, func(o Old) bool { return o.Replaced.IsZero() })
}

// retire removes a key whose tokens have expired, or that the user wants to be removed.
func retire(s *State, f Facts) (*Step, error) {
	i := slices.IndexFunc(s.Old, func(o Old) bool { return f.retires(o) })
	if i < 0 {
		return nil, nil
	}
	id := s.Old[i].ID
	if f.Retire == id {
		s.RetireRequested = id
	}
	s.Old, s.Retired = slices.Delete(s.Old, i, i+1), append(s.Retired, id)
	return event("SigningKeyRetiring", "key %s is removed from the API servers and from the documents", short(id)), nil
}

func (f Facts) retires(o Old) bool {
	if o.Replaced.IsZero() {
		return false
	}
	if f.Retire == o.ID {
		return true
	}
	tokens := f.tokens(o.ID)
	if f.Now.Before(o.Due()) || tokens == nil {
		return false
	}
	return count(tokens.Secrets) == 0 && (count(tokens.Pods) == 0 || !f.Now.Before(o.PodsDue()))
}

// tokens returns the report about the tokens of a key, or nil.
func (f Facts) tokens(id string) *hyperv1.OldSigningKeyTokens {
	i := slices.IndexFunc(f.Tokens, func(t hyperv1.OldSigningKeyTokens) bool { return t.KeyID == id })
	if i < 0 {
		return nil
	}
	return &f.Tokens[i]
}

func count(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// start begins a rotation to a generated key.
func start(s *State, f Facts) (*Step, error) {
	leaked := s.Next != nil && f.Retire == s.Next.ID
	if f.UserKey != nil || !leaked && (s.Next != nil || s.switching() || len(s.Old) >= maxOld || !f.wants(s)) {
		return nil, nil
	}
	key, err := f.Generate()
	if err != nil {
		return nil, err
	}
	if leaked {
		s.RetireRequested = s.Next.ID
	}
	if f.Requested != "" {
		s.Requested = f.Requested
	}
	return s.begin(key), nil
}

// wants reports whether a generated key is to be replaced.
func (f Facts) wants(s *State) bool {
	since := s.SigningSince
	if since.IsZero() {
		since = f.Created
	}
	return f.requests(s) || f.emergency(s) || f.MaxAge > 0 && !f.Now.Before(since.Add(f.MaxAge))
}

// requests reports whether there is a new request of the user.
func (f Facts) requests(s *State) bool { return f.Requested != "" && f.Requested != s.Requested }

// raiseLimit records the longest validity of the tokens that may be signed with a key. A lower limit has no effect on tokens that
// exist, and so only on the next key.
func raiseLimit(s *State, f Facts) (*Step, error) {
	raised := f.TokenLife > s.Life
	s.Life = max(s.Life, f.TokenLife)
	for i := range s.Old {
		if o := &s.Old[i]; o.Replaced.IsZero() && f.TokenLife > o.Life {
			o.Life, raised = f.TokenLife, true
		}
	}
	if !raised {
		return nil, nil
	}
	return silent(), nil
}
