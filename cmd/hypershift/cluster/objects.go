package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// existing is the management cluster, for the objects of one cluster.
type existing struct {
	*management.API
	infraID string
	// randomKey is the name of a Secret that each run generates with another key, of which the first one counts; or "".
	randomKey string
}

func (t Target) existing(m *management.API) existing {
	e := existing{API: m, infraID: t.Network.InfraID}
	if !t.GivenKey {
		e.randomKey = t.Cluster.EncryptionKeyName()
	}
	return e
}

// create creates an object, and keeps an object that an earlier run or the user has created.
func (m existing) create(ctx context.Context, env operation.Environment, obj client.Object) error {
	err := m.Create(ctx, obj.DeepCopyObject().(client.Object))
	switch _, isNamespace := obj.(*corev1.Namespace); {
	case err == nil:
		fmt.Fprintf(env.Err, "created %s\n", title(obj))
		return nil
	case isNamespace && (apierrors.IsForbidden(err) || apierrors.IsAlreadyExists(err)):
		// The user may have a namespace and no right to create one. The next object shows whether it exists.
		return nil
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("creating %s: %w", title(obj), err)
	}
	err = m.conflict(ctx, obj)
	var usage *operation.UsageError
	if errors.As(err, &usage) {
		return usage.Err // it was correct before the calls to AWS: someone has changed the object meanwhile
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "%s exists, and is not changed\n", title(obj))
	return nil
}

// conflict returns an error if an existing object belongs to another cluster, or has other values than this command requests.
func (m existing) conflict(ctx context.Context, obj client.Object) error {
	found, infraID := obj.DeepCopyObject().(client.Object), m.infraID
	if err := m.Get(ctx, client.ObjectKeyFromObject(obj), found); err != nil {
		return fmt.Errorf("reading %s: %w", title(obj), err)
	}
	if hc, ok := found.(*hyperv1.HostedCluster); ok && hc.Spec.InfraID != infraID {
		return fmt.Errorf("%s exists with infra ID %s, not %s: someone has created it meanwhile", title(obj), hc.Spec.InfraID, infraID)
	}
	if other := found.GetLabels()[clustermanifests.InfraIDLabel]; other != "" && other != infraID {
		return fmt.Errorf("%s exists and belongs to infra ID %s, not %s: delete it, and run the same command again", title(obj), other, infraID)
	}
	if m.randomKey != "" && obj.GetName() == m.randomKey {
		return nil
	}
	return management.RefuseDifferences(title(obj), found, obj)
}

func title(obj client.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if obj.GetNamespace() == "" {
		return kind + " " + obj.GetName()
	}
	return kind + " " + obj.GetNamespace() + "/" + obj.GetName()
}
