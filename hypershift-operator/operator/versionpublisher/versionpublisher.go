// Package versionpublisher publishes the versions of Kubernetes that the operator supports for hosted clusters, for people and programs that choose a
// release.
package versionpublisher

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/publishedconfig"
	"github.com/hosted-control-planes/hypershift/internal/supportedversions"
)

// retryAfter is the time between two attempts. A ConfigMap that a person changes or deletes is restored at the next start.
const retryAfter = time.Minute

// Publisher is a Runnable of the leader.
type Publisher struct {
	publishedconfig.Writer
	Clock clock.Clock
	// Namespace is that of the operator, Version its version, and Versions are the supported ones.
	Namespace, Version string
	Versions           []string
}

// Start publishes once.
func (p *Publisher) Start(ctx context.Context) error {
	for {
		err := p.publish(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		ctrl.LoggerFrom(ctx).Error(err, "Publishing the supported versions")
		select {
		case <-ctx.Done():
			return nil
		case <-p.Clock.After(retryAfter):
		}
	}
}

// publish writes the ConfigMap if it differs.
func (p *Publisher) publish(ctx context.Context) error {
	want, err := supportedversions.Data(p.Version, p.Versions)
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: p.Namespace, Name: supportedversions.Name}
	return p.Write(ctx, key, func(config *corev1.ConfigMap) {
		config.Data = want
		metav1.SetMetaDataLabel(&config.ObjectMeta, supportedversions.Label, "true")
	})
}
