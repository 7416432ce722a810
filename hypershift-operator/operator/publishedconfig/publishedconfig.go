// Package publishedconfig writes ConfigMaps by which the operator publishes facts about itself and the management cluster.
package publishedconfig

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Writer writes ConfigMaps. Reader reads from the API server: the operator has no cache of them.
type Writer struct {
	Client client.Client
	Reader client.Reader
}

// Write creates or updates the ConfigMap if edit changes it.
func (w Writer) Write(ctx context.Context, key client.ObjectKey, edit func(*corev1.ConfigMap)) error {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	err := w.Reader.Get(ctx, key, config)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading ConfigMap %s: %w", key, err)
	}
	previous := config.DeepCopy()
	edit(config)
	switch {
	case err != nil:
		err = w.Client.Create(ctx, config)
	case !reflect.DeepEqual(config, previous):
		err = w.Client.Patch(ctx, config, client.MergeFrom(previous))
	}
	if err != nil {
		return fmt.Errorf("writing ConfigMap %s: %w", key, err)
	}
	return nil
}
