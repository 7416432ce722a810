package crashtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each incorrect controller fails under every fault that can reveal the bug. TestCorrectControllerPasses covers the
// correct one.
func TestIncorrectControllersFailUnderFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		bug        func(*toy)
		undetected map[string]bool // faults that cannot reveal the bug
	}{
		"a controller that creates another thing on every attempt": {
			func(y *toy) { y.notIdempotent = true },
			map[string]bool{"reads fail with an internal error": true, "a write takes effect but its response is lost": true},
		},
		"a controller that drops the error of a write": {
			func(y *toy) { y.dropsErrors = true },
			map[string]bool{"reads fail with an internal error": true},
		},
	} {
		b := newToy(tc.bug)
		want := convergedState(t, b)
		for fault, f := range apiFaults {
			t.Run(name+": "+fault, func(t *testing.T) {
				s := &failureRecorder{TB: t}
				s.run(func() { faultAPI(s, b, want, f) })
				if s.failed == tc.undetected[fault] {
					t.Errorf("the test failed: %v", s.failed)
				}
			})
		}
	}
}

func TestFaultsFailFirstReadsAndEveryOtherWrite(t *testing.T) {
	fs := &faults{}
	fs.set(apiFaults["requests time out"])
	results := map[string]string{} // of each call, in order: o succeeded, x failed
	for range 5 {
		for what, do := range map[string]func(string, func() error) error{"patch a": fs.write, "patch b": fs.write, "get a": fs.read, "get b": fs.read} {
			mark := "x"
			_ = do(what, func() error { mark = "o"; return nil })
			results[what] += mark
		}
	}
	want := map[string]string{"patch a": "xoxox", "patch b": "xoxox", "get a": "xxooo", "get b": "xxooo"}
	if d := cmp.Diff(want, results); d != "" || fs.injected() != 10 {
		t.Errorf("%d injected faults, want 10 (-want +got):\n%s", fs.injected(), d)
	}
}

func TestLateFaultLetsTheWriteTakeEffect(t *testing.T) {
	fs := &faults{}
	fs.set(apiFaults["a write takes effect but its response is lost"])
	made := false
	if err := fs.write("patch", func() error { made = true; return nil }); err == nil || !made {
		t.Errorf("the write took effect: %v, its error: %v", made, err)
	}
}
