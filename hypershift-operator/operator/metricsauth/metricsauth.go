// Package metricsauth authenticates and authorizes the clients that read the metrics of the hypershift-operator: the management
// cluster reviews their tokens and their permissions.
//
// The filter of controller-runtime implements the same rules. It is not used because it needs the libraries of an API server, among
// them CEL, OpenTelemetry and gRPC: 230 packages, which take memory in every replica, also if its metrics are not read.
package metricsauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hosted-control-planes/hypershift/internal/sharedcall"
)

const (
	// reviewTimeout is the timeout of the reviews of one request. A collector repeats its request.
	reviewTimeout = 10 * time.Second
	// acceptedTTL is the time after which a token that was revoked, or lost its permission, is refused.
	acceptedTTL = time.Minute
	// refusedTTL is shorter: after a permission is granted, its user waits this long.
	refusedTTL = 30 * time.Second
	// maxDecisions bounds the memory that clients with many tokens can take.
	maxDecisions = 1024
)

// NewFilter returns a filter of requests. It accepts a request with a token that the API server of cfg knows, of a user with permission
// for the method and path of the request.
func NewFilter(cfg *rest.Config, httpClient *http.Client) (server.Filter, error) {
	authentication, err := authenticationclient.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating the client for token reviews: %w", err)
	}
	authorization, err := authorizationclient.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating the client for access reviews: %w", err)
	}
	return newReviewer(authentication.TokenReviews(), authorization.SubjectAccessReviews()).filter, nil
}

// reviewer decides about requests, and caches its decisions.
type reviewer struct {
	tokens    authenticationclient.TokenReviewInterface
	access    authorizationclient.SubjectAccessReviewInterface
	decisions *cache.LRUExpireCache
	calls     sharedcall.Group[int]
}

func newReviewer(tokens authenticationclient.TokenReviewInterface, access authorizationclient.SubjectAccessReviewInterface) *reviewer {
	return &reviewer{tokens: tokens, access: access, decisions: cache.NewLRUExpireCache(maxDecisions)}
}

func (r *reviewer) filter(log logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		status, err := r.decide(req)
		if err != nil {
			log.Error(err, "Reviewing a client of the metrics failed")
			status = http.StatusInternalServerError
		}
		if status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
			return
		}
		next.ServeHTTP(w, req)
	}), nil
}

// decide returns StatusOK for a request that is accepted, and the status of the refusal for any other. An error means that the API
// server did not decide.
func (r *reviewer) decide(req *http.Request) (int, error) {
	token := bearerToken(req)
	if token == "" {
		return http.StatusUnauthorized, nil
	}
	attributes := authorizationv1.NonResourceAttributes{Verb: strings.ToLower(req.Method), Path: req.URL.Path}
	// The token itself is not kept in memory.
	hash := sha256.Sum256([]byte(token))
	key := hex.EncodeToString(hash[:]) + " " + attributes.Verb + " " + attributes.Path
	if status, cached := r.decisions.Get(key); cached {
		return status.(int), nil //nolint:forcetypeassert // only this method adds decisions
	}
	return r.calls.Do(req.Context(), key, func(ctx context.Context) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
		defer cancel()
		status, err := r.review(ctx, token, attributes)
		if err != nil {
			return 0, err
		}
		ttl := refusedTTL
		if status == http.StatusOK {
			ttl = acceptedTTL
		}
		r.decisions.Add(key, status, ttl)
		return status, nil
	})
}

// bearerToken returns "" if the request has none.
func bearerToken(req *http.Request) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(req.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// review returns, from the API server's reviews, the user of the token, and whether that user may read the path.
func (r *reviewer) review(ctx context.Context, token string, attributes authorizationv1.NonResourceAttributes) (int, error) {
	identity, err := r.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("reviewing a token: %w", err)
	}
	if !identity.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := identity.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	permission, err := r.access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra, NonResourceAttributes: &attributes,
	}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("reviewing the permission of %s: %w", user.Username, err)
	}
	if !permission.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
