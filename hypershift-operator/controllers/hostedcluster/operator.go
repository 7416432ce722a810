package hostedcluster

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureOperator runs the control-plane-operator in the control plane's namespace.
func (r *Reconciler) ensureOperator(ctx context.Context, s *scope) error {
	image, err := r.operatorImage(s)
	if err != nil {
		return err
	}
	objs, err := r.desiredOperator(s, image)
	if err != nil {
		return err
	}
	_, err = r.apply.Apply(ctx, s.operatorSet(), objs...)
	return err
}

// operatorImage returns the image of the control-plane-operator, which contains the
// token minter as well.
func (r *Reconciler) operatorImage(s *scope) (string, error) {
	image := r.ControlPlaneOperatorImage
	if r.AllowOperatorImageOverride {
		image = cmp.Or(s.hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation], image)
	}
	if image == "" {
		return "", reconcile.Block(hyperv1.InvalidImageReason, "no image is known for the control-plane-operator: start the hypershift-operator with --control-plane-operator-image")
	}
	return image, nil
}

func (s *scope) operatorSet() apply.Set {
	return s.plane.Set(setOperator, controlplane.Kinds()...)
}

// desiredOperator returns the objects in the order of their dependencies.
func (r *Reconciler) desiredOperator(s *scope, image string) ([]client.Object, error) {
	objs, workloads, err := controlplane.Render(r.target(s, map[string]string{controlplane.OperatorImage: image}), components.ControlPlane)
	return append(objs, workloads...), err
}

// target is the target of the components that this operator runs for the control plane.
func (r *Reconciler) target(s *scope, images map[string]string) *controlplane.Target {
	return &controlplane.Target{
		Namespace: s.plane, Pods: s.podSettings(), Images: images, Autoscaling: s.hc.Spec.Autoscaling, AWS: s.aws(), IssuerURL: s.hc.Spec.IssuerURL, Egress: r.Egress,
		MetricsClientCA: r.MetricsClientCA, RegistryOverrides: r.RegistryOverrides, SkipLoadBalancerChecks: r.SkipLoadBalancerChecks,
		LoadBalancers: r.LoadBalancers,
		Profiling:     r.Profiling,
		ResyncPeriod:  r.Resync,
	}
}
