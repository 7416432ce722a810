package clusterdump

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
)

// Secrets that must not be in a dump. The forms of the first two do not reveal them.
const (
	password  = "plain words of a passphrase"
	signature = "opaque.value.of.a.token"
	webToken  = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJlLW9mLXRva2Vu"
	presigned = "5e884898da28047151d0e56f8dc62927"
	otherLog  = "a line about clusters-other"
)

var forbidden = []string{
	password, signature, webToken, presigned, otherLog,
	base64.StdEncoding.EncodeToString([]byte(password)), base64.StdEncoding.EncodeToString([]byte(signature)),
}

// fakeSource is an API server with these objects, by resource and namespace.
type fakeSource struct {
	resources []Resource
	objects   map[string][]string
	logs      map[string]string
	denied    string
}

func (f *fakeSource) Resources(context.Context) ([]Resource, error) {
	return f.resources, errors.New("metrics.k8s.io is not available")
}

func (f *fakeSource) List(_ context.Context, r Resource, namespace string) (all []unstructured.Unstructured, _ error) {
	key := r.name() + "/" + namespace
	if key == f.denied {
		return nil, apierrors.NewForbidden(r.GroupResource(), "", errors.New("no role has it"))
	}
	for _, text := range f.objects[key] {
		u := unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

func (f *fakeSource) Logs(_ context.Context, namespace, pod, container string, previous bool) ([]byte, error) {
	if previous {
		container += ".previous"
	}
	return []byte(f.logs[namespace+"/"+pod+"/"+container]), nil
}

func namespaced(group, version, resource string) Resource {
	return Resource{schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, true}
}

var configMaps, events, hostedClusters = namespaced("", "v1", "configmaps"), namespaced("", "v1", "events"), namespaced("hypershift.openshift.io", "v1beta1", "hostedclusters")

func secretOf(name, value string) string {
	return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"` + name + `"},"data":{"key":"` + base64.StdEncoding.EncodeToString([]byte(value)) + `"}}`
}

const runningPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","env":[{"name":"X_PASSWORD","value":"` + password + `"}]}]},
	"status":{"containerStatuses":[{"name":"c","restartCount":1,"state":{"running":{}}}]}}`

func newDump() Dump {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}
	hc.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Broken", Message: "cannot use " + signature}}
	management := &fakeSource{
		resources: []Resource{secrets, pods, configMaps, events, hostedClusters},
		denied:    "events/clusters-demo",
		objects: map[string][]string{
			"secrets/clusters-demo":    {secretOf("s", password)},
			"secrets/clusters":         {secretOf("demo-pull-secret", signature), secretOf("other-secret", "the secret of another cluster")},
			"pods/clusters-demo":       {runningPod},
			"pods/hypershift":          {runningPod},
			"configmaps/clusters-demo": {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"` + password + `"}},"data":{"config":"a: ` + password + `","url":"https://b/k?X-Amz-Signature=` + presigned + `"}}`},
			"events/clusters": {
				`{"apiVersion":"v1","kind":"Event","metadata":{"name":"mine"},"involvedObject":{"kind":"HostedCluster","name":"demo"},"message":"` + base64.StdEncoding.EncodeToString([]byte(password)) + `"}`,
				`{"apiVersion":"v1","kind":"Event","metadata":{"name":"foreign"},"involvedObject":{"kind":"HostedCluster","name":"other"},"message":"x"}`,
			},
			"hostedclusters.hypershift.openshift.io/clusters": {`{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"HostedCluster","metadata":{"name":"demo"}}`, `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"HostedCluster","metadata":{"name":"other"}}`},
		},
		logs: map[string]string{
			"clusters-demo/p/c":          "login with " + password + "\nAuthorization: Bearer " + webToken + "\nthe last line",
			"clusters-demo/p/c.previous": "panic: " + signature,
			"hypershift/p/c":             "reconciling clusters/demo with " + password + "\n" + otherLog + "\n",
		},
	}
	hosted := &fakeSource{
		resources: []Resource{secrets, configMaps, {schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, false}},
		objects: map[string][]string{
			"nodes/":                 {`{"apiVersion":"v1","kind":"Node","metadata":{"name":"../../../escape"},"status":{"message":"` + webToken + `"}}`},
			"configmaps/kube-system": {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"x":"` + signature + `"}}`},
		},
	}
	return Dump{
		Tree:       &clustertree.Objects{HostedCluster: hc},
		Management: management, Hosted: hosted, OperatorNamespace: "hypershift",
		AWS: map[string][]byte{"console/i-1.log": []byte("boot\nkubeadm join --token abcdef.0123456789abcdef " + password)}, AWSProblem: errors.New("denied for " + signature),
		Now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), Progress: func(string) {},
	}
}

// readDirectory returns the files by path.
func readDirectory(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readArchive(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(zip); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(header.Name, "/")
		files[name] = string(text)
	}
}

// TestNoSecretIsInADump is an attack: each secret is in objects, events, logs, conditions, errors and consoles.
func TestNoSecretIsInADump(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		sink func() (Sink, error)
		read func() map[string]string
	}{
		"directory": {func() (Sink, error) { return NewDirectory(filepath.Join(dir, "d")) }, func() map[string]string { return readDirectory(t, filepath.Join(dir, "d")) }},
		"archive":   {func() (Sink, error) { return NewArchive(filepath.Join(dir, "d.tar.gz"), time.Time{}) }, func() map[string]string { return readArchive(t, filepath.Join(dir, "d.tar.gz")) }},
	} {
		t.Run(name, func(t *testing.T) {
			sink, err := c.sink()
			if err != nil {
				t.Fatal(err)
			}
			missing, err := Run(t.Context(), newDump(), sink)
			if err := errors.Join(err, sink.Close()); err != nil {
				t.Fatal(err)
			}
			files := c.read()
			for path, text := range files {
				for _, secret := range forbidden {
					if strings.Contains(text, secret) {
						t.Errorf("%s has %s", path, secret)
					}
				}
				if strings.Contains(path, "../") || strings.Contains(path, "other") || strings.Contains(path, "foreign") {
					t.Errorf("%s must not be in the dump", path)
				}
			}
			for path, want := range map[string]string{
				"management/namespaces/clusters-demo/secrets/s.yaml":                              "key: <redacted>",
				"management/namespaces/clusters-demo/logs/p/c.log":                                "the last line",
				"management/namespaces/clusters-demo/logs/p/c.previous.log":                       "panic: <redacted>",
				"management/namespaces/clusters-demo/configmaps/m.yaml":                           "config: ",
				"management/namespaces/clusters/events/mine.yaml":                                 "HostedCluster",
				"management/namespaces/clusters/hostedclusters.hypershift.openshift.io/demo.yaml": "name: demo",
				"management/namespaces/clusters/secrets/demo-pull-secret.yaml":                    "key: <redacted>",
				"management/namespaces/hypershift/logs/p/c.log":                                   "reconciling clusters/demo",
				"hosted/cluster/nodes/%2e.%2f..%2f..%2fescape.yaml":                               "kind: Node",
				"hosted/namespaces/kube-system/configmaps/m.yaml":                                 "x: <redacted>",
				"aws/console/i-1.log":         "boot",
				"problems-of-the-cluster.txt": "Broken",
				"problems.txt":                "namespace clusters-demo: your permissions do not include 1 kinds of objects: events\n",
			} {
				if !strings.Contains(files[path], want) {
					t.Errorf("%s has %q, without %q", path, files[path], want)
				}
			}
			if missing.Unreadable < 2 || missing.Forbidden != 1 || strings.Count(files["problems.txt"], "\n") != missing.Unreadable+missing.Forbidden {
				t.Errorf("%+v:\n%s", missing, files["problems.txt"])
			}
		})
	}
}

func TestDirectoryOfAnEarlierDumpIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewDirectory(dir); err == nil {
		t.Error("files of two dumps would be mixed")
	}
	if _, err := NewArchive(filepath.Join(dir, "x"), time.Time{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file was overwritten: %v", err)
	}
}

func TestFileNames(t *testing.T) {
	names := []string{"a:b", "a_b", "..", ".", "a/b", "a%2fb", "a.b"}
	var files []string
	for _, name := range names {
		files = append(files, fileName(name))
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) != len(names) {
		t.Errorf("%v", files)
	}
	for _, f := range files {
		if f == "." || f == ".." || strings.ContainsAny(f, "/:") {
			t.Errorf("%s is no file name", f)
		}
	}
	if len(fileName(strings.Repeat("%", 100))) > 255 {
		t.Error("the name is too long for a file")
	}
}
