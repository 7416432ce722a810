package signingkeys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/apiservers"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/neighbours"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/signingkeys"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status *controlplanestatus.Store
	// Reader reads past the cache: a report about old pods would be about other keys.
	Reader client.Reader
	Clock  clock.PassiveClock
	// Connect returns the keys that an API server uses; nil to connect to it.
	Connect func(context.Context, *rest.Config, apiservers.Server) (Loaded, error)
	// Open makes a client of the hosted cluster; nil for the usual one.
	Open func(*rest.Config) (client.Client, error)
	// TakeRole exchanges a token of the next key for credentials of a role, and drops them.
	TakeRole func(ctx context.Context, region, issuerURL, roleARN string) error
}

const (
	// interval is how often the API servers are checked. Nothing reports that they have started with a file.
	interval = 10 * time.Second
	// awsInterval is how often AWS is asked. It caches public keys, and records each refusal.
	awsInterval = time.Minute
	// tokensInterval is how often the hosted cluster is searched for tokens, which takes a list of its pods.
	tokensInterval = 10 * time.Minute
	// deadline is how long the steps of a reconcile may take.
	deadline = 2 * time.Minute
	// maxMessage is the limit of the message in the status.
	maxMessage = 1024
)

// Reconciler verifies the keys of a control plane.
type Reconciler struct {
	Options
	// asked is when AWS was asked last, and searched when the hosted cluster was searched last, by control plane. One reconcile runs at a time.
	asked, searched map[client.ObjectKey]time.Time
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{Options: opts, asked: map[client.ObjectKey]time.Time{}, searched: map[client.ObjectKey]time.Time{}}
	if r.Connect == nil {
		r.Connect = connect
	}
	if r.Open == nil {
		r.Open = func(config *rest.Config) (client.Client, error) { return client.New(config, client.Options{}) }
	}
	steps := []reconcile.Step[*scope]{
		{Name: "keys", Run: r.readKeys},
		reconcile.Group(
			reconcile.Step[*scope]{Name: "API servers", Run: r.verifyServers},
			reconcile.Step[*scope]{Name: "AWS", Run: r.verifyAWS},
			reconcile.Step[*scope]{Name: "tokens of old keys", Run: r.searchTokens},
		),
	}
	return &Controller{
		Name: "signingkeys", Client: opts.Client, Clock: opts.Clock,
		Gone:  r.forget,
		Scope: r.scope,
		Phase: func(*scope) []reconcile.Step[*scope] { return steps },
		Store: opts.Status,
		Fields: func(hcp *hyperv1.HostedControlPlane) any {
			return statusPart{ServiceAccountKeys: hcp.Status.ServiceAccountKeys}
		},
		Status:  summarize,
		Resync:  func(s *scope) time.Duration { return s.resync() },
		Timeout: deadline,
	}
}

// statusPart holds the status field that this controller writes.
type statusPart struct {
	ServiceAccountKeys *hyperv1.ServiceAccountKeysStatus `json:"serviceAccountKeys,omitempty"`
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	all := neighbours.Handler(opts.Client)
	return c.Builder(mgr).
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Secret{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(func(s client.Object) bool {
			return s.GetName() == names.ServiceAccountSigningKey
		}))).
		Complete(c)
}

// scope holds the facts of one reconcile. The last word of a comment is the step that sets it.
type scope struct {
	hcp *hyperv1.HostedControlPlane
	// keys are the content of the Secret, nil without a rotation. readKeys
	keys *signingkeys.State
	// due are the old keys that could be retired. readKeys
	due []signingkeys.Old
	// status is the report. readKeys
	status *hyperv1.ServiceAccountKeysStatus
}

// resync is for old keys that become due, and for their tokens.
func (s *scope) resync() time.Duration {
	if s.keys == nil {
		return 0
	}
	return tokensInterval
}

// scope skips a control plane that is about to be deleted.
func (r *Reconciler) scope(_ context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
	if hcp.Unreadable() != "" || !hcp.DeletionTimestamp.IsZero() || hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == "true" {
		return nil, reconcile.Skip(0)
	}
	return &scope{hcp: hcp}, nil
}

func (r *Reconciler) forget(_ context.Context, key client.ObjectKey) error {
	delete(r.asked, key)
	delete(r.searched, key)
	return nil
}

// readKeys reads the Secret. What was reported about keys that it does not have any more is dropped.
func (r *Reconciler) readKeys(ctx context.Context, s *scope) error {
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.ServiceAccountSigningKey}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting Secret %s: %w", names.ServiceAccountSigningKey, err)
	}
	keys, err := signingkeys.Decode(secret.Data)
	if err != nil {
		return reconcile.Block(hyperv1.InvalidSecretReason, "Secret %s cannot be read: %v", names.ServiceAccountSigningKey, err)
	}
	if !keys.Rotating() {
		return nil
	}
	s.keys, s.status = keys, &hyperv1.ServiceAccountKeysStatus{}
	if reported := s.hcp.Status.ServiceAccountKeys; reported != nil {
		s.status = reported.DeepCopy()
	}
	if s.status.LoadedRevision != keys.Revision() {
		s.status.LoadedRevision = ""
	}
	if keys.Next == nil || s.status.TrustedByAWS != keys.Next.ID {
		s.status.TrustedByAWS = ""
	}
	for _, o := range keys.Old {
		if !o.Replaced.IsZero() && !r.Clock.Now().Before(o.Due()) {
			s.due = append(s.due, o)
		}
	}
	s.status.OldKeys = slices.DeleteFunc(s.status.OldKeys, func(t hyperv1.OldSigningKeyTokens) bool {
		return !slices.ContainsFunc(s.due, func(o signingkeys.Old) bool { return o.ID == t.KeyID })
	})
	s.status.ChecksTokens = nil
	if len(s.due) > 0 {
		s.status.ChecksTokens = ptr.To(true)
	}
	return nil
}

// verifyAWS exchanges a token of the next key at STS. A refusal of its subject shows, too, that its signature is accepted.
func (r *Reconciler) verifyAWS(ctx context.Context, s *scope) error {
	if s.keys == nil || s.keys.Next == nil || s.hcp.Spec.Platform.AWS == nil || s.status.TrustedByAWS != "" {
		return nil
	}
	key, aws := client.ObjectKeyFromObject(s.hcp), s.hcp.Spec.Platform.AWS
	if left := awsInterval - r.Clock.Since(r.asked[key]); left > 0 && left <= awsInterval {
		return reconcile.Wait(left, hyperv1.WaitingForReason, "%s", awsRefuses(s))
	}
	r.asked[key] = r.Clock.Now()
	err := r.TakeRole(ctx, aws.Region, s.hcp.Spec.IssuerURL, string(aws.RolesRef.ControlPlaneOperatorARN))
	if err != nil && !awsx.IsUntrusted(err) {
		ctrl.LoggerFrom(ctx).Info("AWS does not accept a token of the next key yet", "answer", awsx.Message(err))
		return reconcile.Wait(awsInterval, hyperv1.WaitingForReason, "%s", awsRefuses(s))
	}
	s.status.TrustedByAWS = s.keys.Next.ID
	return nil
}

// awsRefuses has no answer of AWS, which differs between attempts.
func awsRefuses(s *scope) string {
	return fmt.Sprintf("AWS does not accept tokens of key %s yet: the documents at %s need it", s.keys.Next.ID, s.hcp.Spec.IssuerURL)
}

// summarize sets the status. Without a rotation there is none.
func summarize(s *scope, report reconcile.Report, _ *reconcile.Conditions) {
	if s.status == nil {
		if report.Done() {
			s.hcp.Status.ServiceAccountKeys = nil
		}
		return
	}
	var waits []string
	for _, outcome := range report {
		var wait *reconcile.Waiting
		switch {
		case errors.As(outcome.Err, &wait):
			waits = append(waits, wait.Message)
		case outcome.Err != nil && !reconcile.IsTransientAPIError(outcome.Err):
			waits = append(waits, awsx.Message(outcome.Err))
		}
	}
	s.status.Message = bounded(strings.Join(waits, "; "), maxMessage)
	s.hcp.Status.ServiceAccountKeys = s.status
}

func bounded(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[:limit]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}
