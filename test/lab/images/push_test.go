package images

import (
	"context"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/hosted-control-planes/hypershift/test/fixture/registry"
)

// imageOf is an image of one program.
func imageOf(t *testing.T, s shelf, content string) v1.Image {
	t.Helper()
	source := program(t, content)
	i := image{name: "program", entrypoint: []string{"/program"}, user: "65532:65532", more: func(context.Context, *workshop) ([]file, error) {
		return []file{{path: "/program", source: source, mode: 0o755}}, nil
	}}
	img, err := i.build(t.Context(), &workshop{shelf: s})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestOnlyMissingImagesArePushed(t *testing.T) {
	reg, err := registry.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Stop() })
	o, s := Options{Registry: reg.Host, Progress: t.Output()}, shelf{t.TempDir()}
	push := func(content string) (ref string, writes []string) {
		t.Helper()
		before := len(reg.Requests())
		ref, err := o.push(t.Context(), "program", tag("1.36.3"), imageOf(t, s, content))
		if err != nil {
			t.Fatal(err)
		}
		for _, request := range reg.Requests()[before:] {
			if method, _, _ := strings.Cut(request, " "); !slices.Contains([]string{"GET", "HEAD"}, method) {
				writes = append(writes, request)
			}
		}
		return ref, writes
	}

	first, writes := push("one")
	if len(writes) == 0 {
		t.Error("a new image is not pushed")
	}
	if at, err := reg.Digest(t.Context(), reg.Host+"/program:v1.36.3"); err != nil || at != first {
		t.Errorf("the tag refers to %s, %v; want %s", at, err, first)
	}
	if again, writes := push("one"); again != first || len(writes) > 0 {
		t.Errorf("the same image is %s, and is pushed with %q", again, writes)
	}
	if changed, writes := push("two"); changed == first || len(writes) == 0 {
		t.Errorf("another image is %s, and is pushed with %q", changed, writes)
	}
}

func TestImageHasEntrypointAndUser(t *testing.T) {
	config, err := imageOf(t, shelf{t.TempDir()}, "content").ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; !slices.Equal(c.Entrypoint, []string{"/program"}) || c.User != "65532:65532" || config.OS != "linux" || !config.Created.IsZero() {
		t.Errorf("the configuration is %+v", config)
	}
}
