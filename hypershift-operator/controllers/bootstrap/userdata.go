package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureUserData writes the Secret with the user data, and publishes its name for Cluster API.
func (r *Reconciler) ensureUserData(ctx context.Context, s *scope) error {
	text, err := nodeconfig.Render(s.inputs, s.node)
	var tooLarge *nodeconfig.TooLargeError
	if errors.As(err, &tooLarge) {
		return reconcile.Wait(lookAgain, hyperv1.UserDataTooLargeReason, "%v", tooLarge)
	}
	if err != nil {
		return fmt.Errorf("writing the user data of Machine %s: %w", s.machine.Name, err)
	}
	return r.writeUserData(ctx, s, text)
}

// disarm removes tokens and user data of a machine that has joined. The machine does not need them any more, an
// attacker could learn from them how machines join, and the cache would keep the user data of thousands of machines in memory.
func (r *Reconciler) disarm(ctx context.Context, s *scope) error {
	if err := r.revoke(ctx, s.nb); err != nil {
		return err
	}
	return r.writeUserData(ctx, s, nodeconfig.Empty(format(s)))
}

// format returns the format of the user data.
func format(s *scope) hyperv1.UserDataFormat {
	return cmp.Or(s.nb.Spec.UserDataFormat, hyperv1.UserDataFormatIgnition)
}

// setUserData labels the Secrets with user data, so that the cache keeps them.
const setUserData = "user-data"

func (r *Reconciler) writeUserData(ctx context.Context, s *scope, text []byte) error {
	secret := desiredUserData(s, text)
	if _, err := r.apply.Apply(ctx, apply.Set{Name: setUserData, Namespace: s.nb.Namespace, Parent: s.nb}, secret); err != nil {
		return err
	}
	s.nb.Status.DataSecretName = secret.Name
	s.nb.Status.Initialization.DataSecretCreated = ptr.To(true)
	return nil
}

// desiredUserData returns the Secret in the format of Cluster API's contract.
func desiredUserData(s *scope, text []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.nb.Namespace,
			Name:      "user-data-" + s.machine.Name,
			Labels:    map[string]string{clusterv1.ClusterNameLabel: s.machine.Spec.ClusterName},
		},
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{"value": text, "format": []byte(format(s))},
	}
}
