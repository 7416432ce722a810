package hostedcluster

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// retainOperator keeps the control-plane-operator running while it has something to
// delete. Errors do not stop the deletion, because the control-plane-operator may be
// done without it: the steps that wait for it report them.
func (r *Reconciler) retainOperator(ctx context.Context, s *scope) error {
	if s.namespace == nil || s.namespaceTerminating() || !s.needsOperator() {
		return nil
	}
	for _, keep := range []struct {
		what string
		run  func(context.Context, *scope) error
	}{
		{"the token issuer", r.retainIssuer}, {"the pull secret", r.retainPullSecret}, {"the control-plane-operator", r.ensureOperator},
	} {
		err := keep.run(ctx, s)
		var unverified *reconcile.UnverifiedError
		if errors.As(err, &unverified) {
			err = unverified.Outcome
		}
		if err != nil {
			s.retentionErrors = append(s.retentionErrors, keep.what+": "+classify.Message(err))
		}
	}
	return nil
}

// retainWorkers keeps Cluster API and its provider running while there are machines.
// It returns errors as the end of a sentence.
func (r *Reconciler) retainWorkers(ctx context.Context, s *scope) string {
	switch {
	case s.namespace == nil:
		return ""
	case s.namespaceTerminating():
		return "; " + s.namespaceLostDetail()
	}
	if err := r.ensureWorkers(ctx, s); err != nil {
		return "; their controllers cannot be kept: " + classify.Message(err)
	}
	return ""
}

// needsOperator reports whether an object has a finalizer of the
// control-plane-operator.
func (s *scope) needsOperator() bool {
	ours := []string{hyperv1.HostedClusterFinalizer, hyperv1.ControlPlaneComponentsFinalizer, hyperv1.ControlPlaneOperatorFinalizer}
	return s.hcp != nil && slices.ContainsFunc(s.hcp.Finalizers, func(f string) bool { return slices.Contains(ours, f) }) ||
		slices.ContainsFunc(s.endpoints, func(es hyperv1.AWSEndpointService) bool { return hasOperatorFinalizer(&es) })
}

// retainIssuer does not need the user's key while there is a copy.
func (r *Reconciler) retainIssuer(ctx context.Context, s *scope) error {
	if s.hc.Spec.ServiceAccountSigningKey != nil {
		if there, err := r.hasSecret(ctx, s, names.ServiceAccountSigningKey); there || err != nil {
			return err
		}
	}
	return r.ensureIssuer(ctx, s)
}

// retainPullSecret does not need the user's Secret while there is a copy.
func (r *Reconciler) retainPullSecret(ctx context.Context, s *scope) error {
	if there, err := r.hasSecret(ctx, s, names.PullSecret); there || err != nil {
		return err
	}
	return r.ensurePullSecret(ctx, s)
}

func (r *Reconciler) hasSecret(ctx context.Context, s *scope, name string) (bool, error) {
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.plane.Name, Name: name}, &corev1.Secret{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// blockedDetail explains a wait for the control-plane-operator to users, as the end
// of a sentence.
func (s *scope) blockedDetail() string {
	var parts []string
	switch {
	case !s.needsOperator():
		return ""
	case s.namespaceTerminating():
		parts = append(parts, s.namespaceLostDetail())
	case s.operatorProblem != "":
		parts = append(parts, s.operatorProblem)
	}
	if len(s.retentionErrors) > 0 {
		parts = append(parts, "it cannot be kept: "+strings.Join(s.retentionErrors, "; "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}

// namespaceLostDetail explains the consequences of a deleted namespace.
func (s *scope) namespaceLostDetail() string {
	return "the namespace was deleted with the control-plane-operator in it; what only that could take away is left behind, and named, " + orphanAfter(s).String() + " later"
}
