package kubeapiserver

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// collector is the part of config/audit/fluent-bit.yaml that depends on this project. Fluent Bit itself is not run.
type collector struct {
	Path        string `json:"path"`
	ExcludePath string `json:"exclude_path"`
	TagRegex    string `json:"tag_regex"`
	Tag         string `json:"tag"`
}

// readCollector returns the input, and the expressions of the filter by key.
func readCollector(t *testing.T) (in collector, filter map[string]*regexp.Regexp, key string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "audit", "fluent-bit.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Pipeline struct {
			Inputs  []collector `json:"inputs"`
			Filters []struct {
				Regex []string `json:"regex"`
			} `json:"filters"`
			Outputs []struct {
				KeyFormat string `json:"s3_key_format"`
			} `json:"outputs"`
		} `json:"pipeline"`
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var cm corev1.ConfigMap
		if yaml.Unmarshal([]byte(document), &cm) == nil && cm.Kind == "ConfigMap" {
			if err := yaml.Unmarshal([]byte(cm.Data["fluent-bit.yaml"]), &config); err != nil {
				t.Fatal(err)
			}
		}
	}
	filter = map[string]*regexp.Regexp{}
	for _, rule := range config.Pipeline.Filters[0].Regex {
		key, pattern, _ := strings.Cut(rule, " ")
		filter[key] = regexp.MustCompile(pattern)
	}
	return config.Pipeline.Inputs[0], filter, config.Pipeline.Outputs[0].KeyFormat
}

func TestCollectorReadsTheLogsOfControlPlanes(t *testing.T) {
	in, _, key := readCollector(t)
	const id = "5f0e6f9d0c6a4f0e8f6a5b4c3d2e1f005f0e6f9d0c6a4f0e8f6a5b4c3d2e1f00"
	for file, want := range map[string]string{
		"kube-apiserver-6d4cf56db6-x2x7p_clusters-example_kube-apiserver-" + id + ".log":            "/audit/clusters-example/%Y/%m/%d/%H/kube-apiserver-6d4cf56db6-x2x7p-%M%S-$UUID.gz",
		"kube-apiserver-6d4cf56db6-x2x7p_clusters-example_konnectivity-server-" + id + ".log":       "",
		"kube-apiserver-6d4cf56db6-x2x7p_clusters-example_wait-for-etcd-" + id + ".log":             "",
		"kube-controller-manager-7c9-abcde_clusters-example_kube-controller-manager-" + id + ".log": "",
		"kube-apiserver-ip-10-0-0-1.ec2.internal_kube-system_kube-apiserver-" + id + ".log":         "",
	} {
		path := "/var/log/containers/" + file
		got := ""
		if matches(t, in.Path, path) && !matches(t, in.ExcludePath, path) {
			found := regexp.MustCompile(in.TagRegex)
			groups := found.FindStringSubmatch(path)
			if groups == nil {
				t.Errorf("%s has no tag", file)
				continue
			}
			tag := strings.NewReplacer("<pod>", groups[found.SubexpIndex("pod")], "<namespace>", groups[found.SubexpIndex("namespace")]).Replace(in.Tag)
			parts := strings.Split(tag, ".")
			got = strings.NewReplacer("$TAG[1]", parts[1], "$TAG[2]", parts[2]).Replace(key)
		}
		if got != want {
			t.Errorf("%s is stored as %q, want %q", file, got, want)
		}
	}
}

func matches(t *testing.T, pattern, path string) bool {
	t.Helper()
	found, err := filepath.Match(pattern, path)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
