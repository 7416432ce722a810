package cel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// TestEveryRuleHasACase runs all cases on an API server, and then lists the rules of the CRDs that were not the reason for
// any rejection.
func TestEveryRuleHasACase(t *testing.T) {
	t.Parallel()
	c := strictClient(t, fixture.StartAPIServer(t, crdDirectory))
	refused := &refusals{}

	t.Run("cases", func(t *testing.T) {
		for name, topic := range loadTopics(t) {
			for _, baseName := range topic.Bases {
				base := loadBase(t, baseName)
				for i, v := range topic.Cases {
					t.Run(name+"/"+baseName+"/"+v.Name, func(t *testing.T) {
						t.Parallel()
						obj := base.DeepCopy()
						obj.SetName(fmt.Sprintf("%s-%d", name, i))
						err := put(t.Context(), c, obj, v)
						refused.add(obj.GetKind(), err)
						check(t, v, err)
					})
				}
			}
		}
	})

	if t.Failed() {
		return // a failed case explains more than the rules that it leaves uncovered
	}
	for _, r := range rulesOf(t, crdDirectory) {
		if !refused.because(r) {
			t.Errorf("no case is rejected by the rule of %s at %q: %s", r.kind, r.path, r.message)
		}
	}
}

// check compares the response of the API server with the expected one.
func check(t *testing.T, v verdict, err error) {
	t.Helper()
	var setup *setupError
	switch {
	case errors.As(err, &setup):
		t.Fatal(err)
	case v.Accept && err != nil:
		t.Errorf("should be accepted, but: %v", err)
	case !v.Accept && err == nil:
		t.Errorf("was accepted, but should be rejected with %q", v.Reject)
	case !v.Accept && !strings.Contains(err.Error(), v.Reject):
		t.Errorf("should be rejected with %q, but: %v", v.Reject, err)
	}
}

// setupError is an error before the request of a case.
type setupError struct{ error }

// put sends the requests of a case, and returns the response to the last one. The last request is a dry run, which costs
// no write; the others are real.
func put(ctx context.Context, c client.Client, base *unstructured.Unstructured, v verdict) error {
	obj := patched(base, v.Object)
	if len(v.Update) == 0 {
		return c.Create(ctx, obj, client.DryRunAll)
	}
	if err := c.Create(ctx, obj); err != nil {
		return &setupError{fmt.Errorf("creating what is to be updated: %w", err)}
	}
	for i, patch := range v.Update {
		next := patched(obj, patch)
		if i == len(v.Update)-1 {
			return update(ctx, c, next, v.Subresource, client.DryRunAll)
		}
		if err := update(ctx, c, next, v.Subresource); err != nil {
			return &setupError{fmt.Errorf("update %d: %w", i+1, err)}
		}
		obj = next
	}
	return nil
}

// update writes an object, or a subresource of it.
func update(ctx context.Context, c client.Client, obj *unstructured.Unstructured, subresource string, opts ...client.UpdateOption) error {
	if subresource == "" {
		return c.Update(ctx, obj, opts...)
	}
	sub := &client.SubResourceUpdateOptions{}
	for _, o := range opts {
		o.ApplyToUpdate(&sub.UpdateOptions)
	}
	return c.SubResource(subresource).Update(ctx, obj, sub)
}

// refusals collects the reasons of rejections.
type refusals struct {
	mu    sync.Mutex
	known map[string][]string // messages by kind and path
}

func (r *refusals) add(kind string, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonInvalid || status.Status().Details == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[string][]string{}
	}
	for _, cause := range status.Status().Details.Causes {
		place := kind + " " + schemaPath(cause.Field)
		r.known[place] = append(r.known[place], cause.Message)
	}
}

// because reports whether a rejection was caused by that rule.
func (r *refusals) because(rule rule) bool {
	for _, message := range r.known[rule.kind+" "+rule.path] {
		if strings.Contains(message, rule.message) {
			return true
		}
	}
	return false
}
