package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// TestSizesOfControlPlanes compares the table in docs/operations.md with the manifests: the resource requests of a control plane's pods
// in AWS.
func TestSizesOfControlPlanes(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][2]string{}
	for _, components := range []struct {
		column int
		golden string
	}{{0, "single"}, {1, "highly-available"}} {
		pods, memory, cpu := 0, resource.Quantity{}, resource.Quantity{}
		add := func(file string) {
			n, requests := requestsOf(t, file)
			pods += n
			memory.Add(requests[corev1.ResourceMemory])
			cpu.Add(requests[corev1.ResourceCPU])
		}
		for _, name := range []string{"etcd", "kubeapiserver", "podidentitywebhook", "router"} {
			golden := components.golden
			if name == "router" && golden == "single" {
				golden = "private"
			}
			add("control-plane-operator/components/" + name + "/testdata/" + golden + ".yaml")
		}
		controllers := map[string]string{"single": "controllers", "highly-available": "controllers-highly-available"}
		add("control-plane-operator/components/testdata/" + controllers[components.golden] + ".yaml")
		add("hypershift-operator/hostedcluster/components/controlplaneoperator/assets/deployment.yaml")
		add("hypershift-operator/hostedcluster/clusterapi/testdata/plain.yaml")
		for row, value := range map[string]string{
			"Pods":              fmt.Sprint(pods),
			"Memory, requested": fmt.Sprintf("%.1f GiB", memory.AsApproximateFloat64()/(1<<30)),
			"CPU, requested":    fmt.Sprintf("%.1f", cpu.AsApproximateFloat64()),
		} {
			both := rows[row]
			both[components.column] = value
			rows[row] = both
		}
	}
	for row, values := range rows {
		if want := fmt.Sprintf("| %s | %s | %s |", row, values[0], values[1]); !strings.Contains(string(content), want) {
			t.Errorf("docs/operations.md does not have the row\n%s", want)
		}
	}
}

// requestsOf returns the number of pods of the workload in a file, and the sum of their requests.
func requestsOf(t *testing.T, file string) (int, corev1.ResourceList) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var workload appsv1.Deployment // A StatefulSet has equal fields, as far as they are read here.
		if err := yaml.Unmarshal([]byte(document), &workload); err != nil || workload.Kind != "Deployment" && workload.Kind != "StatefulSet" {
			continue
		}
		pods := 1
		if workload.Spec.Replicas != nil {
			pods = int(*workload.Spec.Replicas)
		}
		sum := corev1.ResourceList{}
		for range pods {
			for _, container := range workload.Spec.Template.Spec.Containers {
				for name, quantity := range container.Resources.Requests {
					total := sum[name]
					total.Add(quantity)
					sum[name] = total
				}
			}
		}
		if sum.Memory().IsZero() {
			t.Errorf("%s requests no memory", file)
		}
		return pods, sum
	}
	t.Fatalf("no workload in %s", file)
	return 0, nil
}
