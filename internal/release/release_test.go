package release_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	clocktesting "k8s.io/utils/clock/testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/release/payload"
	"github.com/hosted-control-planes/hypershift/test/fixture/registry"
)

// fakeRegistry is a registry and its client.
type fakeRegistry struct {
	*registry.Registry
	clock    *clocktesting.FakePassiveClock
	releases *release.Registry
}

func newFakeRegistry(t *testing.T) *fakeRegistry {
	reg, err := registry.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Stop() })
	clock := clocktesting.NewFakePassiveClock(time.Now())
	return &fakeRegistry{reg, clock, release.New(release.Options{Clock: clock, Wait: time.Minute})}
}

func (e *fakeRegistry) push(t *testing.T, as string, d *payload.Description) string {
	t.Helper()
	image, err := e.Push(t.Context(), as, d)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func (e *fakeRegistry) pushFiles(t *testing.T, as string, files map[string]string) string {
	t.Helper()
	content := map[string][]byte{}
	for name, text := range files {
		content[name] = []byte(text)
	}
	image, err := payload.ImageOf(content)
	if err != nil {
		t.Fatal(err)
	}
	return e.pushImage(t, as, image)
}

func (e *fakeRegistry) pushImage(t *testing.T, as string, image v1.Image) string {
	t.Helper()
	name, err := e.PushImage(t.Context(), as, image)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func (e *fakeRegistry) pushIndex(t *testing.T, as string, index v1.ImageIndex) string {
	t.Helper()
	name, err := e.PushIndex(t.Context(), as, index)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func (e *fakeRegistry) resolve(t *testing.T, image string, pullSecret string) *release.Release {
	t.Helper()
	r, err := e.releases.Resolve(t.Context(), image, []byte(pullSecret))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// kind returns the kind of the resolution's error.
func (e *fakeRegistry) kind(t *testing.T, image, pullSecret string) release.Kind {
	t.Helper()
	r, err := e.releases.Resolve(t.Context(), image, []byte(pullSecret))
	if err == nil {
		t.Fatalf("%s is release %+v", image, r)
	}
	return release.KindOf(err)
}

// asked returns the number of requests that do sends.
func (e *fakeRegistry) asked(do func()) int {
	before := len(e.Requests())
	do()
	return len(e.Requests()) - before
}

// someDigest is the digest of an image that is never read.
const someDigest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func kubernetes() *payload.Description {
	return &payload.Description{
		Version:    "1.36.3",
		Components: map[string]string{"etcd": "registry.example.test/etcd@" + someDigest, "kube-apiserver": "registry.example.test/kube-apiserver@" + someDigest},
		BootImages: map[hyperv1.Architecture]map[string]release.BootImage{
			hyperv1.ArchitectureAMD64: {"us-east-1": {AMI: "ami-a"}},
			hyperv1.ArchitectureARM64: {"us-east-1": {AMI: "ami-b"}, "eu-west-1": {AMI: "ami-c", UserDataFormat: hyperv1.UserDataFormatCloudConfig, RootDevice: "/dev/sda1"}},
		},
	}
}

func secretFor(host, user, password string) string {
	return fmt.Sprintf(`{"auths": {%q: {"username": %q, "password": %q}}}`, host, user, password)
}

func TestAReleaseHasTheContentOfItsPayload(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "kubernetes:v1.36.3", kubernetes())
	byDigest, err := e.Digest(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{image, byDigest} {
		got := e.resolve(t, name, "")
		want := &release.Release{
			Image: name, Digest: byDigest[strings.Index(byDigest, "sha256:"):],
			Version: "1.36.3", KubernetesVersion: "1.36.3", Architecture: hyperv1.Multi,
			Components: kubernetes().Components, BootImages: kubernetes().BootImages,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	r := e.resolve(t, image, "")
	if image, ok := r.BootImage(hyperv1.ArchitectureARM64, "eu-west-1"); image.AMI != "ami-c" || !ok {
		t.Errorf("the machine image is %+v", image)
	}
	if image, ok := r.BootImage(hyperv1.ArchitectureAMD64, "eu-west-1"); ok {
		t.Errorf("the machine image is %+v, and there is none", image)
	}
}

func TestAnIndexLeadsToItsImages(t *testing.T) {
	e := newFakeRegistry(t)
	image, err := kubernetes().Image()
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image})
	r := e.resolve(t, e.pushIndex(t, "kubernetes:multi", index), "")
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if r.Version != "1.36.3" || r.Digest != digest.String() {
		t.Errorf("got %s %s, want 1.36.3 %s", r.Version, r.Digest, digest)
	}
	if kind := e.kind(t, e.pushIndex(t, "empty:1", empty.Index), ""); kind != release.NotRelease {
		t.Errorf("an index without images is %s", kind)
	}
}

func TestErrorsAreClassified(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "kubernetes:v1.36.3", kubernetes())
	noise, err := random.Image(2000, 3)
	if err != nil {
		t.Fatal(err)
	}
	references := func(version, tags string) map[string]string {
		return map[string]string{"release-manifests/image-references": fmt.Sprintf(`{"kind": "ImageStream", "metadata": {"name": %q}, "spec": {"tags": [%s]}}`, version, tags)}
	}
	with := func(files map[string]string, name, text string) map[string]string {
		files[name] = text
		return files
	}
	for name, c := range map[string]struct {
		image, secret string
		want          release.Kind
	}{
		"a name that is none":             {"Not An Image", "", release.InvalidReference},
		"a tag that does not exist":       {image + "-alpha", "", release.NotFound},
		"a digest that does not exist":    {e.Host + "/kubernetes@sha256:" + strings.Repeat("0", 64), "", release.NotFound},
		"a pull secret that is no JSON":   {image, "{", release.InvalidPullSecret},
		"an entry that is no credential":  {image, `{"auths": {"` + e.Host + `": {"auth": "&"}}}`, release.InvalidPullSecret},
		"an image of something else":      {e.pushImage(t, "noise:1", noise), "", release.NotRelease},
		"an image without layers":         {e.pushImage(t, "empty:2", empty.Image), "", release.NotRelease},
		"references that are no JSON":     {e.pushFiles(t, "bad:1", map[string]string{"release-manifests/image-references": "{"}), "", release.NotRelease},
		"references of another kind":      {e.pushFiles(t, "bad:2", map[string]string{"release-manifests/image-references": "{}"}), "", release.NotRelease},
		"no version":                      {e.pushFiles(t, "bad:3", references("latest", "")), "", release.NotRelease},
		"no word about Kubernetes":        {e.pushFiles(t, "bad:4", references("4.21.3", "")), "", release.NotRelease},
		"a component without an image":    {e.pushFiles(t, "bad:5", references("1.36.3", `{"name": "etcd"}`)), "", release.NotRelease},
		"a component twice":               {e.pushFiles(t, "bad:6", references("1.36.3", `{"name": "etcd", "from": {"name": "a"}}, {"name": "etcd", "from": {"name": "b"}}`)), "", release.NotRelease},
		"boot images that are no YAML":    {e.pushFiles(t, "bad:7", with(references("1.36.3", ""), "release-manifests/1_coreos-bootimages.yaml", "a: b: c")), "", release.NotRelease},
		"boot images without a stream":    {e.pushFiles(t, "bad:8", with(references("1.36.3", ""), "release-manifests/1_coreos-bootimages.yaml", "data: {}")), "", release.NotRelease},
		"references that fill the memory": {e.pushFiles(t, "bad:9", map[string]string{"release-manifests/image-references": strings.Repeat(" ", 5<<20)}), "", release.NotRelease},
		"a port where nobody listens":     {"127.0.0.1:1/kubernetes:v1", "", release.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.releases.Resolve(t.Context(), c.image, []byte(c.secret))
			if got := release.KindOf(err); got != c.want {
				t.Fatalf("got %s (%v), want %s", got, err, c.want)
			}
			if !strings.Contains(err.Error(), c.image) {
				t.Errorf("%q does not name the image", err)
			}
			// A resolver with an empty cache returns the same sentence.
			if _, again := release.New(release.Options{Clock: e.clock, Wait: time.Minute}).Resolve(t.Context(), c.image, []byte(c.secret)); again == nil || again.Error() != err.Error() {
				t.Errorf("first %q, then %q", err, again)
			}
		})
	}
}

func TestOnlyCallersWithAccessGetARelease(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "kubernetes:v1.36.3", kubernetes())
	e.Login("alice", "secret")
	for name, secret := range map[string]string{
		"no pull secret":                    "",
		"a pull secret for another place":   secretFor("quay.io", "alice", "secret"),
		"a pull secret for another cluster": secretFor(e.Host+"/other", "alice", "secret"),
		"a wrong password":                  secretFor(e.Host, "alice", "guess"),
	} {
		if kind := e.kind(t, image, secret); kind != release.Denied {
			t.Errorf("%s: %s", name, kind)
		}
	}
	if r := e.resolve(t, image, secretFor(e.Host, "alice", "secret")); r.Version != "1.36.3" {
		t.Errorf("version %s", r.Version)
	}
	byDigest, err := e.Digest(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	e.resolve(t, byDigest, secretFor(e.Host, "alice", "secret"))
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	for _, name := range []string{image, byDigest} {
		if kind := e.kind(t, name, secretFor(e.Host, "bob", "secret")); kind != release.Denied {
			t.Errorf("what one may know is told to the other: %s", kind)
		}
	}
}

func TestServerErrorsAreUnreachable(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "kubernetes:v1.36.3", kubernetes())
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusTeapot} {
		e.Wrap(func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		})
		e.clock.SetTime(e.clock.Now().Add(time.Minute))
		if kind := e.kind(t, image, ""); kind != release.Unreachable {
			t.Errorf("%d: %s", status, kind)
		}
	}
	// Half of every blob arrives.
	e.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if strings.Contains(req.URL.Path, "/blobs/") {
				w = &half{ResponseWriter: w}
			}
			next.ServeHTTP(w, req)
		})
	})
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	if kind := e.kind(t, image, ""); kind != release.Unreachable {
		t.Errorf("half a layer: %s", kind)
	}
	// One bit of every blob is wrong: it decompresses to something else, or not at all, and is believed in neither case.
	e.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if strings.Contains(req.URL.Path, "/blobs/") {
				w = &flipped{ResponseWriter: w}
			}
			next.ServeHTTP(w, req)
		})
	})
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	if _, err := e.releases.Resolve(t.Context(), image, nil); err == nil {
		t.Error("a forged layer is believed")
	}
	e.Wrap(nil)
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	e.resolve(t, image, "")
}

// half cuts the connection in the middle of a body.
type half struct{ http.ResponseWriter }

func (h *half) Write(p []byte) (int, error) {
	if _, err := h.ResponseWriter.Write(p[:len(p)/2]); err != nil {
		return 0, err
	}
	panic(http.ErrAbortHandler)
}

// flipped changes the last byte of a body: the size that gzip wrote there.
type flipped struct{ http.ResponseWriter }

func (f *flipped) Write(p []byte) (int, error) {
	q := append([]byte(nil), p...)
	q[len(q)-1] ^= 1
	return f.ResponseWriter.Write(q)
}

func TestACachedReleaseIsNotDownloadedAgain(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "kubernetes:v1.36.3", kubernetes())
	byDigest, err := e.Digest(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	e.resolve(t, image, "")
	e.resolve(t, byDigest, "")
	if n := e.asked(func() { e.resolve(t, image, ""); e.resolve(t, byDigest, "") }); n != 0 {
		t.Errorf("%d requests for what is known", n)
	}
	e.clock.SetTime(e.clock.Now().Add(30 * 24 * time.Hour))
	if n := e.asked(func() { e.resolve(t, byDigest, "") }); n != 0 {
		t.Errorf("%d requests for a digest, which never changes", n)
	}
	// Two: the protocol's greeting, and the manifest.
	if n := e.asked(func() { e.resolve(t, image, "") }); n != 2 {
		t.Errorf("%d requests for an old tag, want 2", n)
	}
}

func TestAMovedTagIsFollowedAfterItsTTL(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "kubernetes:stable", kubernetes())
	e.resolve(t, image, "")
	newer := kubernetes()
	newer.Version = "1.36.4"
	e.push(t, "kubernetes:stable", newer)
	if r := e.resolve(t, image, ""); r.Version != "1.36.3" {
		t.Errorf("version %s is news at once", r.Version)
	}
	e.clock.SetTime(e.clock.Now().Add(2 * time.Hour))
	if r := e.resolve(t, image, ""); r.Version != "1.36.4" {
		t.Errorf("version %s after hours", r.Version)
	}
}

func TestAnUnreachableRegistryDoesNotInvalidateTheCache(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "kubernetes:stable", kubernetes())
	e.resolve(t, image, "")
	e.Wrap(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	})
	for range 3 {
		e.clock.SetTime(e.clock.Now().Add(2 * time.Hour))
		e.resolve(t, image, "")
	}
	e.Login("alice", "secret")
	e.clock.SetTime(e.clock.Now().Add(2 * time.Hour))
	if kind := e.kind(t, image, ""); kind != release.Denied {
		t.Errorf("a registry that refuses: %s", kind)
	}
}

func TestAFailureIsCachedBriefly(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.Host + "/kubernetes:v1.36.3"
	e.kind(t, image, "")
	e.push(t, "kubernetes:v1.36.3", kubernetes())
	if n := e.asked(func() { e.kind(t, image, "") }); n != 0 {
		t.Errorf("%d requests a moment after a failure", n)
	}
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	e.resolve(t, image, "")
}

func TestACorrectedTagIsFoundSoon(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.pushFiles(t, "kubernetes:v1.36.3", map[string]string{"README": "wrong"})
	if kind := e.kind(t, image, ""); kind != release.NotRelease {
		t.Fatal(kind)
	}
	e.push(t, "kubernetes:v1.36.3", kubernetes())
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	e.resolve(t, image, "")
}

func TestParallelCallersShareOneDownload(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "kubernetes:v1.36.3", kubernetes())
	n := e.asked(func() {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { e.resolve(t, image, "") })
		}
		wg.Wait()
	})
	// Greeting, manifest, layer.
	if n != 3 {
		t.Errorf("%d requests for 50 who ask, want 3", n)
	}
}

func TestASlowRegistryDoesNotBlockCallers(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "kubernetes:v1.36.3", kubernetes())
	e.releases = release.New(release.Options{Clock: e.clock, Wait: 10 * time.Millisecond})
	reached, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	e.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			once.Do(func() { close(reached) })
			<-answer
			next.ServeHTTP(w, req)
		})
	})
	_, err := e.releases.Resolve(t.Context(), image, nil)
	if !release.IsUnreachable(err) || !strings.Contains(err.Error(), "no answer in time") {
		t.Fatalf("who asks is told %v", err)
	}
	<-reached
	n := e.asked(func() {
		close(answer)
		for {
			if _, err = e.releases.Resolve(t.Context(), image, nil); err == nil {
				return
			}
			if !release.IsUnreachable(err) {
				t.Fatal(err)
			}
		}
	})
	// The greeting was underway; manifest and layer follow, once.
	if n != 2 {
		t.Errorf("%d more requests, want 2", n)
	}
}

func TestMirrorsOfAClusterAreTriedFirst(t *testing.T) {
	e := newFakeRegistry(t)
	image := e.push(t, "mirror/kubernetes:v1.36.3", kubernetes())
	byDigest, err := e.Digest(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	digest := byDigest[strings.Index(byDigest, "@"):]
	empty, away := e.Host+"/empty", "127.0.0.1:1/away"
	for name, c := range map[string]struct {
		image   string
		mirrors []string
		want    release.Kind // empty if it is found
	}{
		"the first mirror has it":               {e.Host + "/source" + digest, []string{e.Host + "/mirror/kubernetes", away}, ""},
		"the second has it":                     {e.Host + "/source" + digest, []string{empty, e.Host + "/mirror/kubernetes"}, ""},
		"one is away, and the next has it":      {e.Host + "/source" + digest, []string{away, e.Host + "/mirror/kubernetes"}, ""},
		"only the source has it":                {byDigest, []string{away, empty}, ""},
		"nobody has it":                         {e.Host + "/source" + digest, []string{empty}, release.NotFound},
		"who might have it is away":             {e.Host + "/source" + digest, []string{away, empty}, release.Unreachable},
		"a tag is something else in each place": {e.Host + "/source:v1.36.3", []string{e.Host + "/mirror/kubernetes"}, release.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			source, _, _ := strings.Cut(c.image, "@")
			sources := []hyperv1.ImageContentSource{{Source: "quay.io/other", Mirrors: []string{"127.0.0.1:1/other"}}, {Source: source, Mirrors: c.mirrors}}
			rel, err := release.From(sources, e.releases).Resolve(t.Context(), c.image, nil)
			if release.KindOf(err) != c.want {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if err == nil && (rel.Version != "1.36.3" || rel.Image != c.image) {
				t.Errorf("release %s of %s", rel.Version, rel.Image)
			}
		})
	}
	if got := release.From(nil, e.releases); got != release.Resolver(e.releases) {
		t.Error("a cluster without mirrors has a resolver of its own")
	}
}

func TestOverridesReplaceTheRegistry(t *testing.T) {
	e := newFakeRegistry(t)
	e.push(t, "mirror/kubernetes:v1.36.3", kubernetes())
	overrides, err := release.ParseOverrides("quay.io/example=" + e.Host + "/mirror, registry.example.test/etcd=mirror.example.test/db")
	if err != nil {
		t.Fatal(err)
	}
	e.releases = release.New(release.Options{Clock: e.clock, Wait: time.Minute, Overrides: overrides})
	r := e.resolve(t, "quay.io/example/kubernetes:v1.36.3", "")
	if r.Image != "quay.io/example/kubernetes:v1.36.3" {
		t.Errorf("image is %s", r.Image)
	}
	want := map[string]string{"etcd": "mirror.example.test/db@" + someDigest, "kube-apiserver": "registry.example.test/kube-apiserver@" + someDigest}
	if diff := cmp.Diff(want, r.Components); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
}
