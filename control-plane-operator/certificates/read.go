package certificates

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// found has the existing objects of the namespace by name. The objects may be those of the cache, so they must not be
// changed.
type found struct {
	secrets    map[string]map[string][]byte
	configMaps map[string]map[string]string
	// versions are the resource versions of all objects.
	versions []string
}

func read(ctx context.Context, from client.Reader, namespace string) (found, error) {
	f := found{secrets: map[string]map[string][]byte{}, configMaps: map[string]map[string]string{}}
	secrets := &corev1.SecretList{}
	if err := from.List(ctx, secrets, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return f, fmt.Errorf("listing Secrets with certificates: %w", err)
	}
	for i := range secrets.Items {
		f.secrets[secrets.Items[i].Name] = secrets.Items[i].Data
		f.versions = append(f.versions, versionOf(&secrets.Items[i]))
	}
	configMaps := &corev1.ConfigMapList{}
	if err := from.List(ctx, configMaps, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return f, fmt.Errorf("listing ConfigMaps with certificates: %w", err)
	}
	for i := range configMaps.Items {
		f.configMaps[configMaps.Items[i].Name] = configMaps.Items[i].Data
		f.versions = append(f.versions, versionOf(&configMaps.Items[i]))
	}
	slices.Sort(f.versions)
	return f, nil
}

// versionOf changes with every change of obj.
func versionOf(obj client.Object) string {
	return string(obj.GetUID()) + " " + obj.GetResourceVersion()
}
