package defragmentation

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// TestMetricsPageListsEveryMetric compares docs/metrics.md with a scrape of a control plane.
func TestMetricsPageListsEveryMetric(t *testing.T) {
	w := newWorld(t)
	w.pass()
	w.pass()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var exported, documented []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "hypershift_") {
			continue
		}
		metric := f.GetName()
		for _, l := range f.GetMetric()[0].GetLabel() {
			metric += " " + l.GetName()
		}
		exported = append(exported, metric)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "## Each control plane")
	section, _, _ := strings.Cut(page, "\n## ")
	for _, line := range regexp.MustCompile("(?m)^\\| `(hypershift_\\w+)` \\| ([^|]*) \\|").FindAllStringSubmatch(section, -1) {
		labels := strings.FieldsFunc(line[2], func(r rune) bool { return strings.ContainsRune(" ,`", r) })
		slices.Sort(labels)
		documented = append(documented, strings.Join(append([]string{line[1]}, labels...), " "))
	}
	slices.Sort(documented)
	if !slices.Equal(exported, documented) {
		t.Errorf("the page has\n%s\nand the operator\n%s", strings.Join(documented, "\n"), strings.Join(exported, "\n"))
	}
}
