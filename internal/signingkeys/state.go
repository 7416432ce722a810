package signingkeys

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

const (
	// MaxTokenLife is the default of the longest validity of a requested token. It is also the validity of the tokens that kubelets
	// request for pods by default: kube-apiserver extends them from one hour, for programs that do not read a token again.
	MaxTokenLife = 365 * 24 * time.Hour
	// DefaultPublication is how long a key is published before it signs. Documented caches of public keys live for an hour (kube-apiserver
	// permits it for its own documents, and API Gateway does it). AWS documents no figure for STS.
	DefaultPublication = 24 * time.Hour
	// maxOld is the maximum number of old keys. AWS permits 100 keys of one type.
	maxOld = 10
)

// A Key is a key pair.
type Key struct {
	// ID is the kid of tokens.
	ID string
	// Private and Public are PEM.
	Private, Public []byte
}

// NewKey returns the key pair with that private key, PEM.
func NewKey(private []byte) (Key, error) {
	public, err := webidentity.PublicFromPrivate(private)
	if err != nil {
		return Key{}, err
	}
	ids, err := webidentity.KeyIDs(public)
	if err != nil {
		return Key{}, err
	}
	return Key{ID: ids[0], Private: private, Public: public}, nil
}

// An Old key does not sign any more, or is about to stop.
type Old struct {
	ID     string
	Public []byte
	// Replaced is when no program signed with it any more; zero before.
	Replaced time.Time
	// Life is the longest validity of the tokens that were requested from it.
	Life time.Duration
}

// Due is the time at which all tokens that were requested with a validity have expired. Tokens of pods and of Secrets may remain.
func (o Old) Due() time.Time { return o.Replaced.Add(o.Life) }

// PodsDue is the time at which all tokens of pods have expired.
func (o Old) PodsDue() time.Time { return o.Replaced.Add(MaxTokenLife) }

// A State is the content of Secret sa-signing-key.
type State struct {
	Signing Key
	// SigningSince is when it began to sign; zero for the first key.
	SigningSince time.Time
	// Life is the longest validity of the tokens that were requested from it.
	Life time.Duration
	// Next will sign; nil unless a key is being published.
	Next *Key
	// nextLife is the Life of Next if it has signed before; else 0.
	nextLife time.Duration
	// Published is since when all programs that verify tokens can know Next; zero before.
	Published time.Time
	// Old keys are accepted, the newest last.
	Old []Old
	// Retired are the IDs of keys that an API server may still accept, although the Secret does not have them.
	Retired []string
	// Requested and RetireRequested are the requests that were acted on last.
	Requested, RetireRequested string
	// Since is the time of the last step; zero before the first one.
	Since time.Time
	// Extra are further public keys to accept, PEM.
	Extra []byte
}

// record is the part of the state that the keys do not have.
type record struct {
	SigningSince    time.Time   `json:"signingSince,omitzero"`
	Life            string      `json:"life,omitempty"`
	NextLife        string      `json:"nextLife,omitempty"`
	Published       time.Time   `json:"published,omitzero"`
	Old             []oldRecord `json:"old,omitempty"`
	Retired         []string    `json:"retired,omitempty"`
	Requested       string      `json:"requested,omitempty"`
	RetireRequested string      `json:"retireRequested,omitempty"`
	Since           time.Time   `json:"since,omitzero"`
}

type oldRecord struct {
	Public   string    `json:"public"`
	Replaced time.Time `json:"replaced,omitzero"`
	Life     string    `json:"life"`
}

// Decode reads the data of the Secret. A Secret of an earlier version has only the key pair.
func Decode(data map[string][]byte) (*State, error) {
	s := &State{Life: MaxTokenLife}
	var err error
	if s.Signing, err = NewKey(data[names.ServiceAccountPrivateKeyFile]); err != nil {
		return nil, fmt.Errorf("%s: %w", names.ServiceAccountPrivateKeyFile, err)
	}
	if text := data[names.NextServiceAccountPrivateKeyFile]; len(text) > 0 {
		next, err := NewKey(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names.NextServiceAccountPrivateKeyFile, err)
		}
		s.Next = &next
	}
	if text := data[names.ServiceAccountKeysRecord]; len(text) > 0 {
		if err := s.decodeRecord(text); err != nil {
			return nil, fmt.Errorf("%s: %w", names.ServiceAccountKeysRecord, err)
		}
	}
	if text := data[names.ServiceAccountPublicKeyFile]; len(text) > 0 {
		if err := s.SetExtra(text); err != nil {
			return nil, fmt.Errorf("%s: %w", names.ServiceAccountPublicKeyFile, err)
		}
	}
	return s, nil
}

func (s *State) decodeRecord(text []byte) error {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	s.SigningSince, s.Published, s.Retired, s.Requested, s.RetireRequested, s.Since = r.SigningSince, r.Published, r.Retired, r.Requested, r.RetireRequested, r.Since
	var err error
	if r.Life != "" {
		if s.Life, err = time.ParseDuration(r.Life); err != nil {
			return err
		}
	}
	if r.NextLife != "" {
		if s.nextLife, err = time.ParseDuration(r.NextLife); err != nil {
			return err
		}
	}
	for _, o := range r.Old {
		ids, err := webidentity.KeyIDs([]byte(o.Public))
		if err != nil {
			return err
		}
		life, err := time.ParseDuration(o.Life)
		if err != nil {
			return err
		}
		s.Old = append(s.Old, Old{ID: ids[0], Public: []byte(o.Public), Replaced: o.Replaced, Life: life})
	}
	return nil
}

// SetExtra sets the further public keys. The keys of the state are left out.
func (s *State) SetExtra(publicKeys []byte) error {
	s.Extra = nil
	if len(bytes.TrimSpace(publicKeys)) == 0 {
		return nil
	}
	ids, err := webidentity.KeyIDs(publicKeys)
	if err != nil {
		return err
	}
	keys, err := webidentity.SplitPublicKeys(publicKeys)
	if err != nil {
		return err
	}
	known := s.IDs()
	for i, id := range ids {
		if !slices.Contains(known, id) {
			s.Extra, known = append(s.Extra, keys[i]...), append(known, id)
		}
	}
	return nil
}

// Data returns the data of the Secret. Without a rotation it is the key pair, as in earlier versions.
func (s *State) Data() map[string][]byte {
	data := map[string][]byte{names.ServiceAccountPrivateKeyFile: s.Signing.Private, names.ServiceAccountPublicKeyFile: s.PublicKeys()}
	if s.Next != nil {
		data[names.NextServiceAccountPrivateKeyFile] = s.Next.Private
	}
	if text, _ := json.Marshal(s.record()); string(text) != "{}" { // texts and times marshal
		data[names.ServiceAccountKeysRecord] = text
	}
	return data
}

func (s *State) record() record {
	r := record{
		SigningSince: whole(s.SigningSince), Published: whole(s.Published), Retired: s.Retired, Requested: s.Requested, RetireRequested: s.RetireRequested, Since: whole(s.Since),
	}
	if s.Life != MaxTokenLife {
		r.Life = s.Life.String()
	}
	if s.nextLife > 0 {
		r.NextLife = s.nextLife.String()
	}
	for _, o := range s.Old {
		r.Old = append(r.Old, oldRecord{Public: string(o.Public), Replaced: whole(o.Replaced), Life: o.Life.String()})
	}
	return r
}

// PublicKeys returns all keys to accept, PEM. The key that signs is the first.
func (s *State) PublicKeys() []byte {
	keys := [][]byte{s.Signing.Public}
	if s.Next != nil {
		keys = append(keys, s.Next.Public)
	}
	for _, o := range s.Old {
		keys = append(keys, o.Public)
	}
	return bytes.Join(append(keys, s.Extra), nil)
}

// IDs returns the IDs of the keys of the state, without the further ones.
func (s *State) IDs() []string {
	ids := []string{s.Signing.ID}
	if s.Next != nil {
		ids = append(ids, s.Next.ID)
	}
	for _, o := range s.Old {
		ids = append(ids, o.ID)
	}
	return ids
}

// Revision identifies the keys of a Secret, and which of them signs. It differs if programs have to load the Secret again.
func (s *State) Revision() string {
	sum := sha256.Sum256(bytes.Join([][]byte{[]byte(s.Signing.ID), s.PublicKeys()}, []byte{0}))
	return hex.EncodeToString(sum[:8])
}

// Rotating reports whether programs have to be checked: a step waits for them, or old keys are accepted.
func (s *State) Rotating() bool { return s.Next != nil || len(s.Old) > 0 || len(s.Retired) > 0 }

// Wanted returns the key that signs after the rotation in progress.
func (s *State) Wanted() *Key {
	if s.Next != nil {
		return s.Next
	}
	return &s.Signing
}

// clone returns a copy whose lists can be changed.
func (s *State) clone() *State {
	c := *s
	c.Old, c.Retired = slices.Clone(s.Old), slices.Clone(s.Retired)
	return &c
}

// whole truncates to seconds, so that a decoded state is equal.
func whole(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}

// short is the beginning of an ID, for events and messages.
func short(id string) string { return id[:min(len(id), 8)] }

func shorts(ids []string) string {
	var all []string
	for _, id := range ids {
		all = append(all, short(id))
	}
	return strings.Join(all, ", ")
}
