package hostedcluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterrelease"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/etcdrestores"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/oidc"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/operatorhealth"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/sleep"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/teardown"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/userobjects"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// scope holds the facts of one reconcile. gather sets them, except where a field names
// a step.
type scope struct {
	hc *hyperv1.HostedCluster
	// plane describes the namespace of the control plane.
	plane controlplane.Namespace
	// namespace is nil if it does not exist, or if it belongs to something else.
	namespace *corev1.Namespace
	// hcp is the cluster's HostedControlPlane, nil if it does not exist.
	hcp *hyperv1.HostedControlPlane
	// cluster is the Cluster of Cluster API, nil if it does not exist, or while Cluster
	// API does not run. ensureCluster sets it, too.
	cluster *clusterv1.Cluster
	// operator is the Deployment of the control-plane-operator, nil if it does not exist.
	operator *appsv1.Deployment
	// endpoints are the AWSEndpointServices of the control plane.
	endpoints []hyperv1.AWSEndpointService
	// restore is the EtcdRestore that is carried out, nil without one.
	restore *hyperv1.EtcdRestore
	// backups are the backups of its etcd.
	backups []hyperv1.HCPEtcdBackup
	// pools are the cluster's node pools.
	pools []hyperv1.NodePool
	// workers is true if there are node pools, or machines without one.
	workers bool
	// paused is whether the user wants no change, for pauseLeft if that is not 0.
	paused    bool
	pauseLeft time.Duration

	// sleep is whether the cluster sleeps, and machines names the machines of node pools; it is read for a cluster that may sleep.
	sleep    sleep.State
	machines []string

	// sharedRouter are the load balancers of the shared router, of a cluster that it serves. Set by checkSupport.
	sharedRouter sharedrouter.LoadBalancers

	// memoryFactor is the memory limit of containers as a multiple of their
	// request, 0 for none.
	memoryFactor int64
	// memoryMax is the largest memory limit of a container, 0 for no bound.
	memoryMax resource.Quantity

	// keys sign service account tokens, and documents is whether the documents with them are stored, and whether
	// they were rewritten. Set by ensureIssuer.
	keys      *oidc.Keys
	documents struct{ stored, rewritten bool }

	// health is whether the control-plane-operator runs.
	health operatorhealth.Health
	// releases are those that have passed the checks. Set by checkRelease.
	releases clusterrelease.State
	// specApplied is true when the spec of the HostedControlPlane that gather found matches the HostedCluster's. Set by ensureControlPlane.
	specApplied bool
	// objects reads the user's objects for the cluster.
	objects *userobjects.Reader
	// tolerated are configuration errors that do not block, because the last valid configuration stays in use. Set by checkConfiguration.
	tolerated field.ErrorList
	// identityRejectedSince is since when AWS rejects the identity of the cluster; zero
	// if it does not.
	identityRejectedSince time.Time
	// trust identifies the contents of the user's certificate authorities, empty
	// while there are none.
	trust string
	// save writes the status at once, for facts that must be recorded before an
	// action.
	save func(context.Context) error
	// deletion holds package teardown's facts about the cluster. Set by the first step
	// that needs it.
	deletion *teardown.Cluster
}

func (s *scope) deleting() bool { return !s.hc.DeletionTimestamp.IsZero() }

// namespaceTerminating reports whether the control plane's namespace is being
// deleted: no object can be created in it, and everything in it is being deleted.
func (s *scope) namespaceTerminating() bool {
	return s.namespace != nil && !s.namespace.DeletionTimestamp.IsZero()
}

// aws is the AWS part of the spec, nil for other platforms.
func (s *scope) aws() *hyperv1.AWSPlatformSpec {
	if s.hc.Spec.Platform.Type != hyperv1.AWSPlatform {
		return nil
	}
	return s.hc.Spec.Platform.AWS
}

// machinesPaused reports whether Cluster API must not change machines. Without an API server, the nodes of all machines seem to
// be broken. A pause does not stop the deletion of a cluster or of a node pool.
func (s *scope) machinesPaused() bool {
	phase := s.sleep.Phase
	stopped := phase == hyperv1.SleepPhaseAsleep || phase == hyperv1.SleepPhaseWaking && len(s.machines) > 0
	return (s.paused || stopped) && !s.deletesMachines()
}

// deletesMachines reports whether the cluster or one of its node pools is being deleted, for which Cluster API has to run.
func (s *scope) deletesMachines() bool {
	return s.deleting() || slices.ContainsFunc(s.pools, func(np hyperv1.NodePool) bool { return !np.DeletionTimestamp.IsZero() })
}

// machinesCluster returns the facts that package clusterapi needs.
func (s *scope) machinesCluster() clusterapi.Cluster {
	return clusterapi.Cluster{Plane: s.plane, InfraID: s.hc.Spec.InfraID, AWS: s.aws(), Machines: s.workers, Paused: s.machinesPaused(), Object: s.cluster, ControlPlane: s.hcp}
}

// releaseCluster returns the facts that package clusterrelease needs.
func (s *scope) releaseCluster() clusterrelease.Cluster {
	return clusterrelease.Cluster{HostedCluster: s.hc, ControlPlane: s.hcp, PullSecret: func(ctx context.Context) ([]byte, error) {
		data, err := s.objects.Read(ctx, userobjects.PullSecretOf(&s.hc.Spec))
		return data[corev1.DockerConfigJsonKey], err
	}}
}

// gather reads the objects of the cluster.
func (r *Reconciler) gather(ctx context.Context, hc *hyperv1.HostedCluster) (*scope, error) {
	plane := controlplane.NamespaceOf(hc)
	s := &scope{hc: hc, plane: plane, objects: userobjects.NewReader(r.UserObjects, r.Client, plane)}
	// checkConfiguration reports an invalid annotation.
	s.memoryFactor, _ = r.Limits.Factor(hc.Annotations[hyperv1.MemoryLimitFactorAnnotation])
	s.memoryMax = r.Limits.Container.Max
	s.paused, s.pauseLeft = hc.Spec.PausedUntil.Paused(r.Clock.Now())
	var pools hyperv1.NodePoolList
	if err := r.Client.List(ctx, &pools, client.InNamespace(hc.Namespace), client.MatchingFields{index.NodePoolCluster: hc.Name}); err != nil {
		return nil, fmt.Errorf("listing node pools: %w", err)
	}
	s.pools = pools.Items
	s.workers = len(s.pools) > 0
	var err error
	if s.trust, err = s.objects.TrustHash(ctx, &hc.Spec); err != nil {
		return nil, err
	}
	if s.restore, err = etcdrestores.Current(ctx, r.Client, client.ObjectKeyFromObject(hc)); err != nil {
		return nil, err
	}
	ns := &corev1.Namespace{}
	err = r.Client.Get(ctx, client.ObjectKey{Name: s.plane.Name}, ns)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting namespace %s: %w", s.plane.Name, err)
	}
	if apierrors.IsNotFound(err) || !controlplane.Owns(hc, ns) {
		return s, nil
	}
	s.namespace = ns
	hcp := &hyperv1.HostedControlPlane{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: s.plane.Name, Name: hc.Name}, hcp)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting HostedControlPlane %s: %w", hc.Name, err)
	}
	if err == nil {
		s.hcp = hcp
	}
	if err := r.gatherMachines(ctx, s); err != nil {
		return nil, err
	}
	if err := r.gatherSleep(ctx, s); err != nil {
		return nil, err
	}
	operator := &appsv1.Deployment{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: s.plane.Name, Name: names.ControlPlaneOperator}, operator)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting Deployment %s: %w", names.ControlPlaneOperator, err)
	}
	if err == nil {
		s.operator = operator
	}
	var list hyperv1.AWSEndpointServiceList
	if err := r.Client.List(ctx, &list, client.InNamespace(s.plane.Name)); err != nil {
		return nil, fmt.Errorf("listing AWSEndpointServices of namespace %s: %w", s.plane.Name, err)
	}
	s.endpoints = list.Items
	var backups hyperv1.HCPEtcdBackupList
	if err := r.Client.List(ctx, &backups, client.InNamespace(s.plane.Name), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing backups of namespace %s: %w", s.plane.Name, err)
	}
	s.backups = backups.Items
	s.health, err = operatorhealth.Check(ctx, r.Reader, operatorhealth.Facts{
		Plane: plane, Deployment: s.operator, ControlPlane: s.hcp,
		ClusterAvailable: meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable),
	}, r.Clock.Now())
	return s, err
}

// gatherMachines finds machines without a node pool, and the Cluster.
func (r *Reconciler) gatherMachines(ctx context.Context, s *scope) error {
	if r.MissingCRDs != "" {
		return nil
	}
	running := s.workers
	if !s.workers {
		remaining, err := r.capi.Machines(ctx, s.plane)
		if err != nil {
			return err
		}
		s.workers = len(remaining) > 0
		if running = s.workers; !running {
			if running, err = r.capi.HasControllers(ctx, s.plane); err != nil {
				return err
			}
		}
	}
	if !running {
		return nil
	}
	var err error
	s.cluster, err = r.capi.Get(ctx, s.machinesCluster())
	return err
}
