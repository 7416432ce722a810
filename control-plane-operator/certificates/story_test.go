package certificates

import (
	"testing"
)

func TestOnceMadeNothingIsWritten(t *testing.T) {
	w := newWorld(t)
	t.Logf("%d writes", w.pass())
	if n := w.pass(); n != 0 {
		t.Errorf("%d writes at rest:\n%v", n, w.Life.Log(0))
	}
}
