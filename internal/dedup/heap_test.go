package dedup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// clusters is the number of hosted clusters in the benchmark.
const clusters = 1000

// BenchmarkHeapOfAFleet measures the heap of the objects that the hypershift-operator caches for a fleet, with and without sharing, in one run:
//
//	go test ./internal/dedup -bench Heap -run '^$' -benchtime 1x
func BenchmarkHeapOfAFleet(b *testing.B) {
	documents := fleetDocuments(b)
	shared := map[string]toolscache.TransformFunc{"plain": func(obj any) (any, error) { return obj, nil }, "shared": NewShared().Transform}
	for _, name := range []string{"plain", "shared"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before := heap()
				objects := fleet(b, documents, shared[name])
				b.ReportMetric(float64(heap()-before)/clusters/1024, "KiB/cluster")
				runtime.KeepAlive(objects)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// fleetDocuments returns the golden files of the objects that the operator makes for one cluster, and a sample.
func fleetDocuments(b *testing.B) (documents [][]byte) {
	b.Helper()
	for _, pattern := range []string{
		"../../hypershift-operator/controllers/hostedcluster/testdata/control-plane-operator.yaml",
		"../../hypershift-operator/hostedcluster/clusterapi/testdata/plain.yaml",
		"../../cmd/hypershift/cluster/testdata/render/*.yaml",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			b.Fatalf("%s: no files, %v", pattern, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			b.Fatal(err)
		}
		reader := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
		for {
			document := make([]byte, 1<<20)
			n, err := reader.Read(document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			documents = append(documents, document[:n:n])
		}
	}
	return documents
}

func fleet(b *testing.B, documents [][]byte, transform toolscache.TransformFunc) (objects []any) {
	b.Helper()
	s := apiruntime.NewScheme()
	utilruntime.Must(kubescheme.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	decoder := serializer.NewCodecFactory(s).UniversalDeserializer()
	for _, document := range documents { // as informers do it: all objects of a kind, then those of the next
		for i := range clusters {
			obj, _, err := decoder.Decode(bytes.ReplaceAll(document, []byte("demo"), fmt.Appendf(nil, "demo-%d", i)), nil, nil)
			if err != nil {
				continue // a kind of another API
			}
			obj.(metav1.Object).SetUID("00000000-0000-0000-0000-" + "000000000000")
			kept, err := transform(obj)
			if err != nil {
				b.Fatal(err)
			}
			objects = append(objects, kept)
		}
	}
	if len(objects) < 8*clusters {
		b.Fatalf("%d objects", len(objects))
	}
	return objects
}
