package trial

import "testing"

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
		for fault, f := range apiFaults {
			t.Run(name+": "+fault, func(t *testing.T) {
				s := &spy{TB: t}
				s.watch(func() { faultAPI(s, begin(tc.bug), f) })
				if s.failed == tc.unseen[fault] {
					t.Errorf("found is %v", s.failed)
				}
			})
		}
	}
}

func TestEveryCallIsSpoiledTheFirstTimes(t *testing.T) {
	w := &weather{}
	w.turn(apiFaults["the API server is slow"])
	made := 0
	for range often + 1 {
		for _, what := range []string{"a", "b"} {
			_ = w.write("patch "+what, func() error { made++; return nil })
			_ = w.read("get "+what, func() error { made++; return nil })
		}
	}
	if made != 4 || w.strikes() != 4*often {
		t.Errorf("%d calls came through and %d did not, want 4 and %d", made, w.strikes(), 4*often)
	}
	w.turn(apiFaults["a write takes effect, and nobody says"])
	if err := w.write("patch a", func() error { made++; return nil }); err == nil || made != 5 {
		t.Errorf("a late fault: %v after %d calls", err, made)
	}
}
