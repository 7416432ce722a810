package crashtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each bad controller is found under every fault that can show it, and a good
// one is not blamed (TestAGoodControllerPasses).
func TestFaultsFindBadControllers(t *testing.T) {
	for name, tc := range map[string]struct {
		bug    func(*toy)
		unseen map[string]bool // faults under which there is nothing to see
	}{
		"one that makes another thing with each try": {
			func(y *toy) { y.newNameEachTime = true },
			map[string]bool{"the cache cannot be read": true, "a write takes effect, and nobody says": true},
		},
		"one that does not tell that a write failed": {
			func(y *toy) { y.swallows = true },
			map[string]bool{"the cache cannot be read": true},
		},
	} {
		b := begin(tc.bug)
		want := finalState(t, b)
		for fault, f := range apiFaults {
			t.Run(name+": "+fault, func(t *testing.T) {
				s := &spy{TB: t}
				s.watch(func() { faultAPI(s, b, want, f) })
				if s.failed == tc.unseen[fault] {
					t.Errorf("found is %v", s.failed)
				}
			})
		}
	}
}

func TestWhichCallsAreSpoiled(t *testing.T) {
	w := &faults{}
	w.set(apiFaults["the API server is slow"])
	came := map[string]string{} // of each call, in order: o came through, x was spoiled
	for range 5 {
		for what, do := range map[string]func(string, func() error) error{"patch a": w.write, "patch b": w.write, "get a": w.read, "get b": w.read} {
			mark := "x"
			_ = do(what, func() error { mark = "o"; return nil })
			came[what] += mark
		}
	}
	want := map[string]string{"patch a": "xoxox", "patch b": "xoxox", "get a": "xxooo", "get b": "xxooo"}
	if d := cmp.Diff(want, came); d != "" || w.injected() != 10 {
		t.Errorf("%d spoiled, want 10 (-want +got):\n%s", w.injected(), d)
	}
}

func TestALateFaultTakesEffect(t *testing.T) {
	w := &faults{}
	w.set(apiFaults["a write takes effect, and nobody says"])
	made := false
	if err := w.write("patch", func() error { made = true; return nil }); err == nil || !made {
		t.Errorf("made is %v, said is %v", made, err)
	}
}
