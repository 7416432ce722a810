package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// recordedWrite is a request that changed an object.
type recordedWrite struct {
	Method, URL, ContentType string
	Body                     []byte
}

// recorder writes the requests of a configuration's clients that change objects to a file. In memory they would count as the memory of
// the operator.
type recorder struct {
	mu   sync.Mutex
	file *gob.Encoder // nil after the end
}

// record returns a function that ends the recording.
func record(cfg *rest.Config, name string) (end func() error, err error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	r := &recorder{file: gob.NewEncoder(file)}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return r.roundTrip(next, req) })
	})
	return func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.file = nil
		return file.Close()
	}, nil
}

func (r *recorder) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	// Other clients write Events and Leases, and their writes are not counted.
	if req.Method == http.MethodGet || slices.ContainsFunc([]string{"/events", "/leases"}, func(part string) bool { return strings.Contains(req.URL.Path, part) }) {
		return next.RoundTrip(req)
	}
	one := recordedWrite{Method: req.Method, URL: req.URL.RequestURI(), ContentType: req.Header.Get("Content-Type")}
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		if one.Body, err = io.ReadAll(body); err != nil {
			return nil, err
		}
	}
	answer, err := next.RoundTrip(req)
	if err != nil || answer.StatusCode >= http.StatusBadRequest {
		return answer, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return answer, nil
	}
	return answer, r.file.Encode(one)
}

// A cluster of the bench has a name such as h017 everywhere: in names of namespaces and objects, in fields and in annotations.
var clusterName = regexp.MustCompile(`\bh(\d{3})\b`)

// replayParallel is the number of clusters that are made at the same time: enough to keep the API server busy.
const replayParallel = 20

// replay makes the recorded writes of all clusters again, for clusters of other names, without an operator: several clusters at a time,
// and the writes of each in their order. It returns how long that took.
func replay(ctx context.Context, kubeconfig, name string) (time.Duration, error) {
	byCluster, err := readRecord(name)
	if err != nil {
		return 0, err
	}
	cfg, err := restConfig(kubeconfig)
	if err != nil {
		return 0, err
	}
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	places := make(chan struct{}, replayParallel)
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, writes := range byCluster {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			for _, w := range writes {
				if err := w.repeat(ctx, c, cfg.Host); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(began), errors.Join(errs...)
}

// readRecord returns the writes of each cluster in their order.
func readRecord(name string) (map[string][]recordedWrite, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	byCluster := map[string][]recordedWrite{}
	for all := gob.NewDecoder(file); ; {
		var w recordedWrite
		if err := all.Decode(&w); errors.Is(err, io.EOF) {
			return byCluster, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path.Base(name), err)
		}
		if cl := clusterName.FindString(w.URL); cl != "" {
			byCluster[cl] = append(byCluster[cl], w)
		}
	}
}

// repeat makes the write for another cluster. UIDs and versions are left out: those of the other cluster are not known.
func (w recordedWrite) repeat(ctx context.Context, c *http.Client, host string) error {
	body, err := withoutIdentity(clusterName.ReplaceAll(w.Body, []byte("k$1")))
	if err != nil {
		return fmt.Errorf("%s %s: %w", w.Method, w.URL, err)
	}
	req, err := http.NewRequestWithContext(ctx, w.Method, host+clusterName.ReplaceAllString(w.URL, "k$1"), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", w.ContentType)
	answer, err := c.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s", req.Method, req.URL.Path, text)
	}
	return err
}

func withoutIdentity(body []byte) ([]byte, error) {
	if len(body) == 0 {
		return nil, nil
	}
	var obj map[string]any
	if err := json.Unmarshal(body, &obj); err != nil {
		return nil, err
	}
	if metadata, ok := obj["metadata"].(map[string]any); ok {
		for _, field := range []string{"ownerReferences", "resourceVersion", "uid", "managedFields"} {
			delete(metadata, field)
		}
	}
	return json.Marshal(obj)
}
