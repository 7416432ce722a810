package hostedcluster

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/index"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// scope is what one pass knows. Gather fills it, but for what says otherwise.
type scope struct {
	hc *hyperv1.HostedCluster
	// controlPlane is the name of the control plane's namespace.
	controlPlane string
	// namespace is nil if there is none, or if it belongs to somebody else.
	namespace *corev1.Namespace
	// hcp is nil if there is none of ours.
	hcp *hyperv1.HostedControlPlane
	// cluster is what Cluster API knows of the hosted cluster, nil if there is
	// none, or while Cluster API does not run.
	cluster *clusterv1.Cluster
	// operator is the Deployment of the control-plane-operator, nil if there is none.
	operator *appsv1.Deployment
	// endpoints are the AWSEndpointServices of the control plane.
	endpoints []hyperv1.AWSEndpointService
	// pools are the cluster's node pools.
	pools []hyperv1.NodePool
	// workers says that there are node pools, or machines that one has left.
	workers bool
	// paused says that the user wants no change, for pauseLeft if that is not 0.
	paused    bool
	pauseLeft time.Duration

	// memoryFactor is the memory limit of containers as a multiple of their
	// request, 0 for none.
	memoryFactor int64

	// silence says that the control-plane-operator does not run, and why. It may
	// have to be said after silenceIn. Filled by gather.
	silence   string
	silenceIn time.Duration
	// images are what the cluster is to run, empty while no release has passed
	// the gate; release and controlPlaneRelease are what is in them, nil if that
	// could not be read or, of the latter, if the control plane runs the release
	// of the cluster. held says that the user wants others, which have not passed.
	// Filled by checkRelease.
	images              payloadImages
	release             *release.Release
	controlPlaneRelease *release.Release
	held                bool
	// told says that the HostedControlPlane as gather found it says what the user
	// wants. Filled by ensureControlPlane.
	told bool
	// sources are the user's objects that this pass has read. Filled by brought.
	sources map[string]userObject
	// refused is what is wrong with the configuration and has not stopped the pass,
	// because the last good one is in use. Filled by checkConfiguration.
	refused []problem
	// unkept is what the control-plane-operator needs and cannot get. Filled by
	// keepOperator.
	unkept []string
	// trust tells bundles of the user's authorities apart, empty while there is
	// none. Filled by gather.
	trust string
	// save writes the status now, for what must be known before something is
	// done. Filled by Reconcile.
	save func(context.Context) error
}

func (s *scope) dying() bool { return !s.hc.DeletionTimestamp.IsZero() }

// namespaceEnds says that nothing can be created in the control plane's
// namespace any more, and that everything in it has been asked to go.
func (s *scope) namespaceEnds() bool {
	return s.namespace != nil && !s.namespace.DeletionTimestamp.IsZero()
}

// aws is the AWS part of the spec, nil for other platforms.
func (s *scope) aws() *hyperv1.AWSPlatformSpec { return awsOf(s.hc) }

func awsOf(hc *hyperv1.HostedCluster) *hyperv1.AWSPlatformSpec {
	if hc.Spec.Platform.Type != hyperv1.AWSPlatform {
		return nil
	}
	return hc.Spec.Platform.AWS
}

// clusterKey is how objects in other namespaces name their HostedCluster.
func clusterKey(hc *hyperv1.HostedCluster) string { return hc.Namespace + "/" + hc.Name }

// gather reads what there is of the cluster.
func (r *Reconciler) gather(ctx context.Context, hc *hyperv1.HostedCluster) (*scope, error) {
	s := &scope{hc: hc, controlPlane: names.ControlPlaneNamespace(hc.Namespace, hc.Name), sources: map[string]userObject{}}
	// What is wrong with the annotation is found by checkConfiguration.
	s.memoryFactor, _ = r.Limits.Factor(hc.Annotations[hyperv1.MemoryLimitFactorAnnotation])
	s.paused, s.pauseLeft = hc.Spec.PausedUntil.Paused(r.Clock.Now())
	var pools hyperv1.NodePoolList
	if err := r.Client.List(ctx, &pools, client.InNamespace(hc.Namespace), client.MatchingFields{index.NodePoolCluster: hc.Name}); err != nil {
		return nil, fmt.Errorf("listing node pools: %w", err)
	}
	s.pools = pools.Items
	var err error
	if s.trust, err = r.trust(ctx, s); err != nil {
		return nil, err
	}
	ns := &corev1.Namespace{}
	err = r.Client.Get(ctx, client.ObjectKey{Name: s.controlPlane}, ns)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting namespace %s: %w", s.controlPlane, err)
	}
	if apierrors.IsNotFound(err) || !owns(hc, ns) {
		return s, nil
	}
	s.namespace = ns
	hcp := &hyperv1.HostedControlPlane{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: hc.Name}, hcp)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting HostedControlPlane %s: %w", hc.Name, err)
	}
	if err == nil {
		s.hcp = hcp
	}
	if s.workers, err = r.hasWorkers(ctx, s); err != nil {
		return nil, err
	}
	runs, err := r.clusterAPIRuns(ctx, s)
	if err != nil {
		return nil, err
	}
	if runs {
		cluster := &clusterv1.Cluster{}
		err = r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: hc.Spec.InfraID}, cluster)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("getting Cluster %s: %w", hc.Spec.InfraID, err)
		}
		if err == nil {
			s.cluster = cluster
		}
	}
	operator := &appsv1.Deployment{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: names.ControlPlaneOperator}, operator)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting Deployment %s: %w", names.ControlPlaneOperator, err)
	}
	if err == nil {
		s.operator = operator
	}
	var list hyperv1.AWSEndpointServiceList
	if err := r.Client.List(ctx, &list, client.InNamespace(s.controlPlane)); err != nil {
		return nil, fmt.Errorf("listing AWSEndpointServices of namespace %s: %w", s.controlPlane, err)
	}
	s.endpoints = list.Items
	s.silence, s.silenceIn, err = r.silence(ctx, s)
	return s, err
}

// owns says whether a namespace was made for this very HostedCluster: another
// one of the same name had another UID.
func owns(hc *hyperv1.HostedCluster, ns *corev1.Namespace) bool {
	return ns.Labels[hyperv1.HostedClusterUIDLabel] == string(hc.UID)
}
