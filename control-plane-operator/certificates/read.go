package certificates

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// found is what there is in the namespace, by name.
type found struct {
	secrets    map[string]map[string][]byte
	configMaps map[string]map[string]string
}

func read(ctx context.Context, from client.Reader, namespace string) (found, error) {
	f := found{secrets: map[string]map[string][]byte{}, configMaps: map[string]map[string]string{}}
	secrets := &corev1.SecretList{}
	if err := from.List(ctx, secrets, client.InNamespace(namespace)); err != nil {
		return f, fmt.Errorf("listing Secrets: %w", err)
	}
	for i := range secrets.Items {
		f.secrets[secrets.Items[i].Name] = secrets.Items[i].Data
	}
	configMaps := &corev1.ConfigMapList{}
	if err := from.List(ctx, configMaps, client.InNamespace(namespace)); err != nil {
		return f, fmt.Errorf("listing ConfigMaps: %w", err)
	}
	for i := range configMaps.Items {
		f.configMaps[configMaps.Items[i].Name] = configMaps.Items[i].Data
	}
	return f, nil
}
