package hostedclusterresources

import (
	"context"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/autonode"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/certificaterequests"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/cloudcleanup"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/dataplane"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/imageregistry"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/ingress"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/nodeaccess"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func ensurePermissions(ctx context.Context, s *scope) error { return s.objects.EnsurePermissions(ctx) }

// findMachinesToFollow finds the Machines that may have to follow a change of the access mode. It runs before the connection to the
// hosted cluster: without Machines the path is the path of new nodes, even if the API server does not respond.
func (r *Reconciler) findMachinesToFollow(ctx context.Context, s *scope) error {
	if s.hcp.Spec.Platform.Type != hyperv1.AWSPlatform || s.hcp.Spec.Platform.AWS == nil {
		return nil
	}
	access := &nodeaccess.Facts{UpToDate: nodeaccess.IsUpToDate(s.hcp)}
	if !access.UpToDate {
		machines, err := r.machines(ctx, s)
		if err != nil {
			return err
		}
		access.Machines = machines
		s.requeueAfter(nodeaccess.NodesInterval)
	}
	s.facts.access = access
	s.hcp.Status.NodeAccess = access.Record(s.hcp)
	return nil
}

// readNodeAccess reads which path the nodes of these Machines use.
func (r *Reconciler) readNodeAccess(ctx context.Context, s *scope) (err error) {
	access := s.facts.access
	if access == nil || len(access.Machines) == 0 {
		return nil
	}
	if access.Nodes, err = nodeaccess.Read(ctx, r.Client, s.hcp, s.cluster, access.Machines); err != nil {
		return err
	}
	if access.Nodes.Tunnels != "" {
		s.requeueAfter(nodeaccess.TunnelsInterval)
	}
	s.hcp.Status.NodeAccess = access.Record(s.hcp)
	return nil
}

func findNodeClaims(ctx context.Context, s *scope) (err error) {
	s.hcp.Status.AutoNode = nil
	if s.hcp.Spec.AutoNode.Karpenter() == nil {
		return nil
	}
	if s.claims, s.versions.claims, err = autonode.List(ctx, s.cluster); err == nil && s.versions.claims != "" {
		s.hcp.Status.AutoNode = autonode.Status(s.claims)
	}
	return err
}

// tokenOnDemand returns the bootstrap token of nodes on demand, or nil if no such node is expected.
func (r *Reconciler) tokenOnDemand(ctx context.Context, s *scope) (*corev1.Secret, error) {
	now := r.Clock.Now()
	until := autonode.ExpectedUntil(s.claims, now)
	if until.IsZero() {
		return nil, nil
	}
	secret, err := autonode.Secret(ctx, r.Client, s.hcp)
	if secret == nil || err != nil {
		return nil, err
	}
	s.requeueAfter(until.Sub(now))
	return autonode.Token(secret, until, now), nil
}

func (r *Reconciler) approveJoining(ctx context.Context, s *scope) error {
	result, err := r.approver.Joining(ctx, r.requestors(s))
	s.versions.joining = result.ResourceVersion
	s.requeueAfter(result.RequeueAfter)
	return err
}

func (r *Reconciler) approveServing(ctx context.Context, s *scope) error {
	result, err := r.approver.Serving(ctx, r.requestors(s))
	s.versions.serving = result.ResourceVersion
	s.requeueAfter(result.RequeueAfter)
	return err
}

// requestors are the machines that may request certificates.
func (r *Reconciler) requestors(s *scope) certificaterequests.Subject {
	return certificaterequests.Subject{
		HCP: s.hcp, Cluster: s.cluster,
		Machines: func(ctx context.Context) ([]clusterv1.Machine, error) { return r.machines(ctx, s) },
		OnDemand: func(ctx context.Context) ([]clusterv1.Machine, error) {
			return autonode.Machines(ctx, r.Instances, s.hcp, s.claims)
		},
		TokenOnDemand: func(ctx context.Context) (string, error) {
			secret, err := autonode.Secret(ctx, r.Client, s.hcp)
			if secret == nil || err != nil {
				return "", err
			}
			return string(secret.Data[names.AutoNodeTokenID]), nil
		},
	}
}

func countNodes(ctx context.Context, s *scope) error {
	nodes, version, err := dataplane.CountNodes(ctx, s.cluster)
	if err == nil {
		s.versions.nodes, s.hcp.Status.NodeCount = version, ptr.To(nodes)
	}
	return err
}

func (r *Reconciler) observeTunnels(ctx context.Context, s *scope) error {
	c, err := r.tunnels.Observe(ctx, s.hcp, s.cluster)
	if err != nil {
		return err
	}
	s.facts.connection = &c
	if c.ToNodes().Status == metav1.ConditionFalse {
		s.requeueAfter(dataplane.RetryInterval)
	}
	return nil
}

func readKubelets(ctx context.Context, s *scope) error {
	k, err := dataplane.ReadKubelets(ctx, s.hcp, s.cluster)
	if err == nil {
		s.facts.kubelets = &k
	}
	return err
}

// ensureWatches opens the watches that are not open.
func (r *Reconciler) ensureWatches(_ context.Context, s *scope) error {
	always := func(watch.EventType) bool { return true }
	added := func(t watch.EventType) bool { return t == watch.Added }
	// A change of a node does not change the number of nodes.
	counted := func(t watch.EventType) bool { return t != watch.Modified }
	requests := connection.Metadata(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"))
	s.cluster.WatchList("nodes", counted, connection.Nodes(), s.versions.nodes)
	s.cluster.WatchList("requests", added, requests, s.versions.serving, certificaterequests.OfKubeletServing)
	s.cluster.WatchList("joins", added, requests, s.versions.joining, certificaterequests.OfKubeletClient)
	s.cluster.WatchList("nodeclaims", always, connection.Metadata(autonode.NodeClaim), s.versions.claims)
	r.tunnels.EnsureMonitor(s.hcp, s.cluster)
	return nil
}

// awaitCARollout waits until nodes trust the next certificate authority before it signs.
func (r *Reconciler) awaitCARollout(ctx context.Context, s *scope) error {
	return r.rollout.Await(ctx, s.hcp, s.cluster)
}

func ensurePodNetwork(ctx context.Context, s *scope) error {
	if !s.hcp.Spec.Networking.UsesPodNetworkOfRelease() {
		return nil
	}
	n, err := s.objects.EnsurePodNetwork(ctx)
	if err == nil {
		s.facts.podNetwork = &n
	}
	return err
}

// autoNodeInterval is the interval for checking unwatched objects that nodes on demand wait for.
const autoNodeInterval = 10 * time.Second

// ensureAutoNode applies the objects that Karpenter needs in the hosted cluster, or removes its nodes after spec.autoNode was removed.
func ensureAutoNode(ctx context.Context, s *scope) error {
	switch {
	case s.hcp.Annotations[hyperv1.AutoNodeRemovedAnnotation] == yes:
		nodes, err := cloudcleanup.Drain(ctx, s.cluster.Client)
		if err != nil {
			return err
		}
		if s.facts.drained = &nodes; nodes.Gone {
			s.hcp.Status.AutoNode = nil
		} else {
			s.requeueAfter(autoNodeInterval)
		}
	case s.hcp.Spec.AutoNode.Karpenter() != nil:
		f, err := autonode.Ensure(ctx, s.objects)
		if err != nil {
			return err
		}
		if s.facts.autoNode = &f; f.Condition(s.hcp).Status != metav1.ConditionTrue {
			s.requeueAfter(autoNodeInterval)
		}
	}
	return nil
}

// The intervals for observing the ingress controller and the image registry, which nothing watches: while they are not available, and afterwards.
const (
	componentInterval     = 5 * time.Second
	componentRestInterval = time.Minute
)

// await returns the time after which a component is observed again.
func await(c metav1.Condition) time.Duration {
	if c.Status == metav1.ConditionFalse {
		return componentInterval
	}
	return componentRestInterval
}

// ensureIngress prepares the cluster for its ingress controller, whose objects are among the independent sets, and observes it.
func ensureIngress(ctx context.Context, s *scope) error {
	switch {
	case s.hcp.HasIngress():
	case s.hcp.Status.Ingress == nil:
		return nil
	default: // the status stays until nothing is left: a deletion of the cluster would not wait for the load balancer otherwise
		gone, err := ingress.Gone(ctx, s.cluster.Client)
		if gone {
			s.hcp.Status.Ingress = nil
		} else {
			s.requeueAfter(componentInterval)
		}
		return err
	}
	f, err := ingress.Ensure(ctx, s.objects)
	if err != nil {
		return err
	}
	s.facts.ingress, s.hcp.Status.Ingress = &f, f.Status()
	s.requeueAfter(await(f.Condition(s.hcp)))
	return nil
}

// readAdditionalPullSecret reads the credentials that users of the hosted cluster have added. The set with the pull secret contains them.
func readAdditionalPullSecret(ctx context.Context, s *scope) (err error) {
	s.facts.additional, err = s.objects.AdditionalPullSecret(ctx)
	s.facts.additionalKnown = err == nil
	return err
}

// observeImageRegistry observes the image registry. Its objects are among the independent sets.
func observeImageRegistry(ctx context.Context, s *scope) error {
	if !s.hcp.HasImageRegistry() {
		return nil
	}
	f, err := imageregistry.Observe(ctx, s.objects)
	if err != nil {
		return err
	}
	s.facts.registry = &f
	s.requeueAfter(await(f.Condition(s.hcp)))
	return nil
}
