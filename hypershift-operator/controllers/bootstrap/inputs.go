package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// resolveInputs reads the inputs of user data that the NodePool controller has stored.
func (r *Reconciler) resolveInputs(ctx context.Context, s *scope) error {
	name, secret := s.nb.Spec.ConfigName, &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.nb.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return reconcile.Wait(lookAgain, hyperv1.ConfigNotFoundReason, "Secret %s with the configuration of the node pool does not exist", name)
	}
	if err != nil {
		return fmt.Errorf("getting Secret %s: %w", name, err)
	}
	if s.inputs, err = nodeconfig.Decode(secret.Data); err != nil {
		// The error is left out: it may quote a part of the Secret.
		return reconcile.Wait(lookAgain, hyperv1.ConfigNotFoundReason, "Secret %s does not contain the configuration of a node pool: delete it, and the operator writes it again", name)
	}
	s.inputs.Format, s.inputs.Version, s.inputs.Programs = format(s), s.nb.Spec.Version, s.nb.Spec.Programs
	return nil
}
