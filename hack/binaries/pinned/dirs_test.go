package pinned

import (
	"strings"
	"testing"
)

func TestFirstRunNeedsDisk(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("HYPERSHIFT_CACHE", cache)
	if err := checkFirstRun(0); err != nil {
		t.Error(err)
	}
	if err := checkFirstRun(1 << 40); err == nil || !strings.HasPrefix(err.Error(), cache+" has ") {
		t.Errorf("a first run that needs more disk than there is: %v", err)
	}
}
