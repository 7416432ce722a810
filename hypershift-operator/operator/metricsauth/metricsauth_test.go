package metricsauth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// api is an API server. It knows the tokens of users, and the users that may get /metrics.
type api struct {
	authenticationclient.TokenReviewInterface
	users map[string]authenticationv1.UserInfo
	err   error
	// reviewed is the number of token reviews.
	reviewed int
}

func (a *api) Create(_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	a.reviewed++
	user, known := a.users[review.Spec.Token]
	review.Status = authenticationv1.TokenReviewStatus{Authenticated: known, User: user}
	if !known {
		review.Status.Error = "invalid bearer token"
	}
	return review, a.err
}

// permissions are the permissions of users to get /metrics.
type permissions struct {
	authorizationclient.SubjectAccessReviewInterface
	users []string
	err   error
	asked []authorizationv1.SubjectAccessReviewSpec
}

func (p *permissions) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	p.asked = append(p.asked, review.Spec)
	what := review.Spec.NonResourceAttributes
	for _, user := range p.users {
		review.Status.Allowed = review.Status.Allowed || user == review.Spec.User && what != nil && *what == authorizationv1.NonResourceAttributes{Verb: "get", Path: "/metrics"}
	}
	return review, p.err
}

// fakeReviews are the reviews of an API server, and the filter that asks for them.
type fakeReviews struct {
	tokens *api
	access *permissions
	served http.Handler
}

func newFakeReviews(t *testing.T) *fakeReviews {
	t.Helper()
	e := &fakeReviews{
		tokens: &api{users: map[string]authenticationv1.UserInfo{"of-the-collector": {Username: "collector"}, "of-a-tenant": {Username: "tenant"}}},
		access: &permissions{users: []string{"collector"}},
	}
	served, err := newReviewer(e.tokens, e.access).filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	if err != nil {
		t.Fatal(err)
	}
	e.served = served
	return e
}

func (e *fakeReviews) status(t *testing.T, method, path, authorization string) int {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	answer := httptest.NewRecorder()
	e.served.ServeHTTP(answer, req)
	return answer.Code
}

func (e *fakeReviews) get(t *testing.T, token string) int {
	t.Helper()
	return e.status(t, http.MethodGet, "/metrics", "Bearer "+token)
}

func TestRequestsAreAcceptedByTokenAndPermission(t *testing.T) {
	for name, tc := range map[string]struct {
		method, path, authorization string
		want                        int
	}{
		"a user with the permission is accepted":                   {"GET", "/metrics", "Bearer of-the-collector", http.StatusOK},
		"the name of the scheme may be in lower case":              {"GET", "/metrics", "bearer  of-the-collector", http.StatusOK},
		"a user without the permission is refused":                 {"GET", "/metrics", "Bearer of-a-tenant", http.StatusForbidden},
		"a method that the permission does not include is refused": {"POST", "/metrics", "Bearer of-the-collector", http.StatusForbidden},
		"a path that the permission does not include is refused":   {"GET", "/debug", "Bearer of-the-collector", http.StatusForbidden},
		"an unknown token is refused":                              {"GET", "/metrics", "Bearer made-up", http.StatusUnauthorized},
		"a request without credentials is refused":                 {"GET", "/metrics", "", http.StatusUnauthorized},
		"an empty token is refused":                                {"GET", "/metrics", "Bearer ", http.StatusUnauthorized},
		"a token without a scheme is refused":                      {"GET", "/metrics", "of-the-collector", http.StatusUnauthorized},
		"another scheme is refused":                                {"GET", "/metrics", "Basic of-the-collector", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newFakeReviews(t).status(t, tc.method, tc.path, tc.authorization); got != tc.want {
				t.Errorf("status %d, want %d", got, tc.want)
			}
		})
	}
}

func TestThePermissionIsThatOfTheWholeIdentity(t *testing.T) {
	e := newFakeReviews(t)
	e.tokens.users["of-the-collector"] = authenticationv1.UserInfo{
		Username: "collector", UID: "1", Groups: []string{"collectors"}, Extra: map[string]authenticationv1.ExtraValue{"pod": {"a", "b"}},
	}
	if got := e.get(t, "of-the-collector"); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	want := []authorizationv1.SubjectAccessReviewSpec{{
		User: "collector", UID: "1", Groups: []string{"collectors"}, Extra: map[string]authorizationv1.ExtraValue{"pod": {"a", "b"}},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/metrics"},
	}}
	if !reflect.DeepEqual(e.access.asked, want) {
		t.Errorf("asked for %+v, want %+v", e.access.asked, want)
	}
}

func TestAFailedReviewRefusesAndIsRepeated(t *testing.T) {
	for name, fail := range map[string]func(*fakeReviews, error){
		"review of the token":      func(e *fakeReviews, err error) { e.tokens.err = err },
		"review of the permission": func(e *fakeReviews, err error) { e.access.err = err },
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeReviews(t)
			fail(e, errors.New("the API server does not respond"))
			if got := e.get(t, "of-the-collector"); got != http.StatusInternalServerError {
				t.Errorf("status %d during the failure", got)
			}
			fail(e, nil)
			if got := e.get(t, "of-the-collector"); got != http.StatusOK {
				t.Errorf("status %d after the failure", got)
			}
		})
	}
}

func TestDecisionsAreCachedForALimitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeReviews(t)
		expect := func(step, token string, status, reviewed int) {
			t.Helper()
			if got := e.get(t, token); got != status || e.tokens.reviewed != reviewed {
				t.Errorf("%s: status %d after %d reviews, want %d after %d", step, got, e.tokens.reviewed, status, reviewed)
			}
		}
		expect("the first request of the collector", "of-the-collector", http.StatusOK, 1)
		expect("the first request of the tenant", "of-a-tenant", http.StatusForbidden, 2)
		e.access.users = []string{"tenant"}
		time.Sleep(refusedTTL - time.Second)
		expect("a cached refusal", "of-a-tenant", http.StatusForbidden, 2)
		time.Sleep(2 * time.Second)
		expect("the tenant has the permission now", "of-a-tenant", http.StatusOK, 3)
		expect("a cached permission", "of-the-collector", http.StatusOK, 3)
		time.Sleep(acceptedTTL - refusedTTL)
		expect("the collector has lost the permission", "of-the-collector", http.StatusForbidden, 4)
	})
}
