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

// A fakeEtcd is a control plane with API servers that apply the desired configuration.
type fakeEtcd struct {
	t     *testing.T
	st    *hyperv1.SecretEncryptionRecord
	facts Facts
	// written are the keys that may have encrypted something that is in etcd.
	written map[string]bool
}

func newFakeEtcd(t *testing.T, present string) *fakeEtcd {
	e := &fakeEtcd{t: t, written: map[string]bool{}, facts: Facts{Now: time.Unix(1e9, 0), Running: true}}
	if present != "" {
		e.facts.Encrypting = true
		e.facts.Present = configuration(present)
	}
	return e
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

func (e *fakeEtcd) String() string {
	stage := hyperv1.SecretEncryptionStage("")
	if move := Current(e.st); move != nil {
		stage = move.Stage
	}
	return fmt.Sprintf("%s: %s", stage, text(e.facts.Present))
}

// plan takes one step, and lets the API servers apply it, one after the other.
func (e *fakeEtcd) plan() {
	e.t.Helper()
	before := e.facts.Present
	e.st = Next(e.st, e.facts)
	e.facts.Rewritten = false
	if e.st == nil {
		return
	}
	var present []Key
	if before != nil {
		present = before.Keys
	}
	after := Desired(e.st, e.facts.Backup, present)
	e.check(before, &after)
	e.facts.Present, e.facts.RolledOut = &after, true
	if Writer(e.st) != nil {
		e.written[Writer(e.st).Name] = true
	}
}

// check fails the test if API servers with both configurations, at the same
// time, could not read the data in etcd and the data that either writes.
func (e *fakeEtcd) check(before, after *Configuration) {
	e.t.Helper()
	for _, c := range []*Configuration{before, after} {
		if c == nil {
			continue
		}
		for name := range e.written {
			if !contains(c.Keys, key(name)) && !e.replaced(name) {
				e.t.Errorf("configuration %s cannot read what %s has encrypted", text(c), name)
			}
		}
	}
	if before == nil || after.InTheClear || len(e.written) == 0 && len(before.Keys) == 0 {
		return
	}
	if writes := after.Keys[0]; !contains(before.Keys, writes) {
		e.t.Errorf("an API server with %s cannot read what %s writes, of %s", text(before), writes.Name, text(after))
	}
}

func (e *fakeEtcd) replaced(name string) bool {
	for _, needed := range Needed(e.st) {
		if needed.Name == name {
			return false
		}
	}
	return true
}

// rewrite has everything written with the first key.
func (e *fakeEtcd) rewrite() {
	e.facts.Rewritten = true
	e.written = map[string]bool{e.facts.Present.Keys[0].Name: true}
}

// runToEnd repeats until there is no change, and returns every change.
func (e *fakeEtcd) runToEnd() []string {
	e.t.Helper()
	var seen []string
	for range 30 {
		e.plan()
		if now := e.String(); len(seen) == 0 || seen[len(seen)-1] != now {
			seen = append(seen, now)
		}
		switch move := Current(e.st); {
		case move == nil:
			return seen
		case move.Stage == hyperv1.SecretEncryptionReencrypt:
			e.rewrite()
		case move.Stage == hyperv1.SecretEncryptionRetain:
			e.facts.Now = e.facts.Now.Add(RetainFor)
		case move.Stage == hyperv1.SecretEncryptionDone:
			return seen
		}
	}
	e.t.Fatalf("it does not come to rest: %v", seen)
	return nil
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("it went\n%s\nand should have gone\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// done is a cluster that has been at rest with that key.
func done(t *testing.T, name string) *fakeEtcd {
	e := newFakeEtcd(t, name)
	e.facts.Goal = ref(name)
	e.runToEnd()
	return e
}

func TestAKeyGoesThroughAllStages(t *testing.T) {
	e := done(t, "a")
	e.facts.Goal = ref("b")
	expect(t, e.runToEnd(), "ReadKey: a b", "WriteKey: b a", "Reencrypt: b a", "Retain: b a", "Drop: b", "Done: b")
	if st := e.st; st.ActiveKey.Name != "b" || st.TargetKey != nil || len(st.History) != 2 || st.History[0].State != hyperv1.SecretEncryptionMigrationCompleted || st.History[0].From.Name != "a" {
		t.Errorf("the status is %+v", st)
	}
}

func TestTheFirstKeyOfARunningClusterGoesThroughAllStages(t *testing.T) {
	e := newFakeEtcd(t, "")
	e.facts.Goal = ref("a")
	expect(t, e.runToEnd(), "ReadKey: - a", "WriteKey: a", "Reencrypt: a", "Done: a")
}

func TestTheKeyOfANewClusterWritesAtOnce(t *testing.T) {
	e := newFakeEtcd(t, "")
	e.facts.Running, e.facts.Goal = false, ref("a")
	expect(t, e.runToEnd(), "WriteKey: a", "Reencrypt: a", "Done: a")
}

// An operator before this one left every key in the configuration.
func TestKeysOfEarlierVersionsAreAdopted(t *testing.T) {
	e := newFakeEtcd(t, "c b a")
	e.facts.Goal = ref("c")
	expect(t, e.runToEnd(), "WriteKey: c b a", "Reencrypt: c b a", "Retain: c b a", "Drop: c", "Done: c")
}

func TestAKeyMayChangeDuringAnUpgradeOfTheOperator(t *testing.T) {
	e := newFakeEtcd(t, "b a")
	e.facts.Goal = ref("c")
	e.written = map[string]bool{"a": true, "b": true}
	expect(t, e.runToEnd(), "WriteKey: b a", "ReadKey: b c a", "WriteKey: c b a", "Reencrypt: c b a", "Retain: c b a", "Drop: c", "Done: c")
}

// The way of users that name the new key as backupKey first.
func TestABackupKeyIsReadAndDoesNotWrite(t *testing.T) {
	e := done(t, "a")
	e.facts.Backup = ref("b")
	e.facts.Present = configuration("a b")
	e.facts.Goal, e.facts.Backup = ref("b"), ref("a")
	expect(t, e.runToEnd(), "ReadKey: a b", "WriteKey: b a", "Reencrypt: b a", "Done: b a")
	e.facts.Backup = nil
	next := Desired(e.st, nil, e.facts.Present.Keys)
	if text(&next) != "b" {
		t.Errorf("without a backupKey the keys are %s", text(&next))
	}
}

func TestAKeyThatIsChangedAgainExtendsTheMove(t *testing.T) {
	until := func(t *testing.T, stage hyperv1.SecretEncryptionStage) *fakeEtcd {
		e := done(t, "a")
		e.facts.Goal = ref("b")
		for range 10 {
			if e.plan(); Current(e.st).Stage == stage {
				return e
			}
			if Current(e.st).Stage == hyperv1.SecretEncryptionReencrypt {
				e.rewrite()
			}
			if Current(e.st).Stage == hyperv1.SecretEncryptionRetain {
				e.facts.Now = e.facts.Now.Add(RetainFor)
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
			e := until(t, stage)
			e.facts.Goal = ref("c")
			expect(t, e.runToEnd(), want...)
		})
	}
	t.Run("back, before anything was encrypted with it", func(t *testing.T) {
		e := until(t, hyperv1.SecretEncryptionReadKey)
		e.facts.Goal = ref("a")
		expect(t, e.runToEnd(), "Done: a")
	})
	t.Run("back, after something was", func(t *testing.T) {
		e := until(t, hyperv1.SecretEncryptionReencrypt)
		e.facts.Goal = ref("a")
		expect(t, e.runToEnd(), "ReadKey: b a", "WriteKey: a b", "Reencrypt: a b", "Retain: a b", "Drop: a", "Done: a")
	})
}

// A user, or a program, that changes the key all the time.
func TestTheStatusNamesEveryKeyHoweverOftenItChanges(t *testing.T) {
	e := done(t, "a")
	for i := range 40 {
		e.facts.Goal = ref(fmt.Sprintf("k%d", i))
		for range 2 { // as far as the stage in which it writes
			e.plan()
		}
		if len(e.st.History) > maxMoves {
			t.Fatalf("the status has %d moves", len(e.st.History))
		}
	}
	if !Overtaken(e.st, e.facts) {
		t.Error("it turned to every key")
	}
	for name := range e.written {
		if e.replaced(name) {
			t.Errorf("key %s has encrypted something, and nobody knows", name)
		}
	}
	if got := e.runToEnd(); len(got) == 0 || !strings.HasSuffix(got[len(got)-1], "Done: k39") {
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
		e := done(t, "a")
		e.facts.Goal = nil
		expect(t, e.runToEnd(), "Done: a")
	})
	for name, spoil := range map[string]func(*fakeEtcd){
		"API servers that still run something else":   func(e *fakeEtcd) { e.facts.RolledOut = false },
		"a configuration that somebody has changed":   func(e *fakeEtcd) { e.facts.Present = configuration("a") },
		"a configuration that somebody has deleted":   func(e *fakeEtcd) { e.facts.Present = nil },
		"a configuration in another order than asked": func(e *fakeEtcd) { e.facts.Present = configuration("b a") },
	} {
		t.Run(name, func(t *testing.T) {
			e := done(t, "a")
			e.facts.Goal = ref("b")
			e.plan()
			spoil(e)
			if st := Next(e.st, e.facts); Current(st).Stage != hyperv1.SecretEncryptionReadKey {
				t.Errorf("it goes on to %s", Current(st).Stage)
			}
		})
	}
	t.Run("Secrets that are not all rewritten", func(t *testing.T) {
		e := done(t, "a")
		e.facts.Goal = ref("b")
		for range 6 {
			e.plan()
		}
		if e.String() != "Reencrypt: b a" || e.st.ActiveKey.Name != "a" {
			t.Errorf("it is %s", e)
		}
	})
}

// A Secret that gets another name keeps its key.
func TestARenamedKeyIsTheSameKey(t *testing.T) {
	e := done(t, "a")
	renamed := key("a")
	renamed.Name = "z"
	e.facts.Goal = &renamed
	e.plan()
	if e.st.ActiveKey.Name != "z" || e.st.TargetKey != nil {
		t.Errorf("the status is %+v", e.st)
	}
}
