package imagecheck

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/payload/publishedimages"
	"github.com/hosted-control-planes/hypershift/hack/payload/versions"
)

// withoutPods are images that no component runs.
var withoutPods = map[string]string{
	"pause":                     "container runtimes run it",
	"node-programs":             "machines copy its files",
	publishedimages.ExternalDNS: "test/chart checks the pods of the chart",
}

// The golden files have the pods of all components, in all variants.
func TestPodsFitThePublishedImages(t *testing.T) {
	used := map[string]bool{}
	for file, pods := range goldenPods(t) {
		for _, kubernetes := range versions.Kubernetes {
			find := func(image string) (publishedimages.Image, bool) {
				name, _, _ := strings.Cut(path.Base(image), ":")
				used[name] = true
				return publishedimages.Of(name, kubernetes)
			}
			for name, pod := range pods {
				for _, problem := range Pod(pod, find) {
					t.Errorf("%s, Kubernetes %s: %s: %s", file, kubernetes, name, problem)
				}
			}
		}
	}
	for _, i := range publishedimages.Table {
		if _, without := withoutPods[i.Name]; without == used[i.Name] {
			t.Errorf("a golden file has a pod with image %s: %v", i.Name, used[i.Name])
		}
	}
}

// goldenPods returns the pods of each golden file of the operators.
func goldenPods(t *testing.T) map[string]map[string]*corev1.PodSpec {
	t.Helper()
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]map[string]*corev1.PodSpec{}
	for _, operator := range []string{"control-plane-operator", "hypershift-operator"} {
		err := filepath.WalkDir(filepath.Join(root, operator), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Base(filepath.Dir(file)) != "testdata" || filepath.Ext(file) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, file)
			files[name] = podsIn(t, text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func podsIn(t *testing.T, text []byte) map[string]*corev1.PodSpec {
	t.Helper()
	pods := map[string]*corev1.PodSpec{}
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		var meta struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
		}
		if err := yaml.Unmarshal(doc, &meta); err != nil {
			continue // not a list of objects
		}
		var w any
		var pod *corev1.PodSpec
		switch meta.Kind {
		case "Deployment":
			d := &appsv1.Deployment{}
			w, pod = d, &d.Spec.Template.Spec
		case "StatefulSet":
			s := &appsv1.StatefulSet{}
			w, pod = s, &s.Spec.Template.Spec
		case "DaemonSet":
			d := &appsv1.DaemonSet{}
			w, pod = d, &d.Spec.Template.Spec
		case "CronJob":
			c := &batchv1.CronJob{}
			w, pod = c, &c.Spec.JobTemplate.Spec.Template.Spec
		case "Pod", "Job", "ReplicaSet":
			t.Errorf("the pods of a %s are not checked", meta.Kind)
			continue
		default:
			continue
		}
		if err := yaml.Unmarshal(doc, w); err != nil {
			t.Fatal(err)
		}
		pods[meta.Kind+" "+meta.Name] = pod
	}
	return pods
}
