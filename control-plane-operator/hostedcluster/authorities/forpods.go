package authorities

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// rootCAOfPods is the ConfigMap that kube-controller-manager writes to every namespace, and that every pod mounts.
const rootCAOfPods = "kube-root-ca.crt"

// podAuthorities holds the API server's authorities for pods.
type podAuthorities []byte

// ForPods returns the API server's authorities for pods that start now. Most programs read them only at their start.
// They differ from the operator's authorities for a while after a change, because kube-controller-manager publishes them
// later.
func ForPods(ctx context.Context, cluster *connection.Cluster) ([]byte, error) {
	current, last := cluster.Config.CAData, connection.Memory[podAuthorities](cluster)
	if bytes.Equal(*last, current) {
		return current, nil
	}
	cm := &corev1.ConfigMap{}
	err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: rootCAOfPods}, cm)
	if apierrors.IsNotFound(err) {
		return current, nil // no pod can start before it exists
	}
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", rootCAOfPods, err)
	}
	*last = podAuthorities(cm.Data[pki.TrustKey])
	return *last, nil
}
