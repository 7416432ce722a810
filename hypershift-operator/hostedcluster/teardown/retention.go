package teardown

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// retainOperator keeps the control-plane-operator running while it has something to
// delete. Errors do not stop the deletion, because the control-plane-operator may be
// done without it: the steps that wait for it report them.
func (m *Manager) retainOperator(ctx context.Context, c *Cluster) error {
	if c.Namespace == nil || c.namespaceTerminating() || !c.needsOperator() {
		return nil
	}
	for _, required := range c.OperatorRequirements {
		err := m.retain(ctx, c, required)
		var unverified *reconcile.UnverifiedError
		if errors.As(err, &unverified) {
			err = unverified.Outcome
		}
		if err != nil {
			c.retentionErrors = append(c.retentionErrors, required.Name+": "+awsx.Message(err))
		}
	}
	return nil
}

// retain does not need the user's object while there is a copy.
func (m *Manager) retain(ctx context.Context, c *Cluster, required Requirement) error {
	if required.Copy != "" {
		err := m.Client.Get(ctx, c.Plane.Key(required.Copy), &corev1.Secret{})
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return required.Ensure(ctx)
}

// retainMachineControllers keeps Cluster API and its provider running while there
// are machines. It returns errors as the end of a sentence.
func (c *Cluster) retainMachineControllers(ctx context.Context) string {
	switch {
	case c.Namespace == nil:
		return ""
	case c.namespaceTerminating():
		return "; " + c.namespaceLostDetail()
	}
	if err := c.RunMachineControllers(ctx); err != nil {
		return "; their controllers cannot be kept: " + awsx.Message(err)
	}
	return ""
}
