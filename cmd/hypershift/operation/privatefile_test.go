package operation

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAPrivateFileIsForItsUserOnly(t *testing.T) {
	dir := t.TempDir()
	existing := filepath.Join(dir, "existing")
	if err := os.WriteFile(existing, []byte("a longer text from before"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{existing, filepath.Join(dir, "new")} {
		if err := WritePrivate(path, []byte("secret")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || string(text) != "secret" || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %q with mode %v, %v", path, text, info.Mode().Perm(), err)
		}
	}
	if err := WritePrivate(os.DevNull, []byte("secret")); err != nil {
		t.Errorf("a device: %v", err)
	}
}
