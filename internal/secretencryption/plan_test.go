package secretencryption

import (
	"fmt"
	"strings"
	"testing"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func key(name string) Key { return AESCBC(name, []byte(name)) }

func ref(name string) *Key {
	if name == "" {
		return nil
	}
	k := key(name)
	return &k
}

// A world is a control plane with API servers that apply the desired configuration.
type world struct {
	t     *testing.T
	st    *hyperv1.SecretEncryptionRecord
	facts Facts
	// written are the keys that may have encrypted something that is in etcd.
	written map[string]bool
}

func newWorld(t *testing.T, present string) *world {
	w := &world{t: t, written: map[string]bool{}, facts: Facts{Now: time.Unix(1e9, 0), Running: true}}
	if present != "" {
		w.facts.Encrypting = true
		w.facts.Present = configuration(present)
	}
	return w
}

// configuration parses a configuration such as "a b" or "- a", in which objects are not encrypted.
func configuration(text string) *Configuration {
	c := &Configuration{}
	for _, name := range strings.Fields(text) {
		if name == "-" {
			c.InTheClear = true
		} else {
			c.Keys = append(c.Keys, key(name))
		}
	}
	return c
}

func text(c *Configuration) string {
	if c == nil {
		return "none"
	}
	var names []string
	if c.InTheClear {
		names = append(names, "-")
	}
	for _, k := range c.Keys {
		names = append(names, k.Name)
	}
	return strings.Join(names, " ")
}

func (w *world) String() string {
	stage := hyperv1.SecretEncryptionStage("")
	if move := Current(w.st); move != nil {
		stage = move.Stage
	}
	return fmt.Sprintf("%s: %s", stage, text(w.facts.Present))
}

// plan takes one step, and lets the API servers apply it, one after the other.
func (w *world) plan() {
	w.t.Helper()
	before := w.facts.Present
	w.st = Next(w.st, w.facts)
	w.facts.Rewritten = false
	if w.st == nil {
		return
	}
	var present []Key
	if before != nil {
		present = before.Keys
	}
	after := Desired(w.st, w.facts.Backup, present)
	w.check(before, &after)
	w.facts.Present, w.facts.RolledOut = &after, true
	if Writer(w.st) != nil {
		w.written[Writer(w.st).Name] = true
	}
}

// check fails the test if API servers with both configurations, at the same
// time, could not read the data in etcd and the data that either writes.
func (w *world) check(before, after *Configuration) {
	w.t.Helper()
	for _, c := range []*Configuration{before, after} {
		if c == nil {
			continue
		}
		for name := range w.written {
			if !contains(c.Keys, key(name)) && !w.replaced(name) {
				w.t.Errorf("configuration %s cannot read what %s has encrypted", text(c), name)
			}
		}
	}
	if before == nil || after.InTheClear || len(w.written) == 0 && len(before.Keys) == 0 {
		return
	}
	if writes := after.Keys[0]; !contains(before.Keys, writes) {
		w.t.Errorf("an API server with %s cannot read what %s writes, of %s", text(before), writes.Name, text(after))
	}
}

func (w *world) replaced(name string) bool {
	for _, needed := range Needed(w.st) {
		if needed.Name == name {
			return false
		}
	}
	return true
}

// rewrite has everything written with the first key.
func (w *world) rewrite() {
	w.facts.Rewritten = true
	w.written = map[string]bool{w.facts.Present.Keys[0].Name: true}
}

// runToEnd repeats until there is no change, and returns every change.
func (w *world) runToEnd() []string {
	w.t.Helper()
	var seen []string
	for range 30 {
		w.plan()
		if now := w.String(); len(seen) == 0 || seen[len(seen)-1] != now {
			seen = append(seen, now)
		}
		switch move := Current(w.st); {
		case move == nil:
			return seen
		case move.Stage == hyperv1.SecretEncryptionReencrypt:
			w.rewrite()
		case move.Stage == hyperv1.SecretEncryptionRetain:
			w.facts.Now = w.facts.Now.Add(RetainFor)
		case move.Stage == hyperv1.SecretEncryptionDone:
			return seen
		}
	}
	w.t.Fatalf("it does not come to rest: %v", seen)
	return nil
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("it went\n%s\nand should have gone\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// done is a cluster that has been at rest with that key.
func done(t *testing.T, name string) *world {
	w := newWorld(t, name)
	w.facts.Goal = ref(name)
	w.runToEnd()
	return w
}

func TestAKeyGoesThroughAllStages(t *testing.T) {
	w := done(t, "a")
	w.facts.Goal = ref("b")
	expect(t, w.runToEnd(), "ReadKey: a b", "WriteKey: b a", "Reencrypt: b a", "Retain: b a", "Drop: b", "Done: b")
	if st := w.st; st.ActiveKey.Name != "b" || st.TargetKey != nil || len(st.History) != 2 || st.History[0].State != hyperv1.SecretEncryptionMigrationCompleted || st.History[0].From.Name != "a" {
		t.Errorf("the status is %+v", st)
	}
}

func TestTheFirstKeyOfARunningClusterGoesThroughAllStages(t *testing.T) {
	w := newWorld(t, "")
	w.facts.Goal = ref("a")
	expect(t, w.runToEnd(), "ReadKey: - a", "WriteKey: a", "Reencrypt: a", "Done: a")
}

func TestTheKeyOfANewClusterWritesAtOnce(t *testing.T) {
	w := newWorld(t, "")
	w.facts.Running, w.facts.Goal = false, ref("a")
	expect(t, w.runToEnd(), "WriteKey: a", "Reencrypt: a", "Done: a")
}

// An operator before this one left every key in the configuration.
func TestKeysOfEarlierVersionsAreAdopted(t *testing.T) {
	w := newWorld(t, "c b a")
	w.facts.Goal = ref("c")
	expect(t, w.runToEnd(), "WriteKey: c b a", "Reencrypt: c b a", "Retain: c b a", "Drop: c", "Done: c")
}

func TestAKeyMayChangeDuringAnUpgradeOfTheOperator(t *testing.T) {
	w := newWorld(t, "b a")
	w.facts.Goal = ref("c")
	w.written = map[string]bool{"a": true, "b": true}
	expect(t, w.runToEnd(), "WriteKey: b a", "ReadKey: b c a", "WriteKey: c b a", "Reencrypt: c b a", "Retain: c b a", "Drop: c", "Done: c")
}

// The way of users that name the new key as backupKey first.
func TestABackupKeyIsReadAndDoesNotWrite(t *testing.T) {
	w := done(t, "a")
	w.facts.Backup = ref("b")
	w.facts.Present = configuration("a b")
	w.facts.Goal, w.facts.Backup = ref("b"), ref("a")
	expect(t, w.runToEnd(), "ReadKey: a b", "WriteKey: b a", "Reencrypt: b a", "Done: b a")
	w.facts.Backup = nil
	next := Desired(w.st, nil, w.facts.Present.Keys)
	if text(&next) != "b" {
		t.Errorf("without a backupKey the keys are %s", text(&next))
	}
}

func TestAKeyThatIsChangedAgainExtendsTheMove(t *testing.T) {
	until := func(t *testing.T, stage hyperv1.SecretEncryptionStage) *world {
		w := done(t, "a")
		w.facts.Goal = ref("b")
		for range 10 {
			if w.plan(); Current(w.st).Stage == stage {
				return w
			}
			if Current(w.st).Stage == hyperv1.SecretEncryptionReencrypt {
				w.rewrite()
			}
			if Current(w.st).Stage == hyperv1.SecretEncryptionRetain {
				w.facts.Now = w.facts.Now.Add(RetainFor)
			}
		}
		t.Fatalf("it never is in stage %s", stage)
		return nil
	}
	for stage, want := range map[hyperv1.SecretEncryptionStage][]string{
		// No object was encrypted with b, which may be a key that never worked.
		hyperv1.SecretEncryptionReadKey:   {"ReadKey: a c", "WriteKey: c a", "Reencrypt: c a", "Retain: c a", "Drop: c", "Done: c"},
		hyperv1.SecretEncryptionWriteKey:  {"ReadKey: b c a", "WriteKey: c a b", "Reencrypt: c a b", "Retain: c a b", "Drop: c", "Done: c"},
		hyperv1.SecretEncryptionReencrypt: {"ReadKey: b c a", "WriteKey: c a b", "Reencrypt: c a b", "Retain: c a b", "Drop: c", "Done: c"},
		hyperv1.SecretEncryptionRetain:    {"ReadKey: b c a", "WriteKey: c b a", "Reencrypt: c b a", "Retain: c b a", "Drop: c", "Done: c"},
		hyperv1.SecretEncryptionDrop:      {"ReadKey: b c", "WriteKey: c b", "Reencrypt: c b", "Retain: c b", "Drop: c", "Done: c"},
	} {
		t.Run("in stage "+string(stage), func(t *testing.T) {
			w := until(t, stage)
			w.facts.Goal = ref("c")
			expect(t, w.runToEnd(), want...)
		})
	}
	t.Run("back, before anything was encrypted with it", func(t *testing.T) {
		w := until(t, hyperv1.SecretEncryptionReadKey)
		w.facts.Goal = ref("a")
		expect(t, w.runToEnd(), "Done: a")
	})
	t.Run("back, after something was", func(t *testing.T) {
		w := until(t, hyperv1.SecretEncryptionReencrypt)
		w.facts.Goal = ref("a")
		expect(t, w.runToEnd(), "ReadKey: b a", "WriteKey: a b", "Reencrypt: a b", "Retain: a b", "Drop: a", "Done: a")
	})
}

// A user, or a program, that changes the key all the time.
func TestTheStatusNamesEveryKeyHoweverOftenItChanges(t *testing.T) {
	w := done(t, "a")
	for i := range 40 {
		w.facts.Goal = ref(fmt.Sprintf("k%d", i))
		for range 2 { // as far as the stage in which it writes
			w.plan()
		}
		if len(w.st.History) > maxMoves {
			t.Fatalf("the status has %d moves", len(w.st.History))
		}
	}
	if !Overtaken(w.st, w.facts) {
		t.Error("it turned to every key")
	}
	for name := range w.written {
		if w.replaced(name) {
			t.Errorf("key %s has encrypted something, and nobody knows", name)
		}
	}
	if got := w.runToEnd(); len(got) == 0 || !strings.HasSuffix(got[len(got)-1], "Done: k39") {
		t.Errorf("it went %v", got)
	}
}

func TestUnknownFactsChangeNothing(t *testing.T) {
	t.Run("a configuration that is gone", func(t *testing.T) {
		if st := Next(nil, Facts{Running: true, Encrypting: true, Goal: ref("a")}); st != nil {
			t.Errorf("it is taken for %+v", st)
		}
	})
	t.Run("a key that cannot be read", func(t *testing.T) {
		w := done(t, "a")
		w.facts.Goal = nil
		expect(t, w.runToEnd(), "Done: a")
	})
	for name, spoil := range map[string]func(*world){
		"API servers that still run something else":   func(w *world) { w.facts.RolledOut = false },
		"a configuration that somebody has changed":   func(w *world) { w.facts.Present = configuration("a") },
		"a configuration that somebody has deleted":   func(w *world) { w.facts.Present = nil },
		"a configuration in another order than asked": func(w *world) { w.facts.Present = configuration("b a") },
	} {
		t.Run(name, func(t *testing.T) {
			w := done(t, "a")
			w.facts.Goal = ref("b")
			w.plan()
			spoil(w)
			if st := Next(w.st, w.facts); Current(st).Stage != hyperv1.SecretEncryptionReadKey {
				t.Errorf("it goes on to %s", Current(st).Stage)
			}
		})
	}
	t.Run("Secrets that are not all rewritten", func(t *testing.T) {
		w := done(t, "a")
		w.facts.Goal = ref("b")
		for range 6 {
			w.plan()
		}
		if w.String() != "Reencrypt: b a" || w.st.ActiveKey.Name != "a" {
			t.Errorf("it is %s", w)
		}
	})
}

// A Secret that gets another name keeps its key.
func TestARenamedKeyIsTheSameKey(t *testing.T) {
	w := done(t, "a")
	renamed := key("a")
	renamed.Name = "z"
	w.facts.Goal = &renamed
	w.plan()
	if w.st.ActiveKey.Name != "z" || w.st.TargetKey != nil {
		t.Errorf("the status is %+v", w.st)
	}
}
