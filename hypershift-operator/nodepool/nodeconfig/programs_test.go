package nodeconfig_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// installer is a machine with a real shell that installs the programs of a release, and a registry that has them.
type installer struct {
	t          *testing.T
	root       string // the directory that is / to the script
	path       string // where the script finds programs
	blobs      map[string][]byte
	token      string // if set, the registry requires it, and issues it
	status     int    // if set, the registry answers it
	registry   *httptest.Server
	registries []string
	layer      string // digest
	requests   int
}

func newInstaller(t *testing.T) *installer {
	for _, program := range []string{"sh", "curl", "sed", "tar", "gzip", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s on this machine", program)
		}
	}
	i := &installer{t: t, root: t.TempDir(), blobs: map[string][]byte{}}
	i.path = i.root + "/opt/hypershift/bin:" + i.root + "/bin:" + os.Getenv("PATH")
	i.registry = httptest.NewServer(i)
	t.Cleanup(i.registry.Close)
	i.registries = []string{i.registry.URL + "/v2/releases/node-programs"}
	content := archive(t, map[string]string{
		"usr/local/bin/kubelet": "#!/bin/sh\necho Kubernetes v1.36.3\n", "usr/local/bin/containerd": "#!/bin/sh\necho containerd v2.3.7\n",
		"usr/local/bin/runc": "#!/bin/sh\n", "opt/cni/bin/bridge": "a plugin",
	})
	i.layer = fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	i.blobs[i.layer] = content
	i.write("/bin/systemctl", "#!/bin/sh\necho \"$@\" >>"+i.root+"/systemctl\n")
	i.write("/bin/sleep", "#!/bin/sh\nexec /bin/sleep 0.1\n")
	i.write("/dev/console", "")
	i.write("/etc/systemd/system/keep", "")
	return i
}

func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	packer := gzip.NewWriter(&out)
	w := tar.NewWriter(packer)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// ServeHTTP is a registry with the exchange of tokens that public registries require.
func (i *installer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.requests++
	if r.URL.Path == "/token" {
		if r.FormValue("service") != "registry" || r.FormValue("scope") != "repository:releases/node-programs:pull" {
			http.Error(w, "for what?", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"expires_in":300,"token": %q,"issued_at":"now"}`, i.token)
		return
	}
	if i.token != "" && r.Header.Get("Authorization") != "Bearer "+i.token {
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+i.registry.URL+`/token",service="registry",scope="repository:releases/node-programs:pull"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if i.status != 0 {
		w.WriteHeader(i.status)
		return
	}
	content, found := i.blobs[filepath.Base(r.URL.Path)]
	if !found {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content)
}

func (i *installer) write(path, content string) {
	i.t.Helper()
	path = filepath.Join(i.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		i.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		i.t.Fatal(err)
	}
}

func (i *installer) read(path string) string {
	i.t.Helper()
	text, err := os.ReadFile(filepath.Join(i.root, path))
	if err != nil {
		i.t.Fatal(err)
	}
	return string(text)
}

// run runs the script of the user data until it ends, or until it has printed a line to the console.
func (i *installer) run() {
	i.t.Helper()
	in := inputs()
	in.Version = "v1.36.3"
	in.Programs = &hyperv1.NodePrograms{
		Digest: "sha256:" + strings.Repeat("a", 64), Repositories: i.registries,
		Layers: []hyperv1.NodeProgramsLayer{{Digest: i.layer, Size: int64(len(i.blobs[i.layer]))}},
	}
	node := read(i.t, in, machine())
	for path, text := range node.Files {
		i.write(path, text)
	}
	text := node.Files["/etc/kubernetes/programs.sh"]
	for _, dir := range []string{"/etc/", "/opt/", "/run/", "/dev/console"} {
		text = strings.ReplaceAll(text, dir, i.root+dir)
	}
	ctx, cancel := context.WithTimeout(i.t.Context(), 20*time.Second)
	defer cancel()
	script := exec.CommandContext(ctx, "sh", "-c", text)
	script.Env = []string{"PATH=" + i.path}
	out := &bytes.Buffer{}
	script.Stdout, script.Stderr = out, out
	if err := script.Start(); err != nil {
		i.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- script.Wait() }()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				i.t.Fatalf("%v: %s", err, out)
			}
			return
		case <-again.C:
			if i.read("/dev/console") != "" {
				cancel()
				if err := <-ended; err == nil {
					i.t.Fatal("the script ended although it has failed")
				}
				return
			}
		}
	}
}

const started = "daemon-reload\n--no-block restart containerd.service\nenable --quiet containerd.service kubelet.service\n--no-block start containerd.service kubelet.service\n"

func TestProgramsAreInstalledFromTheRelease(t *testing.T) {
	for name, change := range map[string]func(*installer){
		"a registry without tokens":           func(*installer) {},
		"a registry with tokens for everyone": func(i *installer) { i.token = "t0k3n" },
		"a mirror that lacks the layer": func(i *installer) {
			i.registries = append([]string{i.registry.URL + "/v2/other?"}, i.registries...)
		},
		"a mirror that does not answer": func(i *installer) { i.registries = append([]string{"http://127.0.0.1:1/v2/other"}, i.registries...) },
		"an image with another version": func(i *installer) { i.write("/bin/kubelet", "#!/bin/sh\necho Kubernetes v1.35.4\n") },
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstaller(t)
			change(i)
			i.run()
			if got := i.read("/dev/console"); got != "" {
				t.Fatalf("the console: %s", got)
			}
			if got := i.read("/opt/hypershift/bin/kubelet"); got != "#!/bin/sh\necho Kubernetes v1.36.3\n" {
				t.Errorf("the kubelet is %q", got)
			}
			if got := i.read("/opt/cni/bin/bridge"); got != "a plugin" {
				t.Errorf("the plugin is %q", got)
			}
			if got := i.read("/etc/systemd/system/kubelet.service"); !strings.Contains(got, "ExecStart=/opt/hypershift/bin/kubelet\n") {
				t.Errorf("the unit is %q", got)
			}
			if got := i.read("/systemctl"); got != started {
				t.Errorf("systemctl was called with %q, want %q", got, started)
			}

			// The next boot needs no registry.
			before := i.requests
			i.run()
			if i.requests > before {
				t.Error("it was fetched again")
			}
		})
	}
}

func TestAnImageWithThisVersionUsesItsOwnPrograms(t *testing.T) {
	i := newInstaller(t)
	i.write("/bin/kubelet", "#!/bin/sh\necho Kubernetes v1.36.3\n")
	i.write("/bin/containerd", "#!/bin/sh\necho containerd github.com/containerd/containerd/v2 v2.1.4 abc\n")
	i.write("/bin/runc", "#!/bin/sh\n")
	i.run()
	if i.requests > 0 {
		t.Error("programs were fetched")
	}
	want := "cat containerd.service kubelet.service\nenable --quiet containerd.service kubelet.service\n--no-block start containerd.service kubelet.service\n"
	if got := i.read("/systemctl"); got != want {
		t.Errorf("systemctl was called with %q, want %q", got, want)
	}
}

func TestTheConsoleNamesWhyProgramsAreMissing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*installer)
		want   string
	}{
		"other content under the digest": {func(i *installer) { i.blobs[i.layer] = []byte("evil") }, "reason=WrongDigest message=layer "},
		"no registry":                    {func(i *installer) { i.registries = []string{"http://127.0.0.1:1/v2/a"} }, "reason=RegistryUnreachable message=curl: (7) "},
		"a registry in trouble":          {func(i *installer) { i.status = 503 }, "reason=RegistryUnreachable message=" + "http"},
		"a private registry":             {func(i *installer) { i.status = 403 }, "reason=RegistryUnauthorized message=http"},
		"a token that is refused":        {func(i *installer) { i.token, i.status = "t", 401 }, "reason=RegistryUnauthorized message=http"},
		"no such layer":                  {func(i *installer) { delete(i.blobs, i.layer) }, "reason=NotFound message=http"},
		"a full disk": {func(i *installer) {
			i.write("/bin/df", "#!/bin/sh\necho Filesystem 1024-blocks Used Available Capacity Mounted on\necho overlay 100 100 0 100% /\n")
		}, "reason=DiskFull message="},
		"a layer that is no archive": {func(i *installer) {
			i.layer = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("text")))
			i.blobs[i.layer] = []byte("text")
		}, "reason=UnpackFailed message="},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstaller(t)
			c.change(i)
			i.run()
			if got := i.read("/dev/console"); !strings.HasPrefix(got, "\nhypershift-node: "+c.want) || strings.Count(got, "\n") != 2 {
				t.Errorf("the console has %q, want %q", got, c.want)
			}
			if _, err := os.Stat(filepath.Join(i.root, "opt/hypershift/bin")); err == nil {
				t.Error("an incomplete version is in use")
			}
		})
	}
}

func TestScriptsAreValidShell(t *testing.T) {
	in := inputs()
	in.Programs = programs()
	for path, text := range read(t, in, machine()).Files {
		if !strings.HasSuffix(path, ".sh") {
			continue
		}
		check := exec.CommandContext(t.Context(), "sh", "-n")
		check.Stdin = strings.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", path, err, out)
		}
	}
}
