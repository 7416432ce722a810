package reencryption

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var secrets = corev1.SchemeGroupVersion.WithKind("Secret")

// A server returns its Secrets in pages of two.
type server struct {
	client.Client
	// patched counts the patches of each Secret.
	patched map[string]int
	// answers are returned once for patches of a Secret by name.
	answers map[string][]error
	// expires is returned once for the next page of a list.
	expires error
}

func newServer(count int) *server {
	s := &server{patched: map[string]int{}, answers: map[string][]error{}}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	s.Client = interceptor.NewClient(c, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, obj client.ObjectList, opts ...client.ListOption) error {
			asked := (&client.ListOptions{}).ApplyOptions(opts)
			from := 0
			if asked.Continue != "" {
				if err := s.expires; err != nil {
					s.expires = nil
					return err
				}
				_, _ = fmt.Sscan(asked.Continue, &from)
			}
			list := obj.(*metav1.PartialObjectMetadataList)
			for i := from; i < min(from+2, count); i++ {
				list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(i)}})
			}
			if list.Continue = ""; from+2 < count {
				list.Continue = fmt.Sprint(from + 2)
			}
			return nil
		},
		Patch: func(_ context.Context, _ client.WithWatch, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
			if data, _ := patch.Data(obj); string(data) != "{}" {
				return fmt.Errorf("the patch is %s", data)
			}
			name := obj.GetName()
			if left := s.answers[name]; len(left) > 0 {
				s.answers[name] = left[1:]
				return left[0]
			}
			s.patched[name]++
			return nil
		},
	})
	return s
}

func run() *Run { return &Run{pace: flowcontrol.NewFakeAlwaysRateLimiter()} }

func status(code int32, reason metav1.StatusReason, more string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: string(reason), ListMeta: metav1.ListMeta{Continue: more}}}
}

func TestEverySecretIsWrittenOnce(t *testing.T) {
	s, r := newServer(5), run()
	if err := r.Continue(t.Context(), s, secrets); err != nil || !r.Rewritten() || r.Done != 5 || len(s.patched) != 5 {
		t.Errorf("%v, %+v, patched %v", err, r, s.patched)
	}
	none := run()
	if err := none.Continue(t.Context(), newServer(0), secrets); err != nil || !none.Rewritten() {
		t.Errorf("a cluster without Secrets: %v, %+v", err, none)
	}
}

func TestServerErrorsAreHandled(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	for name, c := range map[string]struct {
		answers   []error
		stops     bool
		rewritten bool
	}{
		"a Secret that is gone":                       {[]error{apierrors.NewNotFound(resource, "2")}, false, true},
		"somebody else writes at the same time":       {[]error{apierrors.NewConflict(resource, "2", errors.New("written"))}, false, true},
		"a webhook refuses":                           {[]error{apierrors.NewForbidden(resource, "2", errors.New("webhook"))}, false, false},
		"a webhook is not there":                      {[]error{apierrors.NewInternalError(errors.New("failed calling webhook"))}, false, false},
		"the server has too much to do":               {[]error{apierrors.NewTooManyRequests("later", 1)}, true, true},
		"the server is ending":                        {[]error{status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "")}, true, true},
		"nobody answers":                              {[]error{errors.New("connection refused")}, true, true},
		"the server is busy, and the webhook refuses": {[]error{apierrors.NewTooManyRequests("later", 1), apierrors.NewForbidden(resource, "2", errors.New("webhook"))}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := newServer(5), run()
			s.answers["2"] = c.answers
			err := r.Continue(t.Context(), s, secrets)
			if (err != nil) != c.stops {
				t.Fatalf("the first part ends with %v", err)
			}
			if c.stops && (r.Complete || s.patched["1"] != 1 || s.patched["3"] != 0) {
				t.Errorf("it has stopped elsewhere: %+v, %v", r, s.patched)
			}
			if err := r.Continue(t.Context(), s, secrets); err != nil || !r.Complete || r.Rewritten() != c.rewritten {
				t.Errorf("%v, %+v", err, r)
			}
			if s.patched["0"] != 1 || s.patched["4"] != 1 {
				t.Errorf("the others were written %v times", s.patched)
			}
			if !c.rewritten && (r.Failed() != 1 || !strings.HasPrefix(r.Refused[0], "default/2: ")) {
				t.Errorf("refused are %v", r.Refused)
			}
		})
	}
}

// Etcd has compacted the revision of the list. It continues at the same place of the current revision or, if the server
// does not support that, from the beginning.
func TestExpiredListContinues(t *testing.T) {
	for more, again := range map[string]int{"2": 1, "": 2} {
		s, r := newServer(5), run()
		s.expires = status(http.StatusGone, metav1.StatusReasonExpired, more)
		if err := r.Continue(t.Context(), s, secrets); err != nil || !r.Rewritten() || s.patched["0"] != again || s.patched["4"] != 1 {
			t.Errorf("continued at %q: %v, %+v, patched %v", more, err, r, s.patched)
		}
	}
}

func TestInterruptedRunContinues(t *testing.T) {
	s, r := newServer(5), run()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Continue(ctx, s, secrets); err != nil || r.Complete {
		t.Errorf("%v, %+v", err, r)
	}
	if err := r.Continue(t.Context(), s, secrets); err != nil || !r.Rewritten() {
		t.Errorf("%v, %+v", err, r)
	}
}
