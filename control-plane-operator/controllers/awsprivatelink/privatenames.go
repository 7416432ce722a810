package awsprivatelink

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// ensurePrivateNames lets external-dns register the host names that the user
// chose, of a cluster that is not public, with the name of the endpoint.
func (r *Reconciler) ensurePrivateNames(ctx context.Context, s *scope) error {
	if published, err := r.publishes(ctx, s); !published || err != nil {
		return err
	}
	_, err := r.apply.Apply(ctx, privateNames(s.es), desiredPrivateNames(s.es, s.hcp, s.endpoint.DNSName)...)
	return err
}

func (r *Reconciler) deletePrivateNames(ctx context.Context, s *scope) error {
	if taken, err := r.isTakenOver(ctx, s.es); taken || err != nil {
		return err
	}
	_, err := r.apply.Delete(ctx, privateNames(s.es))
	return err
}

// isTakenOver reports whether the names of an object belong to another router's object.
func (r *Reconciler) isTakenOver(ctx context.Context, es *hyperv1.AWSEndpointService) (bool, error) {
	other := &hyperv1.AWSEndpointService{}
	name := former(es)
	if name == "" {
		return false, nil
	}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: es.Namespace, Name: name}, other)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading AWSEndpointService %s: %w", name, err)
	}
	return err == nil && other.DeletionTimestamp.IsZero(), nil
}

// privateNames is no child of the AWSEndpointService: that stays until AWS is
// clean, and external-dns should hear of it before. Both routers have the same
// names.
func privateNames(es *hyperv1.AWSEndpointService) apply.Set {
	name := es.Name
	if name == sharedrouter.EndpointService {
		name = names.PrivateRouter
	}
	return apply.Set{Name: "names-" + name, Namespace: es.Namespace, Kinds: []client.ObjectList{&corev1.ServiceList{}}}
}

// externalPrivateLabel marks these Services.
const externalPrivateLabel = "hypershift.openshift.io/external-private-service"

func desiredPrivateNames(es *hyperv1.AWSEndpointService, hcp *hyperv1.HostedControlPlane, target string) []client.Object {
	if es.Name == names.KubeAPIServerPrivate || hcp.ServedAccess() != hyperv1.Private {
		return nil
	}
	var out []client.Object
	for _, m := range hcp.Spec.Services {
		route := m.ServicePublishingStrategy.Route
		if m.Service != hyperv1.APIServer || m.ServicePublishingStrategy.Type != hyperv1.Route || route == nil || route.Hostname == "" {
			continue
		}
		out = append(out, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{
				Name: names.KubeAPIServerPrivate + "-external", Namespace: es.Namespace,
				Labels: map[string]string{externalPrivateLabel: "true"},
				Annotations: map[string]string{
					hyperv1.ExternalDNSHostnameAnnotation: route.Hostname, hyperv1.CurrentExternalDNSHostnameAnnotation: route.Hostname,
				},
			},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: target},
		})
	}
	return out
}
