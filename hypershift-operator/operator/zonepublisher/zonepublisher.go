// Package zonepublisher publishes the availability zones that private clusters can use, for tenants: they may read neither the nodes of the
// management cluster nor the endpoint services of other tenants, and a private cluster in other zones never becomes available.
package zonepublisher

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/publishedconfig"
	"github.com/hosted-control-planes/hypershift/internal/servedzones"
)

// interval is how often the zones are read. They change when the management cluster gets subnets in another zone.
const interval = 5 * time.Minute

// Publisher is a Runnable of the leader.
type Publisher struct {
	// Its Client also reads the endpoint services from the cache. Its Reader also reads nodes, which the cache has without their labels.
	publishedconfig.Writer
	Clock clock.Clock
}

// Start publishes until the context ends.
func (p *Publisher) Start(ctx context.Context) error {
	for {
		if err := p.publish(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Publishing the availability zones")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.Clock.After(interval):
		}
	}
}

// publish writes the ConfigMap if the zones differ. Zones that are not known stay as they were.
func (p *Publisher) publish(ctx context.Context) error {
	ids, err := p.zones(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	return p.Write(ctx, servedzones.ConfigMap, func(config *corev1.ConfigMap) {
		if !slices.Equal(servedzones.Published(config), ids) {
			config.Data = map[string]string{servedzones.IDsKey: strings.Join(ids, ",")}
		}
	})
}

// zones returns the ids of the zones. It lists the nodes, which may be thousands, only until there is an endpoint service.
func (p *Publisher) zones(ctx context.Context) ([]string, error) {
	services := &hyperv1.AWSEndpointServiceList{}
	if err := p.Client.List(ctx, services); err != nil {
		return nil, fmt.Errorf("listing the endpoint services: %w", err)
	}
	if ids, _ := servedzones.Of(services.Items, nil); len(ids) > 0 {
		return ids, nil
	}
	nodes := &metav1.PartialObjectMetadataList{}
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := p.Reader.List(ctx, nodes); err != nil {
		return nil, fmt.Errorf("listing the nodes: %w", err)
	}
	var labels []string
	for i := range nodes.Items {
		labels = append(labels, nodes.Items[i].Labels[servedzones.NodeLabel])
	}
	ids, _ := servedzones.Of(nil, labels)
	return ids, nil
}
