package certificates

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// found is what there is in the namespace, by name. It may be what the cache has:
// nobody changes it.
type found struct {
	secrets    map[string]map[string][]byte
	configMaps map[string]map[string]string
	// versions name all of it, as it is.
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

// versionOf is something else as soon as anything of obj is.
func versionOf(obj client.Object) string {
	return string(obj.GetUID()) + " " + obj.GetResourceVersion()
}
