package hostedclusterresources

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A part is a set of objects inside a hosted cluster that are applied and pruned together.
type part struct {
	name string
	// namespace is the namespace of its objects, or empty for all namespaces.
	namespace string
	// kinds are the kinds that the part has or ever had.
	kinds []client.ObjectList
	// desired returns the desired objects. There are none if the cluster does not have the part.
	desired func(*Reconciler, context.Context, *scope) ([]client.Object, error)
}

// contents returns the parts that do not depend on each other: sets of objects, and the components in the hosted cluster.
func contents() []part {
	parts := []part{apiEndpoints, clusterInfo, nodeAuthorities, bootstrapTokens, pullSecret, podIdentityWebhook}
	for _, c := range components.HostedCluster {
		parts = append(parts, workload(c))
	}
	return parts
}

func (p part) set() apply.Set { return apply.Set{Name: p.name, Namespace: p.namespace, Kinds: p.kinds} }

// observedPart is the last observation of a part in its desired state.
type observedPart struct {
	digest [sha256.Size]byte
	at     time.Time
}

// ensure reconciles a part. It reads the hosted cluster when the desired state has changed, and otherwise only after
// Options.Interval: reconciles for tokens and nodes happen every minute, but these objects change rarely.
func (r *Reconciler) ensure(ctx context.Context, s *scope, p part) error {
	return r.ensureBy(ctx, s, p, func(objs []client.Object) error {
		_, err := s.hosted.apply.Apply(ctx, p.set(), objs...)
		return err
	})
}

func (r *Reconciler) ensureBy(ctx context.Context, s *scope, p part, by func([]client.Object) error) error {
	objs, err := p.desired(r, ctx, s)
	if err != nil {
		return err
	}
	text, err := json.Marshal(objs)
	if err != nil {
		return fmt.Errorf("marshalling the desired objects of %s: %w", p.name, err)
	}
	digest := sha256.Sum256(text)
	if was, known := s.hosted.observed[p.name]; known && was.digest == digest && r.Clock.Since(was.at) < r.Interval {
		return nil
	}
	var foreign *apply.ForeignError
	if err := by(objs); errors.As(err, &foreign) {
		return reconcile.Wait(pollInterval, hyperv1.NameTakenReason, "%v", foreign)
	} else if err != nil {
		return err
	}
	s.hosted.observed[p.name] = observedPart{digest: digest, at: r.Clock.Now()}
	return nil
}

// pollInterval is the requeue interval for changes without a watch.
const pollInterval = time.Minute

// invalidatePermissions invalidates the observed permissions after a Forbidden error, because they may have been removed.
func (r *Reconciler) invalidatePermissions(s *scope, report reconcile.Report) {
	for _, o := range report {
		if s.hosted != nil && apierrors.IsForbidden(o.Err) {
			delete(s.hosted.observed, permissions.name)
		}
	}
}
