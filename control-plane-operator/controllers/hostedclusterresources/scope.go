package hostedclusterresources

import (
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/autonode"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/cloudcleanup"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/dataplane"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/imageregistry"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/ingress"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/nodeaccess"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
)

// scope holds the facts of one reconcile.
type scope struct {
	hcp *hyperv1.HostedControlPlane
	// cluster is the connection to the hosted cluster, and objects makes and applies the objects in it. Set by connect.
	cluster *connection.Cluster
	objects *objects.Builder
	facts   facts
	// versions are the resource versions at which watches begin, of nodes, of certificate requests, and of NodeClaims. Set by the
	// steps that read them.
	versions struct{ nodes, serving, joining, claims string }
	// claims are the nodes on demand. Set by findNodeClaims.
	claims []autonode.Claim
	// cloud holds the cloud resources that the hosted cluster created, nil if they are not known. Set by findCloudResources.
	cloud *cloudcleanup.Resources
	// unprotected is true if it may still create cloud resources. Set by unhurried.
	unprotected bool
	// requeue is when to reconcile again without an error or a change, 0 for the usual time.
	requeue time.Duration
}

// facts are the inputs of the conditions. A fact is nil if its step did not determine it: then its condition stays as it is.
type facts struct {
	access     *nodeaccess.Facts
	connection *dataplane.Connection
	kubelets   *dataplane.Kubelets
	podNetwork *objects.PodNetwork
	autoNode   *autonode.Facts
	ingress    *ingress.Facts
	registry   *imageregistry.Facts
	// additional are the credentials of users; nil, if it is known, without any.
	additional      *objects.AdditionalPullSecret
	additionalKnown bool
	// drained are the nodes on demand that remain after spec.autoNode was removed.
	drained *cloudcleanup.Nodes
}

// requeueAfter reconciles the object again after that time, or sooner if another step requests it; 0 for no need.
func (s *scope) requeueAfter(after time.Duration) {
	if after > 0 && (s.requeue == 0 || after < s.requeue) {
		s.requeue = after
	}
}

const yes = "true"

// emptying is true if the cluster is to be emptied before its API server is deleted.
func (s *scope) emptying() bool {
	return s.hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == yes &&
		(s.hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == yes || s.hcp.Spec.AutoNode.Karpenter() != nil || s.hcp.MayHaveIngress())
}
