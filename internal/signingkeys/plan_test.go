package signingkeys

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

func newKey(t testing.TB) Key {
	t.Helper()
	private, _, err := webidentity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := NewKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// rotation is a cluster whose programs do all at once, unless a test stops them.
type rotation struct {
	t     testing.TB
	state *State
	facts Facts
	steps []string
}

func newRotation(t testing.TB) *rotation {
	r := &rotation{t: t, facts: Facts{
		Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Publication: DefaultPublication, TokenLife: MaxTokenLife, AsksAWS: true,
		Generate: func() (Key, error) { return newKey(t), nil },
	}}
	r.state = New(newKey(t), r.facts)
	r.works()
	return r
}

// works makes all programs and documents up to date.
func (r *rotation) works() {
	r.facts.Loaded, r.facts.Stored, r.facts.Rewritten = true, true, false
	if r.state.Next != nil {
		r.facts.TrustedByAWS = r.state.Next.ID
	}
	r.facts.Tokens = nil
	for _, o := range r.state.Old {
		if !o.Replaced.IsZero() && !r.facts.Now.Before(o.Due()) {
			r.facts.Tokens = append(r.facts.Tokens, hyperv1.OldSigningKeyTokens{KeyID: o.ID, Secrets: ptr.To[int32](0), Pods: ptr.To[int32](0)})
		}
	}
}

// run takes all steps that are due, and stores the state in between.
func (r *rotation) run() {
	r.t.Helper()
	for range 20 {
		next, step, err := Next(r.state, r.facts)
		if err != nil {
			r.t.Fatal(err)
		}
		if step == nil {
			return
		}
		stored, err := Decode(next.Data())
		if err != nil {
			r.t.Fatal(err)
		}
		if !reflect.DeepEqual(stored.Data(), next.Data()) || stored.Revision() != next.Revision() {
			r.t.Fatalf("it was stored as %+v, and is %+v", stored.record(), next.record())
		}
		if step.Reason != "" {
			r.steps = append(r.steps, step.Reason)
		}
		if string(stored.PublicKeys()) != string(r.state.PublicKeys()) || stored.Signing.ID != r.state.Signing.ID {
			r.facts.Loaded, r.facts.Stored = false, false
		}
		r.state = stored
	}
	r.t.Fatal("it does not come to rest")
}

func (r *rotation) settle() {
	r.t.Helper()
	for range 10 {
		r.works()
		r.run()
	}
}

func (r *rotation) expect(stage hyperv1.SigningKeyStage, signs string, others ...string) {
	r.t.Helper()
	ids := slices.Sorted(slices.Values(r.state.IDs()[1:]))
	slices.Sort(others)
	if r.state.Stage() != stage || r.state.Signing.ID != signs || !slices.Equal(ids, others) {
		r.t.Errorf("stage %q, %s signs, %v are accepted; want %q, %s, %v", r.state.Stage(), r.state.Signing.ID, ids, stage, signs, others)
	}
	accepted, err := webidentity.KeyIDs(r.state.PublicKeys())
	if err != nil || accepted[0] != signs {
		r.t.Errorf("the public keys are %v, %v", accepted, err)
	}
}

func TestRotationInStages(t *testing.T) {
	r := newRotation(t)
	first := r.state.Signing.ID
	if data := r.state.Data(); len(data) != 2 {
		t.Errorf("without a rotation the Secret is as in earlier versions, and not %v", data)
	}
	r.settle()
	r.expect("", first)
	r.facts.Requested = "1"
	r.run()
	next := r.state.Next.ID
	r.expect(hyperv1.SigningKeyPublish, first, next)

	// None of these is left out.
	for name, stop := range map[string]func(){
		"an API server does not have the key":  func() { r.facts.Loaded = false },
		"the documents are not stored":         func() { r.facts.Stored = false },
		"the documents have just been stored":  func() { r.facts.Rewritten = true },
		"AWS accepts no token":                 func() { r.facts.TrustedByAWS = "" },
		"AWS accepts a token of another key":   func() { r.facts.TrustedByAWS = first },
		"the control-plane-operator is silent": func() { r.facts.Loaded, r.facts.TrustedByAWS = false, "" },
	} {
		r.works()
		stop()
		r.run()
		r.facts.Now = r.facts.Now.Add(48 * time.Hour)
		r.run()
		if r.state.Stage() != hyperv1.SigningKeyPublish || !r.state.Published.IsZero() {
			t.Errorf("%s, and %+v", name, r.state.record())
		}
	}
	r.works()
	r.run()
	r.facts.Now = r.facts.Now.Add(DefaultPublication - time.Second)
	r.settle()
	r.expect(hyperv1.SigningKeyPublish, first, next)
	r.facts.Rewritten = true // someone has spoiled the documents
	r.run()
	r.facts.Now = r.facts.Now.Add(time.Hour)
	r.settle()
	r.expect(hyperv1.SigningKeyPublish, first, next)
	r.facts.Now = r.facts.Now.Add(DefaultPublication)
	r.works()
	r.run()
	r.expect(hyperv1.SigningKeySwitch, next, first)
	r.facts.Now = r.facts.Now.Add(1000 * time.Hour)
	r.facts.Stored = true
	r.run()
	r.expect(hyperv1.SigningKeySwitch, next, first) // a program still signs with the first
	r.settle()
	r.expect(hyperv1.SigningKeyRetain, next, first)
	r.facts.Now = r.facts.Now.Add(MaxTokenLife - time.Second)
	r.settle()
	r.expect(hyperv1.SigningKeyRetain, next, first)
	r.facts.Now = r.facts.Now.Add(time.Second)
	r.run()
	r.expect(hyperv1.SigningKeyRetain, next, first) // nobody has looked for tokens
	r.works()
	r.facts.Tokens[0].Secrets = ptr.To[int32](1)
	r.run()
	r.expect(hyperv1.SigningKeyRetain, next, first)
	r.works()
	r.run()
	r.expect(hyperv1.SigningKeyRetire, next)
	r.facts.Stored = true
	r.run()
	r.expect(hyperv1.SigningKeyRetire, next)
	r.settle()
	r.expect("", next)
	if got := strings.Join(r.steps, " "); got != "SigningKeyPublished SigningKeySwitched SigningKeyReplaced SigningKeyRetiring SigningKeyRetired" {
		t.Error(got)
	}
	r.facts.Now = r.facts.Now.Add(10 * MaxTokenLife)
	r.settle()
	r.expect("", next)
}

func (r *rotation) rotate(request string) {
	r.t.Helper()
	before := r.state.Signing.ID
	r.facts.Requested = request
	r.settle()
	r.facts.Now = r.facts.Now.Add(r.facts.Publication)
	r.settle()
	if r.state.Signing.ID == before || r.state.Stage() != hyperv1.SigningKeyRetain {
		r.t.Fatalf("the state is %+v", r.state.record())
	}
}

// With a shorter limit, a key can be retired as soon as the pods are replaced that may have its tokens.
func TestPodsKeepAKeyForAYear(t *testing.T) {
	r := newRotation(t)
	r.facts.TokenLife = time.Hour
	r.rotate("1") // tokens of a year may have been signed with the first key
	first := r.state.Old[0]
	if first.Life != MaxTokenLife {
		t.Errorf("tokens of the first key live for %s", first.Life)
	}
	r.rotate("2")
	second := r.state.Old[1]
	if second.Life != time.Hour {
		t.Errorf("tokens of the second key live for %s", second.Life)
	}
	r.facts.Now = r.facts.Now.Add(time.Hour)
	r.works()
	r.facts.Tokens[0].Pods = ptr.To[int32](3)
	r.run()
	if len(r.state.Old) != 2 {
		t.Error("there are pods with its tokens, and it was retired")
	}
	r.settle()
	if len(r.state.Old) != 1 || r.state.Old[0].ID != first.ID {
		t.Errorf("no pod has a token of it, and the old keys are %v", r.state.Old)
	}
	r.rotate("3")
	r.facts.Now = r.facts.Now.Add(MaxTokenLife)
	r.works()
	for i := range r.facts.Tokens {
		r.facts.Tokens[i].Pods = ptr.To[int32](3)
	}
	r.run()
	if len(r.state.Old) != 0 {
		t.Errorf("tokens of pods have expired after a year, and the old keys are %v", r.state.Old)
	}
}

func TestLimitOfTokens(t *testing.T) {
	r := newRotation(t)
	r.facts.TokenLife = 10 * MaxTokenLife
	r.run()
	r.facts.TokenLife = time.Hour // tokens of ten years exist
	r.rotate("1")
	if life := r.state.Old[0].Life; life != 10*MaxTokenLife {
		t.Errorf("the old key is kept for %s", life)
	}
	if r.state.Life != time.Hour {
		t.Errorf("tokens of the new key live for %s", r.state.Life)
	}
}

func TestRequests(t *testing.T) {
	t.Run("of the creation is fulfilled", func(t *testing.T) {
		r := newRotation(t)
		r.facts.Requested = "1"
		r.state = New(newKey(t), r.facts)
		r.settle()
		r.expect("", r.state.Signing.ID)
	})
	t.Run("is fulfilled once", func(t *testing.T) {
		r := newRotation(t)
		r.rotate("1")
		id := r.state.Signing.ID
		for _, request := range []string{"1", "", "1"} {
			r.facts.Requested = request
			r.settle()
		}
		r.expect(hyperv1.SigningKeyRetain, id, r.state.Old[0].ID)
	})
	t.Run("during a rotation waits until the new key signs", func(t *testing.T) {
		r := newRotation(t)
		r.facts.Requested = "1"
		r.settle()
		first, second := r.state.Signing.ID, r.state.Next.ID
		r.facts.Requested = "2"
		r.settle()
		r.expect(hyperv1.SigningKeyPublish, first, second)
		r.facts.Now = r.facts.Now.Add(DefaultPublication)
		r.settle()
		r.expect(hyperv1.SigningKeyPublish, second, first, r.state.Next.ID)
	})
	t.Run("by age", func(t *testing.T) {
		r := newRotation(t)
		r.facts.MaxAge, r.facts.Created = 100*time.Hour, r.facts.Now
		r.facts.Now = r.facts.Now.Add(99 * time.Hour)
		r.settle()
		r.expect("", r.state.Signing.ID)
		if after := r.state.CheckAfter(r.facts); after != time.Hour {
			t.Errorf("the next check is after %s", after)
		}
		r.facts.Now = r.facts.Now.Add(time.Hour)
		r.settle()
		r.facts.Now = r.facts.Now.Add(DefaultPublication)
		r.settle()
		second := r.state.Signing.ID
		r.facts.Now = r.facts.Now.Add(99 * time.Hour)
		r.settle()
		r.expect(hyperv1.SigningKeyRetain, second, r.state.Old[0].ID)
		r.facts.Now = r.facts.Now.Add(time.Hour)
		r.settle()
		r.expect(hyperv1.SigningKeyPublish, second, r.state.Old[0].ID, r.state.Next.ID)
	})
	t.Run("are bounded", func(t *testing.T) {
		r := newRotation(t)
		for i := range maxOld {
			r.rotate(fmt.Sprint(i))
		}
		r.facts.Requested = "one more"
		r.settle()
		if len(r.state.Old) != maxOld || r.state.Next != nil {
			t.Errorf("there are %d old keys", len(r.state.Old))
		}
		if c := Condition(r.state, r.facts, ""); c.Reason != hyperv1.SigningKeyRequestInvalidReason || !strings.Contains(c.Message, "10 old keys") {
			t.Errorf("the condition is %+v", c)
		}
		r.facts.Retire = r.state.Old[3].ID
		r.settle()
		if len(r.state.Old) != maxOld-1 || r.state.Next == nil {
			t.Errorf("there are %d old keys, and the next one is %v", len(r.state.Old), r.state.Next)
		}
	})
	t.Run("fail without a key", func(t *testing.T) {
		r := newRotation(t)
		r.facts.Requested, r.facts.Generate = "1", func() (Key, error) { return Key{}, errors.New("no entropy") }
		if next, step, err := Next(r.state, r.facts); next != nil || step != nil || err == nil {
			t.Errorf("%v, %v, %v", next, step, err)
		}
	})
}

func TestEmergency(t *testing.T) {
	t.Run("the key that signs", func(t *testing.T) {
		r := newRotation(t)
		leaked := r.state.Signing.ID
		r.facts.Retire = leaked
		r.run()
		if r.state.Next == nil {
			t.Fatal("no key follows")
		}
		next := r.state.Next.ID
		r.facts.Stored = true
		r.run()
		r.expect(hyperv1.SigningKeyPublish, leaked, next) // API servers would refuse its tokens
		r.facts.Loaded, r.facts.Stored = true, false
		r.run()
		r.expect(hyperv1.SigningKeyPublish, leaked, next) // AWS would refuse its tokens
		r.facts.Stored, r.facts.TrustedByAWS = true, ""
		r.run()
		r.expect(hyperv1.SigningKeySwitch, next, leaked)
		r.settle()
		r.expect("", next)
		if c := Condition(r.state, r.facts, ""); c.Status != metav1.ConditionTrue {
			t.Errorf("the condition is %+v", c)
		}
		r.facts.Now = r.facts.Now.Add(time.Hour)
		r.settle()
		r.expect("", next)
	})
	t.Run("a key that does not sign any more", func(t *testing.T) {
		r := newRotation(t)
		r.rotate("1")
		r.rotate("2")
		first, second := r.state.Old[0].ID, r.state.Old[1].ID
		r.facts.Retire = second
		r.settle()
		r.expect(hyperv1.SigningKeyRetain, r.state.Signing.ID, first)
	})
	t.Run("a key that does not sign yet", func(t *testing.T) {
		r := newRotation(t)
		r.facts.Requested = "1"
		r.settle()
		leaked := r.state.Next.ID
		r.facts.Retire = leaked
		r.settle()
		if r.state.Next == nil || r.state.Next.ID == leaked || slices.Contains(r.state.IDs(), leaked) {
			t.Errorf("the state is %+v", r.state.record())
		}
	})
	t.Run("a key that does not exist", func(t *testing.T) {
		r := newRotation(t)
		r.facts.Retire = "x"
		r.settle()
		r.expect("", r.state.Signing.ID)
		if c := Condition(r.state, r.facts, ""); c.Reason != hyperv1.SigningKeyRequestInvalidReason || !strings.Contains(c.Message, `"x"`) {
			t.Errorf("the condition is %+v", c)
		}
	})
}

func TestKeyOfTheUser(t *testing.T) {
	start := func(t *testing.T) *rotation {
		r := newRotation(t)
		own := r.state.Signing
		r.facts.UserKey = &own
		r.settle()
		r.expect("", own.ID)
		return r
	}
	t.Run("is replaced in stages", func(t *testing.T) {
		r := start(t)
		old, other := r.state.Signing.ID, newKey(t)
		r.facts.UserKey = &other
		r.run()
		r.expect(hyperv1.SigningKeyPublish, old, other.ID)
		r.settle()
		r.facts.Now = r.facts.Now.Add(DefaultPublication)
		r.settle()
		r.expect(hyperv1.SigningKeyRetain, other.ID, old)
	})
	t.Run("is reverted in time", func(t *testing.T) {
		r := start(t)
		own, other := *r.facts.UserKey, newKey(t)
		r.facts.UserKey = &other
		r.settle()
		r.facts.UserKey = &own
		r.run()
		r.expect(hyperv1.SigningKeyRetire, own.ID)
		r.settle()
		r.expect("", own.ID)
	})
	t.Run("is replaced again in time", func(t *testing.T) {
		r := start(t)
		own, other, third := *r.facts.UserKey, newKey(t), newKey(t)
		r.facts.UserKey = &other
		r.settle()
		r.facts.UserKey = &third
		r.settle()
		r.expect(hyperv1.SigningKeyPublish, own.ID, third.ID)
	})
	t.Run("is an old one", func(t *testing.T) {
		r := start(t)
		own, other := *r.facts.UserKey, newKey(t)
		r.facts.UserKey = &other
		r.settle()
		r.facts.Now = r.facts.Now.Add(DefaultPublication)
		r.settle()
		r.facts.UserKey = &own
		r.settle()
		r.expect(hyperv1.SigningKeyPublish, other.ID, own.ID)
		r.facts.TokenLife = time.Hour
		r.facts.Now = r.facts.Now.Add(DefaultPublication)
		r.settle()
		r.expect(hyperv1.SigningKeyRetain, own.ID, other.ID)
		if r.state.Life != MaxTokenLife { // earlier tokens of the same key
			t.Errorf("its tokens live for %s", r.state.Life)
		}
		r.facts.UserKey = &other // and back, before it signs
		r.settle()
		r.facts.UserKey = &own
		r.settle()
		r.expect(hyperv1.SigningKeyRetain, own.ID, other.ID)
	})
	t.Run("is not rotated by an annotation", func(t *testing.T) {
		r := start(t)
		id := r.state.Signing.ID
		for _, spoil := range []func(){func() { r.facts.Requested = "1" }, func() { r.facts.Requested, r.facts.Retire = "", id }} {
			spoil()
			r.settle()
			r.expect("", id)
			if c := Condition(r.state, r.facts, ""); c.Reason != hyperv1.SigningKeyRequestInvalidReason || !strings.Contains(c.Message, "replace the key in its Secret") {
				t.Errorf("the condition is %+v", c)
			}
		}
		other := newKey(t) // the leaked one is retired at once
		r.facts.UserKey = &other
		r.facts.TrustedByAWS = ""
		r.settle()
		r.expect("", other.ID)
	})
}

func TestExtraKeys(t *testing.T) {
	r := newRotation(t)
	extra := newKey(t)
	if err := r.state.SetExtra(slices.Concat(r.state.Signing.Public, extra.Public, extra.Public)); err != nil {
		t.Fatal(err)
	}
	ids, _ := webidentity.KeyIDs(r.state.PublicKeys())
	if !slices.Equal(ids, []string{r.state.Signing.ID, extra.ID}) {
		t.Errorf("accepted are %v", ids)
	}
	r.facts.UserKey = &extra // it signs next, and is there once
	r.run()
	if ids, _ := webidentity.KeyIDs(r.state.PublicKeys()); !slices.Equal(ids, []string{r.state.Signing.ID, extra.ID}) {
		t.Errorf("accepted are %v", ids)
	}
	if err := r.state.SetExtra([]byte("rubbish")); err == nil {
		t.Error("rubbish is accepted")
	}
}

func TestDecode(t *testing.T) {
	r := newRotation(t)
	r.rotate("1")
	r.facts.Requested = "2"
	r.settle()
	for key, text := range map[string]string{
		names.ServiceAccountPrivateKeyFile: "", names.NextServiceAccountPrivateKeyFile: "rubbish", names.ServiceAccountPublicKeyFile: "rubbish", names.ServiceAccountKeysRecord: "{",
	} {
		data := r.state.Data()
		data[key] = []byte(text)
		if _, err := Decode(data); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is %q: %v", key, text, err)
		}
	}
	if s := r.state.record().Old[0].Public; !strings.Contains(s, "PUBLIC KEY") {
		t.Errorf("the record has %q", s)
	}
	earlier, err := Decode(map[string][]byte{names.ServiceAccountPrivateKeyFile: r.state.Signing.Private, names.ServiceAccountPublicKeyFile: r.state.Signing.Public})
	if err != nil || earlier.Rotating() || len(earlier.Data()) != 2 {
		t.Errorf("of an earlier version: %+v, %v", earlier.record(), err)
	}
}

func TestStatusAndCondition(t *testing.T) {
	r := newRotation(t)
	expect := func(reason string, status metav1.ConditionStatus, message string, next time.Time) {
		t.Helper()
		if c := Condition(r.state, r.facts, "pod a has not started"); c.Reason != reason || c.Status != status || !strings.Contains(c.Message, message) {
			t.Errorf("the condition is %+v", c)
		}
		st := Status(r.state, r.facts)
		if st.KeyID != r.state.Signing.ID || (st.NextStageTime == nil) != next.IsZero() || st.NextStageTime != nil && !st.NextStageTime.Time.Equal(next) {
			t.Errorf("the status is %+v", st)
		}
	}
	expect("", "", "", time.Time{})
	r.facts.Requested = "1"
	r.run()
	expect(hyperv1.PublishingSigningKeyReason, metav1.ConditionFalse, "waiting for the documents", time.Time{})
	r.facts.Stored = true
	expect(hyperv1.PublishingSigningKeyReason, metav1.ConditionFalse, "pod a has not started", time.Time{})
	r.settle()
	expect(hyperv1.PublishingSigningKeyReason, metav1.ConditionFalse, "caches", r.state.Published.Add(DefaultPublication))
	r.facts.Now = r.facts.Now.Add(DefaultPublication)
	r.works()
	r.run()
	expect(hyperv1.SwitchingSigningKeyReason, metav1.ConditionFalse, "pod a has not started", time.Time{})
	r.settle()
	expect(hyperv1.RetainingOldSigningKeysReason, metav1.ConditionTrue, "until they have expired", r.state.Old[0].Due())
	if old := Status(r.state, r.facts).OldKeys; len(old) != 1 || old[0].RetainedUntil == nil || old[0].ReplacedTime == nil {
		t.Errorf("the old keys are %+v", old)
	}
	r.facts.Now = r.facts.Now.Add(MaxTokenLife)
	r.works()
	r.facts.Tokens[0].Secrets, r.facts.Tokens[0].SecretNames = ptr.To[int32](2), []string{"a/b"}
	expect(hyperv1.OldTokensRemainReason, metav1.ConditionFalse, "2 Secrets", time.Time{})
	r.works()
	r.run()
	r.facts.Stored = true
	expect(hyperv1.RetiringSigningKeysReason, metav1.ConditionFalse, "pod a has not started", time.Time{})
	r.settle()
	expect(hyperv1.AsExpectedReason, metav1.ConditionTrue, "no old key is accepted", time.Time{})
}

// A program verifies or signs with what it has loaded, which may be older than the Secret.
type program struct {
	accepts []string
	signs   string
}

func (p *program) load(s *State) { p.accepts, p.signs = s.IDs(), s.Signing.ID }

// Whatever the order in which programs load the Secret, users change their minds and time passes: no program refuses a token of another one
// before it expires. The seeds are fixed, so that a failure is repeated.
func TestNoTokenIsRefusedBeforeItExpires(t *testing.T) {
	const cache = time.Hour
	keys := []Key{newKey(t), newKey(t), newKey(t), newKey(t), newKey(t), newKey(t)}
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := newRotation(t)
		i := 0
		r.facts.Generate = func() (Key, error) { i++; return keys[i%len(keys)], nil }
		r.facts.Publication, r.facts.TokenLife = 2*cache, []time.Duration{10 * time.Hour, MaxTokenLife}[seed%2]
		r.facts.AsksAWS = seed%5 != 0
		r.state = New(keys[0], r.facts)
		if seed%3 == 0 {
			r.facts.UserKey = &keys[0]
		}
		programs := make([]program, 3) // API servers and a controller manager
		for i := range programs {
			programs[i].load(r.state)
		}
		documents := program{}
		documents.load(r.state)
		verifiers := []program{documents, documents} // AWS: two servers with caches, the first of which is asked
		read := []time.Time{r.facts.Now, r.facts.Now}
		type token struct {
			id      string
			expires time.Time
			pod     bool
		}
		var tokens []token
		for range 600 {
			r.facts.Now = r.facts.Now.Add(time.Duration(random.Int64N(int64(cache / 12))))
			if random.IntN(40) == 0 {
				r.facts.Now = r.facts.Now.Add(r.facts.TokenLife)
			}
			switch random.IntN(6) {
			case 0:
				programs[random.IntN(len(programs))].load(r.state)
			case 1:
				documents.load(r.state)
			case 2:
				n := random.IntN(2)
				verifiers[n], read[n] = documents, r.facts.Now
			case 3:
				if seed%3 == 0 {
					if random.IntN(10) == 0 {
						r.facts.UserKey = &keys[random.IntN(len(keys))]
					}
				} else if random.IntN(5) == 0 {
					r.facts.Requested = fmt.Sprint(random.Int())
				}
			case 4: // a pod is replaced, or its token renewed
				tokens = slices.DeleteFunc(tokens, func(tk token) bool { return tk.pod && random.IntN(2) == 0 })
			}
			for n := range verifiers { // at the latest
				if r.facts.Now.Sub(read[n]) >= cache {
					verifiers[n], read[n] = documents, r.facts.Now
				}
			}
			tokens = slices.DeleteFunc(tokens, func(tk token) bool { return !tk.expires.After(r.facts.Now) })
			signed := token{id: programs[random.IntN(len(programs))].signs, expires: r.facts.Now.Add(r.facts.TokenLife)}
			if random.IntN(3) == 0 {
				signed.pod, signed.expires = true, r.facts.Now.Add(MaxTokenLife)
			}
			tokens = append(tokens, signed)
			for _, tk := range tokens {
				for _, p := range slices.Concat(programs, verifiers) {
					if !slices.Contains(p.accepts, tk.id) {
						t.Fatalf("seed %d: a token of %s is refused by %+v; the state is %+v", seed, tk.id, p, r.state.record())
					}
				}
			}
			loaded := !slices.ContainsFunc(programs, func(p program) bool {
				want := program{}
				want.load(r.state)
				return !reflect.DeepEqual(p, want)
			})
			want := program{}
			want.load(r.state)
			r.facts.Loaded, r.facts.Stored = loaded, slices.Equal(documents.accepts, want.accepts)
			r.facts.TrustedByAWS, r.facts.Tokens = "", nil
			if r.state.Next != nil && slices.Contains(verifiers[0].accepts, r.state.Next.ID) {
				r.facts.TrustedByAWS = r.state.Next.ID
			}
			for _, o := range r.state.Old {
				var pods int32
				for _, tk := range tokens {
					if tk.pod && tk.id == o.ID {
						pods++
					}
				}
				r.facts.Tokens = append(r.facts.Tokens, hyperv1.OldSigningKeyTokens{KeyID: o.ID, Secrets: ptr.To[int32](0), Pods: &pods})
			}
			next, step, err := Next(r.state, r.facts)
			if err != nil {
				t.Fatal(err)
			}
			if step != nil {
				r.state = next
			}
		}
	}
}
