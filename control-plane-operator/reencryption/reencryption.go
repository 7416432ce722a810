// Package reencryption rewrites the objects of a hosted cluster, so that its API
// servers encrypt each with the key that they write with now.
//
//	list a page of names ──► patch each with nothing ──► the next page
//
// An API server writes an object that a patch leaves as it is if, and only if,
// it is not encrypted with the first key. So no object changes, clients see no
// version that is new to them but for that write, and a second run writes
// nothing: a run that was broken off is begun again.
package reencryption

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// page is how many objects the API server reads at once: each may have a megabyte.
	page = 100
	// rate is how many objects are rewritten in a second: a hosted cluster writes
	// some hundred objects a second without being slowed down.
	rate = 20
)

// A Run rewrites all objects of one kind, in as many parts as it takes. Its zero
// value begins with the first object.
type Run struct {
	// Done counts the objects that have the key now.
	Done int
	// Refused are the first objects that the API server did not let us write, and why.
	Refused []string
	// Complete is set when every object was tried.
	Complete bool

	failed int
	// pending are those of the present page, and position is where the next begins.
	pending  []metav1.PartialObjectMetadata
	position string
	listed   bool
	pace     flowcontrol.RateLimiter
}

// Rewritten reports whether every object has the key.
func (r *Run) Rewritten() bool { return r.Complete && r.failed == 0 }

// Failed is the number of objects that were refused.
func (r *Run) Failed() int { return r.failed }

// Continue goes on where the run is, until it is complete or the context ends,
// which is no error. After an error the same object is tried again.
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

// step rewrites one object, or reads the names of the next ones.
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

// mostRefused is how many objects a user wants to read about.
const mostRefused = 3

// rewrite patches an object with nothing. One that is gone needs no key.
func rewrite(ctx context.Context, c client.Client, obj client.Object) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		return c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte("{}")))
	})
	return client.IgnoreNotFound(err)
}

// isRefusal reports whether the API server has refused one object, and may take
// the next: a webhook may, or the check of an object that was written before it.
func isRefusal(err error) bool {
	var said apierrors.APIStatus
	if !errors.As(err, &said) {
		return false
	}
	switch said.Status().Code {
	case http.StatusUnauthorized, http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return true
}

// afterExpiry is where a list goes on whose revision is gone: at the same object
// of the present revision. What has come before it since has the key.
func afterExpiry(err error) string {
	var said apierrors.APIStatus
	if errors.As(err, &said) {
		return said.Status().Continue
	}
	return ""
}
