package objects

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
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A Set is a set of objects inside a hosted cluster that are applied and pruned together.
type Set struct {
	Name string
	// Namespace is the namespace of its objects, or empty for all namespaces.
	Namespace string
	// Kinds are the kinds that the set has or ever had.
	Kinds []client.ObjectList
	// Desired returns the desired objects. There are none if the cluster does not have the set.
	Desired func(context.Context, *Builder) ([]client.Object, error)
	// Constant is true if all reconciles of this program have the same objects. They are made only to be applied.
	Constant bool
	// LeavesForeign is true if an object of the same name that users have created stays as it is, and is no error.
	LeavesForeign bool
}

// Independent returns the sets that do not depend on each other: sets of objects, and the components in the hosted cluster.
func Independent() []Set {
	sets := []Set{apiEndpoints, clusterInfo, nodeAuthorities, bootstrapTokens, pullSecret, podIdentityWebhook}
	for _, c := range components.HostedCluster {
		sets = append(sets, workload(c))
	}
	return sets
}

func (s Set) applySet() apply.Set {
	return apply.Set{Name: s.Name, Namespace: s.Namespace, Kinds: s.Kinds}
}

// applied holds the last time when each set was in its desired state.
type applied map[string]appliedSet

type appliedSet struct {
	digest [sha256.Size]byte
	at     time.Time
}

// Ensure reconciles a set. It reads the hosted cluster when the desired state has changed, and otherwise only after
// Options.Interval: reconciles for tokens and nodes happen every minute, but these objects change rarely.
func (b *Builder) Ensure(ctx context.Context, set Set) error {
	return b.ensureBy(ctx, set, func(objs []client.Object) error {
		_, err := b.Cluster.Applier.Apply(ctx, set.applySet(), objs...)
		return err
	})
}

func (b *Builder) ensureBy(ctx context.Context, set Set, by func([]client.Object) error) error {
	sets := connection.Memory[applied](b.Cluster)
	last, isApplied := (*sets)[set.Name]
	isApplied = isApplied && b.Clock.Since(last.at) < b.Interval
	if isApplied && set.Constant {
		return nil
	}
	objs, err := set.Desired(ctx, b)
	if err != nil {
		return err
	}
	text, err := json.Marshal(objs)
	if err != nil {
		return fmt.Errorf("marshalling the desired objects of %s: %w", set.Name, err)
	}
	digest := sha256.Sum256(text)
	if isApplied && last.digest == digest {
		return nil
	}
	var foreign *apply.ForeignError
	switch err := by(objs); {
	case errors.As(err, &foreign) && set.LeavesForeign:
	case errors.As(err, &foreign):
		return reconcile.Wait(pollInterval, hyperv1.NameTakenReason, "%v", foreign)
	case err != nil:
		return err
	}
	if *sets == nil {
		*sets = applied{}
	}
	(*sets)[set.Name] = appliedSet{digest: digest, at: b.Clock.Now()}
	return nil
}

// pollInterval is the requeue interval for changes without a watch.
const pollInterval = time.Minute

// AppliedAt returns when a set was last in its desired state, or the zero time.
func AppliedAt(cluster *connection.Cluster, set Set) time.Time {
	return (*connection.Memory[applied](cluster))[set.Name].at
}

// Forget makes the next reconcile read and apply the set of a component, of which an object is missing.
func Forget(cluster *connection.Cluster, name string) {
	delete(*connection.Memory[applied](cluster), name)
}

// InvalidatePermissions makes the next reconcile read the permissions if one of the errors is Forbidden: they may have been removed.
func InvalidatePermissions(cluster *connection.Cluster, report reconcile.Report) {
	for _, o := range report {
		if apierrors.IsForbidden(o.Err) {
			delete(*connection.Memory[applied](cluster), permissions.Name)
		}
	}
}
