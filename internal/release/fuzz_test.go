package release

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// A pull secret gives credentials to the registries that it names, and to no other one. No error quotes it.
func FuzzCredentials(f *testing.F) {
	for _, text := range []string{
		`{"auths":{"KEY":{"auth":"dXNlcjpoYXJkLXRvLWd1ZXNz"}}}`, `{"auths":{"KEY":{"username":"a","password":"hard-to-guess"}}}`, `{"auths":{"KEY":{"auth":"hard-to-guess"}}}`,
		`{"auths":{"KEY":"hard-to-guess"}}`, `{"auths":null}`, `hard-to-guess`, `{"auths":{"KEY":{"auth":7}},"auths":{}}`,
	} {
		for _, key := range []string{"quay.io", "https://quay.io/v2/", "*.io", "[", "quay.io/a", "QUAY.IO", "quay.io:443", "evil.io/quay.io", "*"} {
			f.Add(text, key, "quay.io/a/b:1")
		}
	}
	f.Fuzz(func(t *testing.T, text, key, image string) {
		ref, err := name.ParseReference(image)
		if err != nil || strings.ContainsAny(key, "\"\\") {
			return
		}
		auth, id, err := credentials([]byte(strings.ReplaceAll(text, "KEY", key)), ref.Context())
		for cause := err; cause != nil; cause = errors.Unwrap(cause) {
			if strings.Contains(cause.Error(), "hard-to-guess") && !strings.Contains(key+image, "hard-to-guess") {
				t.Errorf("the error has the password: %v", cause)
			}
		}
		if err != nil || auth == authn.Anonymous {
			return
		}
		if id == "" {
			t.Error("credentials without an identifier")
		}
		if _, err := auth.Authorization(); err != nil && strings.Contains(err.Error(), "hard-to-guess") {
			t.Errorf("the error has the password: %v", err)
		}
		// The host of the registry, or a pattern of as many names.
		host := strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
		host, _, _ = strings.Cut(host, "/")
		if registry := ref.Context().RegistryStr(); strings.Contains(text, "KEY") && strings.Count(text, `":{`) == 2 && !strings.ContainsAny(host, "*?[") && host != registry && registry != name.DefaultRegistry {
			t.Errorf("credentials of %q are sent to %s", key, registry)
		}
	})
}

// Overrides and repositories are written as they are read. An accepted repository never allows another registry. A pinned image stays in
// its repository.
func FuzzImages(f *testing.F) {
	for _, list := range []string{"quay.io=mirror.test/quay,quay.io/a=mirror.test:5000/special/", "a=b=c", "=", "quay.io/example", "quay.io, mirror.test:5000/a/", "/", "quay.io/a@sha256:0", ",", "quay.io//a"} {
		for _, image := range []string{"quay.io/a/b:1", "etcd", "quay.io/a@sha256:" + zeros64, "quay.io.example.test/a:1", "quay.io:443/a:1@sha256:" + zeros64, "localhost/a"} {
			f.Add(list, image)
		}
	}
	f.Fuzz(func(t *testing.T, list, image string) {
		if overrides, err := ParseOverrides(list); err == nil {
			again, err := ParseOverrides(overrides.String())
			if diff := cmp.Diff(overrides, again); err != nil || diff != "" {
				t.Errorf("overrides that are read again: %v\n%s", err, diff)
			}
			if got := overrides.Apply(image); got != image && !slices.ContainsFunc(overrides, func(o Override) bool { return strings.HasPrefix(image, o.Source) && strings.HasPrefix(got, o.Mirror) }) {
				t.Errorf("%s is pulled as %s", image, got)
			}
		}
		ref, err := name.ParseReference(image)
		if err != nil {
			return
		}
		if repositories, err := ParseRepositories(list); err == nil && len(repositories) > 0 {
			again, err := ParseRepositories(repositories.String())
			if diff := cmp.Diff(repositories, again); err != nil || diff != "" {
				t.Errorf("repositories that are read again: %v\n%s", err, diff)
			}
			registry := strings.Replace(ref.Context().RegistryStr(), name.DefaultRegistry, "docker.io", 1)
			if repositories.allow(image) == nil && !slices.ContainsFunc(repositories, func(r string) bool { return r == registry || strings.HasPrefix(r, registry+"/") }) {
				t.Errorf("%s is allowed by %q", image, repositories)
			}
		}
		pinned, err := name.ParseReference(Pin(image, "sha256:"+zeros64))
		if err != nil {
			t.Fatalf("%q is pinned as %q: %v", image, Pin(image, "sha256:"+zeros64), err)
		}
		if _, exact := pinned.(name.Digest); !exact || pinned.Context().Name() != ref.Context().Name() {
			t.Errorf("%q is pinned as %s", image, pinned)
		}
	})
}
