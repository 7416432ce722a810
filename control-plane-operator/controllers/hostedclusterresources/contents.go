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
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A part is one idea of what there is inside a hosted cluster. Its objects are
// applied and pruned together.
type part struct {
	name string
	// namespace is where its objects are, empty for everywhere.
	namespace string
	// kinds are those that it has or ever had.
	kinds []client.ObjectList
	// desired says what there has to be; none if the cluster has no such part.
	desired func(*Reconciler, context.Context, *scope) ([]client.Object, error)
}

// contents are the parts that need nothing of each other.
var contents = []part{apiEndpoints, clusterInfo, nodeAuthorities, bootstrapTokens, pullSecret, coreDNS, kubeProxy, konnectivityAgent}

func (p part) set() apply.Set { return apply.Set{Name: p.name, Namespace: p.namespace, Kinds: p.kinds} }

// found says that a hosted cluster was seen to have a part as it was wished.
type found struct {
	wish [sha256.Size]byte
	at   time.Time
}

// ensure makes a part what it should be. It looks into the hosted cluster when
// the wish is another than last time, and else after a while: tokens and nodes
// come and go every minute, and a cluster changes rarely.
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
		return fmt.Errorf("marshalling what %s has to be: %w", p.name, err)
	}
	wish := sha256.Sum256(text)
	if was, known := s.hosted.found[p.name]; known && was.wish == wish && r.Clock.Since(was.at) < r.Interval {
		return nil
	}
	var foreign *apply.ForeignError
	if err := by(objs); errors.As(err, &foreign) {
		return reconcile.Wait(lookAgain, hyperv1.NameTakenReason, "%v", foreign)
	} else if err != nil {
		return err
	}
	s.hosted.found[p.name] = found{wish: wish, at: r.Clock.Now()}
	return nil
}

// lookAgain is how long to wait for what nobody tells us.
const lookAgain = time.Minute

// distrust forgets what was found of the permissions when they do not suffice:
// somebody may have taken them away since.
func (r *Reconciler) distrust(s *scope, report reconcile.Report) {
	for _, o := range report {
		if s.hosted != nil && apierrors.IsForbidden(o.Err) {
			delete(s.hosted.found, permissions.name)
		}
	}
}
