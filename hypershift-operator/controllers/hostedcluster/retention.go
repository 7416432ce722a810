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
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// keepOperator keeps the control-plane-operator able to work for as long as it
// has something to take away. What cannot be kept stops nothing, because the
// control-plane-operator may have been done without it: those say it who wait.
func (r *Reconciler) keepOperator(ctx context.Context, s *scope) error {
	if s.namespace == nil || s.namespaceEnds() || !s.needsOperator() {
		return nil
	}
	for _, keep := range []struct {
		what string
		run  func(context.Context, *scope) error
	}{
		{"the token issuer", r.keepIssuer}, {"the pull secret", r.keepPullSecret}, {"the control-plane-operator", r.ensureOperator},
	} {
		if err := keep.run(ctx, s); err != nil {
			s.unkept = append(s.unkept, keep.what+": "+awsx.Message(err))
		}
	}
	return nil
}

// keepWorkers keeps Cluster API and its provider able to take the machines away.
// What stands in the way of that is the end of a sentence.
func (r *Reconciler) keepWorkers(ctx context.Context, s *scope) string {
	switch {
	case s.namespace == nil:
		return ""
	case s.namespaceEnds():
		return "; " + s.lost()
	}
	if err := r.ensureWorkers(ctx, s); err != nil {
		return "; their controllers cannot be kept: " + awsx.Message(err)
	}
	return ""
}

// needsOperator says whether something waits for the control-plane-operator.
func (s *scope) needsOperator() bool {
	ours := []string{hyperv1.HostedClusterFinalizer, hyperv1.ControlPlaneComponentsFinalizer, hyperv1.ControlPlaneOperatorFinalizer}
	return s.hcp != nil && slices.ContainsFunc(s.hcp.Finalizers, func(f string) bool { return slices.Contains(ours, f) }) ||
		slices.ContainsFunc(s.endpoints, func(es hyperv1.AWSEndpointService) bool { return heldByOperator(&es) })
}

// keepIssuer does not need the user's key again while there is a copy.
func (r *Reconciler) keepIssuer(ctx context.Context, s *scope) error {
	if s.hc.Spec.ServiceAccountSigningKey != nil {
		if there, err := r.hasSecret(ctx, s, names.ServiceAccountSigningKey); there || err != nil {
			return err
		}
	}
	err := r.ensureIssuer(ctx, s)
	var unverified *reconcile.UnverifiedError
	if errors.As(err, &unverified) {
		return unverified.Outcome
	}
	return err
}

// keepPullSecret does not need the user's Secret again while there is a copy.
func (r *Reconciler) keepPullSecret(ctx context.Context, s *scope) error {
	if there, err := r.hasSecret(ctx, s, names.PullSecret); there || err != nil {
		return err
	}
	return r.ensurePullSecret(ctx, s)
}

func (r *Reconciler) hasSecret(ctx context.Context, s *scope, name string) (bool, error) {
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: name}, &corev1.Secret{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// plight is what a user should know who waits for the control-plane-operator,
// as the end of a sentence.
func (s *scope) plight() string {
	var parts []string
	switch {
	case !s.needsOperator():
		return ""
	case s.namespaceEnds():
		parts = append(parts, s.lost())
	case s.silence != "":
		parts = append(parts, s.silence)
	}
	if len(s.unkept) > 0 {
		parts = append(parts, "it cannot be kept: "+strings.Join(s.unkept, "; "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}

// lost says what it means that somebody has deleted the namespace.
func (s *scope) lost() string {
	return "the namespace was deleted with the control-plane-operator in it; what only that could take away is left behind, and named, " + giveUpAfter(s).String() + " later"
}
