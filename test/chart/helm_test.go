// Package chart_test tests the Helm chart with the real Helm: the rendered objects, the rejected values, and
// installations.
package chart_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

const (
	release   = "hypershift"
	namespace = "hypershift-system" // differs from the default of the operator's flag
)

var root = sync.OnceValues(pinned.Root)

// path is the path of a file of the repository.
func path(t *testing.T, elem ...string) string {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

// crdsChart is the chart of the CRDs, which is its own release.
func crdsChart(t *testing.T) string { return path(t, "config", "helm", "hypershift-crds") }

func chartFile(t *testing.T, elem ...string) string {
	return path(t, append([]string{"config", "helm", "hypershift"}, elem...)...)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// helm runs Helm without the configuration of the user. The error contains the output of Helm.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	binaries, err := pinned.Ensure(t.Context(), t.Output(), "helm")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binaries["helm"], args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "HELM_NAMESPACE=" + namespace}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), errors.New(strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// write writes values to a file.
func write(t *testing.T, values string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// monitored are Helm flags that simulate a cluster with the Prometheus operator.
var monitored = []string{
	"--api-versions=monitoring.coreos.com/v1/ServiceMonitor", "--api-versions=monitoring.coreos.com/v1/PodMonitor",
	"--api-versions=monitoring.coreos.com/v1/PrometheusRule",
}

func render(t *testing.T, values string, args ...string) []*unstructured.Unstructured {
	t.Helper()
	out, err := helm(t, append([]string{"template", release, chartFile(t), "--values", write(t, values)}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	objs, err := fixture.Decode(out)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}
