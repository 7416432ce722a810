package timeline

import (
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

func readStart(t *testing.T) *Timeline {
	t.Helper()
	f, err := os.Open("testdata/start.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

const readyz = 6610 * time.Millisecond

func TestTableHasTheStepsOfEachObject(t *testing.T) {
	var out strings.Builder
	if err := readStart(t).Print(&out, readyz); err != nil {
		t.Fatal(err)
	}
	const want = `
  created  scheduled  started  ready  object
     0.05                       9.85  HostedCluster bench-2
     0.06                             ── applied
     0.21                             Namespace clusters-bench-2
     0.34                       9.80  HostedControlPlane bench-2
     0.52                             Secret etcd-server-tls (deleted)
     0.60                       3.46  Service etcd-client
     0.62                1.95         Service router
     0.66                0.84   3.47  StatefulSet etcd
     0.70                0.93   6.24  Deployment kube-apiserver
     0.80       1.45     2.40   3.44  Pod etcd-0
     0.82                       1.42  PersistentVolumeClaim data-etcd-0
     0.86       0.91     2.10   6.20  Pod kube-apiserver-6d9c7b5f4-x2x9k
                         2.10   2.10  container kube-apiserver-6d9c7b5f4-x2x9k/konnectivity-server
                         2.10   6.20  container kube-apiserver-6d9c7b5f4-x2x9k/kube-apiserver
                         2.40   3.44  container etcd-0/etcd
     3.60       3.60     4.00   9.30  Pod kube-controller-manager-7c5-q8d2w
                         4.00   6.90  container kube-controller-manager-7c5-q8d2w/wait-for-kube-apiserver
     6.61                             ── /readyz answers ok
                         6.90   9.30  container kube-controller-manager-7c5-q8d2w/kube-controller-manager (restarts: 1)
     9.95                             ── rolled out

Longest waits, of those that begin before 6.61 s
    4.10 s  from 2.10 s to 6.20 s  container kube-apiserver-6d9c7b5f4-x2x9k/kube-apiserver: started → ready
    2.90 s  from 4.00 s to 6.90 s  container kube-controller-manager-7c5-q8d2w/wait-for-kube-apiserver: started → ready
    1.33 s  from 0.62 s to 1.95 s  Service router: created → started
    1.19 s  from 0.91 s to 2.10 s  Pod kube-apiserver-6d9c7b5f4-x2x9k: scheduled → started
    1.04 s  from 2.40 s to 3.44 s  container etcd-0/etcd: started → ready
    0.95 s  from 1.45 s to 2.40 s  Pod etcd-0: scheduled → started
    0.65 s  from 0.80 s to 1.45 s  Pod etcd-0: created → scheduled
    0.60 s  from 0.82 s to 1.42 s  PersistentVolumeClaim data-etcd-0: created → ready
    0.40 s  from 3.60 s to 4.00 s  Pod kube-controller-manager-7c5-q8d2w: scheduled → started
    0.05 s  from 0.86 s to 0.91 s  Pod kube-apiserver-6d9c7b5f4-x2x9k: created → scheduled
`
	table, pauses, _ := strings.Cut(out.String(), "\nLongest pauses")
	if "\n"+table != want {
		t.Errorf("got\n%swant%s", table, want)
	}
	if first := "    2.20 s  from 4.00 s to 6.20 s  after Pod kube-controller-manager-7c5-q8d2w, before Pod kube-apiserver-6d9c7b5f4-x2x9k\n"; !strings.Contains(pauses, "s\n"+first) {
		t.Errorf("the longest pause is not first:\n%s", pauses)
	}
	if strings.Contains(pauses, "from 8.10 s") {
		t.Errorf("a pause after the end is printed:\n%s", pauses)
	}
}

func TestWaitsAfterTheEndAreLeftOut(t *testing.T) {
	const late = "container kube-controller-manager-7c5-q8d2w/kube-controller-manager (restarts: 1): started → ready"
	has := func(waits []Wait) bool {
		for _, w := range waits {
			if w.What == late {
				return true
			}
		}
		return false
	}
	line := readStart(t)
	if has(line.Waits(readyz)) || !has(line.Waits(0)) {
		t.Errorf("before the end: %v; without an end: %v", line.Waits(readyz), line.Waits(0))
	}
}

func TestObjectsOfSeveralClustersAreNamedWithTheirNamespaces(t *testing.T) {
	line := &Timeline{}
	for _, namespace := range []string{"one", "two"} {
		pod := &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"namespace": namespace, "name": "etcd-0"}}}
		line.Record(time.Second, watch.Added, pod)
	}
	var out strings.Builder
	if err := line.Print(&out, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Pod one/etcd-0\n", "Pod two/etcd-0\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

// A StatefulSet creates another pod of the same name.
func TestObjectThatIsCreatedAgainHasALineOfItsOwn(t *testing.T) {
	line := &Timeline{}
	pod := &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"namespace": "one", "name": "etcd-0"}}}
	line.Record(1*time.Second, watch.Added, pod)
	line.Record(2*time.Second, watch.Deleted, pod)
	line.Record(3*time.Second, watch.Added, pod)
	var out strings.Builder
	if err := line.Print(&out, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "1.00                             Pod etcd-0 (deleted)\n") || !strings.Contains(out.String(), "3.00                             Pod etcd-0\n") {
		t.Errorf("got\n%s", out.String())
	}
}

func TestBrokenFilesOfEventsAreRejected(t *testing.T) {
	for _, text := range []string{"{", `{"seconds":1}`, `{"seconds":1,"object":3}`} {
		if _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
