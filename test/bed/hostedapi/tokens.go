package hostedapi

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// How kube-apiserver finds a token: the name of its Secret starts with the prefix, and ends with what it has under the key.
const (
	tokenPrefix = "bootstrap-token-"
	tokenID     = "token-id"
)

// copyTokens makes the bootstrap tokens of the hosted cluster those of the namespace: a token that is taken away here no
// longer lets anybody in there.
func (a *API) copyTokens(ctx context.Context) error {
	here := &corev1.SecretList{}
	if err := a.management.List(ctx, here, client.InNamespace(a.namespace)); err != nil {
		return fmt.Errorf("listing bootstrap tokens: %w", err)
	}
	inside := a.kube.CoreV1().Secrets(metav1.NamespaceSystem)
	there, err := inside.List(ctx, metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeBootstrapToken)})
	if err != nil {
		return fmt.Errorf("listing bootstrap tokens of the hosted cluster: %w", err)
	}
	stale := map[string]bool{}
	for _, secret := range there.Items {
		stale[secret.Name] = true
	}
	for _, secret := range here.Items {
		if secret.Type != corev1.SecretTypeBootstrapToken {
			continue
		}
		name := tokenPrefix + string(secret.Data[tokenID])
		delete(stale, name)
		token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: secret.Type, Data: secret.Data}
		_, err := inside.Create(ctx, token, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			_, err = inside.Update(ctx, token, metav1.UpdateOptions{})
		}
		if err != nil {
			return fmt.Errorf("handing in bootstrap token %s: %w", secret.Name, err)
		}
	}
	for name := range stale {
		if err := inside.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("taking back bootstrap token %s: %w", name, err)
		}
	}
	return nil
}
