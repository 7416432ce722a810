package imageregistry

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

// The resource of repositories in RBAC. The API server does not serve it.
const (
	group    = "registry.hypershift.openshift.io"
	resource = "repositories"
)

// user is as the API server knows it.
type user struct {
	Username string              `json:"username"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

// anonymous are requests without credentials, as for the API server.
var anonymous = user{Username: "system:anonymous", Groups: []string{"system:unauthenticated"}}

// A decision about an access.
type decision struct {
	// authenticated is false if there is no user with the credentials.
	authenticated, allowed bool
	username               string
}

// How long a decision is used again, and how many are kept. A push asks dozens of times.
const (
	decisionLife = 10 * time.Second
	maxDecisions = 2000
)

// reviewer asks the API server.
type reviewer struct {
	cluster *cluster
	now     func() time.Time
	mu      sync.Mutex
	known   map[question]answered
}

// A question is an access with the digest of a token; the zero digest without one.
type question struct {
	token [sha256.Size]byte
	access
}

type answered struct {
	decision
	until time.Time
}

func newReviewer(c *cluster, now func() time.Time) *reviewer {
	return &reviewer{cluster: c, now: now, known: map[question]answered{}}
}

// review decides whether the holder of the token may do that. The zero access only needs a user.
func (r *reviewer) review(ctx context.Context, token string, a access) (decision, error) {
	q := question{access: a}
	if token != "" {
		q.token = sha256.Sum256([]byte(token))
	}
	r.mu.Lock()
	last, exists := r.known[q]
	r.mu.Unlock()
	if exists && r.now().Before(last.until) {
		return last.decision, nil
	}
	d, err := r.ask(ctx, token, a)
	if err != nil {
		return d, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxDecisions {
		clear(r.known)
	}
	r.known[q] = answered{d, r.now().Add(decisionLife)}
	return d, nil
}

func (r *reviewer) ask(ctx context.Context, token string, a access) (decision, error) {
	asker := anonymous
	if token != "" {
		found, err := r.userOf(ctx, token)
		if err != nil || found == nil {
			return decision{}, err
		}
		asker = *found
	}
	d := decision{authenticated: token != "", username: asker.Username}
	if a == (access{}) {
		d.allowed = d.authenticated
		return d, nil
	}
	review := object("authorization.k8s.io/v1", "SubjectAccessReview", map[string]any{
		"user": asker.Username, "uid": asker.UID, "groups": asker.Groups, "extra": asker.Extra,
		"resourceAttributes": map[string]string{"group": group, "resource": resource, "verb": a.verb, "namespace": a.namespace, "name": a.name},
	})
	var out struct{ Status struct{ Allowed bool } }
	err := r.cluster.do(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", review, &out)
	d.allowed = out.Status.Allowed
	return d, err
}

// userOf returns the user of a token, or nil.
func (r *reviewer) userOf(ctx context.Context, token string) (*user, error) {
	var out struct {
		Status struct {
			Authenticated bool
			User          user
		}
	}
	review := object("authentication.k8s.io/v1", "TokenReview", map[string]any{"token": token})
	if err := r.cluster.do(ctx, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", review, &out); err != nil || !out.Status.Authenticated {
		return nil, err
	}
	return &out.Status.User, nil
}

func object(apiVersion, kind string, spec any) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}
}
