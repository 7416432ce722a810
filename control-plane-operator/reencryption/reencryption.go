// Package reencryption rewrites the objects of a hosted cluster, so that its API servers encrypt each with the current
// write key.
//
//	list a page of names ──► send an empty patch for each ──► next page
//
// For an empty patch, an API server writes the object only if it is stored with another key than the first one. The
// content of objects does not change, each gets at most one new resourceVersion, and a second run writes nothing: an
// interrupted run can start again from the first object.
package reencryption

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
)

const (
	// page is the number of objects in one list request. An object can have a megabyte.
	page = 100
	// rate is the number of objects rewritten per second. An etcd of a hosted cluster sustains several hundred writes
	// per second.
	rate = 20
)

// A Run rewrites all objects of one kind, over several calls of Continue. Its zero value starts at the first object.
type Run struct {
	// Done counts the objects that are encrypted with the current key.
	Done int
	// Refused lists the first objects that the API server refused to write, with the reason.
	Refused []string
	// Complete is true when a write of every object was attempted.
	Complete bool

	failed int
	// pending are the names left of the current page; position is the continue token of the next one.
	pending  []metav1.PartialObjectMetadata
	position string
	listed   bool
	pace     flowcontrol.RateLimiter
}

// Rewritten reports whether every object is encrypted with the current key.
func (r *Run) Rewritten() bool { return r.Complete && r.failed == 0 }

// Failed is the number of objects that were refused.
func (r *Run) Failed() int { return r.failed }

// Continue resumes the run until it is complete or the context ends; the end of the context is not an error. After an error
// the next call retries the same object.
func (r *Run) Continue(ctx context.Context, c client.Client, kind schema.GroupVersionKind) error {
	if r.pace == nil {
		r.pace = flowcontrol.NewTokenBucketRateLimiter(rate, rate)
	}
	for !r.Complete {
		err := r.step(ctx, c, kind)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step rewrites one object, or lists the next page.
func (r *Run) step(ctx context.Context, c client.Client, kind schema.GroupVersionKind) error {
	switch {
	case len(r.pending) > 0:
		return r.next(ctx, c, kind)
	case r.listed && r.position == "":
		r.Complete = true
		return nil
	}
	return r.list(ctx, c, kind)
}

func (r *Run) list(ctx context.Context, c client.Client, kind schema.GroupVersionKind) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
	err := c.List(ctx, list, client.Limit(page), client.Continue(r.position))
	if apierrors.IsResourceExpired(err) {
		r.position = afterExpiry(err)
		r.listed = r.position != ""
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing objects to rewrite: %w", err)
	}
	r.pending, r.position, r.listed = list.Items, list.Continue, true
	return nil
}

func (r *Run) next(ctx context.Context, c client.Client, kind schema.GroupVersionKind) error {
	obj := &r.pending[0]
	obj.SetGroupVersionKind(kind)
	name := client.ObjectKeyFromObject(obj)
	if err := r.pace.Wait(ctx); err != nil {
		return err
	}
	err := rewrite(ctx, c, obj)
	switch {
	case err == nil:
		r.Done++
	case isRefusal(err):
		if r.failed++; len(r.Refused) < mostRefused {
			r.Refused = append(r.Refused, fmt.Sprintf("%s: %v", name, err))
		}
	default:
		return fmt.Errorf("rewriting %s %s: %w", kind.Kind, name, err)
	}
	r.pending = r.pending[1:]
	return nil
}

// mostRefused bounds the list of refused objects, which is part of a condition's message.
const mostRefused = 3

// rewrite sends an empty patch. A deleted object needs no rewrite.
func rewrite(ctx context.Context, c client.Client, obj client.Object) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		return c.Patch(ctx, obj, mergepatch.Patch{})
	})
	return client.IgnoreNotFound(err)
}

// isRefusal reports whether the error concerns this object alone: an admission webhook refused it, or it fails a validation
// that is newer than the object.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status().Code {
	case http.StatusUnauthorized, http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return true
}

// afterExpiry returns the continue token for a list with a compacted revision: the same position at the current
// revision. Objects created before that position since then are encrypted with the current key already.
func afterExpiry(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}
