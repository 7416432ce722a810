package objects

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/authorities"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// nodeAuthorities publishes the authorities that nodes trust. User data has them only once, when a machine is created.
// Nodes follow this ConfigMap.
var nodeAuthorities = Set{
	Name:      "node-authorities",
	Namespace: metav1.NamespacePublic,
	Kinds:     []client.ObjectList{&corev1.ConfigMapList{}},
	Desired: func(ctx context.Context, b *Builder) ([]client.Object, error) {
		data, err := authorities.ForNodes(ctx, b.Client, b.HCP, b.Cluster)
		if err == nil {
			err = authorities.AddServer(ctx, b.Client, b.HCP, data)
		}
		if err != nil {
			return nil, err
		}
		return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: names.NodeAuthorities}, Data: data}}, nil
	},
}
