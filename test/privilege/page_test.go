package privilege

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/permissions.md")

func TestThePageIsUpToDate(t *testing.T) {
	path := filepath.Join(root, "docs", "permissions.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Page(string(text), must(ServiceAccounts(root))(t))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("go test ./test/privilege -update writes it anew (-want +got):\n%s", diff)
	}
}
