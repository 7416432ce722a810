package teardown

import (
	"context"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/operatorhealth"
)

// A Cluster holds the facts of one reconcile about a cluster that is being deleted, or with a namespace that is being deleted.
type Cluster struct {
	// HostedCluster gets its status changed, and its finalizer removed.
	HostedCluster *hyperv1.HostedCluster
	Plane         controlplane.Namespace
	// Namespace is nil if it does not exist, or if it belongs to something else.
	Namespace *corev1.Namespace
	// ControlPlane is nil if it does not exist.
	ControlPlane *hyperv1.HostedControlPlane
	Endpoints    []hyperv1.AWSEndpointService
	NodePools    []hyperv1.NodePool
	// Machines is the cluster as Cluster API has it.
	Machines clusterapi.Cluster
	// Operator is the Deployment of the control-plane-operator, nil if it does not exist.
	// OperatorProblem is why it does not run, empty if it does.
	Operator        *appsv1.Deployment
	OperatorProblem string
	// IdentityRejectedSince is since when AWS rejects the identity of the cluster;
	// zero if it does not.
	IdentityRejectedSince time.Time

	// OperatorRequirements are the objects that the control-plane-operator needs to run, in this order, and the control-plane-operator
	// itself.
	OperatorRequirements []Requirement
	// RunMachineControllers runs Cluster API and its provider.
	RunMachineControllers func(context.Context) error
	// Save writes the status at once, for facts that must be recorded before an
	// action.
	Save func(context.Context) error

	// retentionErrors are errors in keeping the control-plane-operator running. Set
	// by retainOperator.
	retentionErrors []string
}

// A Requirement is something that a deletion needs and that users can delete.
type Requirement struct {
	// Name is a noun for messages.
	Name string
	// Copy is the name of a Secret in the namespace of the control plane. While it
	// exists, Ensure is not called. Empty for none.
	Copy   string
	Ensure func(context.Context) error
}

// defaultOrphanAfter is time to repair a deletion or a misconfiguration: an OIDC
// provider, a trust policy, a flag of this operator.
const defaultOrphanAfter = 10 * time.Minute

func (c *Cluster) orphanAfter() time.Duration {
	return duration(c.HostedCluster, hyperv1.GiveUpAfterAnnotation, defaultOrphanAfter)
}

// duration parses an annotation; an invalid one counts as not set.
func duration(obj client.Object, annotation string, otherwise time.Duration) time.Duration {
	d, err := time.ParseDuration(obj.GetAnnotations()[annotation])
	if err != nil || d < 0 {
		return otherwise
	}
	return d
}

// namespaceTerminating reports whether the namespace is being deleted: no object can be created in it, and everything in it is being
// deleted.
func (c *Cluster) namespaceTerminating() bool {
	return c.Namespace != nil && !c.Namespace.DeletionTimestamp.IsZero()
}

// needsOperator reports whether an object carries a finalizer of the control-plane-operator.
func (c *Cluster) needsOperator() bool {
	finalizers := []string{hyperv1.HostedClusterFinalizer, hyperv1.ControlPlaneComponentsFinalizer, hyperv1.ControlPlaneOperatorFinalizer, hyperv1.IngressRecordsFinalizer, hyperv1.ImageRegistryFinalizer}
	return c.ControlPlane != nil && slices.ContainsFunc(c.ControlPlane.Finalizers, func(f string) bool { return slices.Contains(finalizers, f) }) ||
		slices.ContainsFunc(c.Endpoints, func(es hyperv1.AWSEndpointService) bool { return hasOperatorFinalizer(&es) })
}

func hasOperatorFinalizer(obj client.Object) bool {
	return slices.Contains(obj.GetFinalizers(), hyperv1.ControlPlaneOperatorFinalizer)
}

// isOverdue reports whether a state has lasted for the whole period since then, and
// a deletion, if there is one, as well.
func (c *Cluster) isOverdue(since, now time.Time) bool {
	if deleted := c.HostedCluster.DeletionTimestamp; !deleted.IsZero() && deleted.After(since) {
		since = deleted.Time
	}
	return now.Sub(since) >= c.orphanAfter()
}

// unrecoverable returns why no program will ever delete the control-plane-operator's resources; empty as long as that is not certain.
func (c *Cluster) unrecoverable(now time.Time) string {
	switch {
	case c.namespaceLost(now):
		return "namespace " + c.Plane.Name + " was deleted, and the control-plane-operator with it"
	case c.identityLost(now):
		return "AWS does not accept the cluster's identity (" + meta.FindStatusCondition(c.ControlPlane.Status.Conditions, hyperv1.ValidAWSIdentityProvider).Message + ")"
	}
	return ""
}

// namespaceLost is true when a user has deleted the namespace with the control-plane-operator in it: no object can be created in it any
// more.
func (c *Cluster) namespaceLost(now time.Time) bool {
	return c.namespaceTerminating() && !operatorhealth.IsAvailable(c.Operator) && c.isOverdue(c.Namespace.DeletionTimestamp.Time, now)
}

// identityCheckTimeout is the time in which a running control-plane-operator has
// checked the identity again after a rejection, including slow answers of AWS.
const identityCheckTimeout = 2 * time.Minute

// identityLost reports whether AWS has rejected the cluster's identity for the
// whole period, and still does. Only the control-plane-operator checks it, so that
// it must have been running for long enough to check again. A missing answer is no
// rejection.
func (c *Cluster) identityLost(now time.Time) bool {
	return !c.IdentityRejectedSince.IsZero() && operatorhealth.IsAvailableSince(c.Operator, now.Add(-identityCheckTimeout)) && c.isOverdue(c.IdentityRejectedSince, now)
}

// blockedDetail explains a wait for the control-plane-operator to users, as the end
// of a sentence.
func (c *Cluster) blockedDetail() string {
	var parts []string
	switch {
	case !c.needsOperator():
		return ""
	case c.namespaceTerminating():
		parts = append(parts, c.namespaceLostDetail())
	case c.OperatorProblem != "":
		parts = append(parts, c.OperatorProblem)
	}
	if len(c.retentionErrors) > 0 {
		parts = append(parts, "it cannot be kept: "+strings.Join(c.retentionErrors, "; "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}

// namespaceLostDetail explains the consequences of a deleted namespace.
func (c *Cluster) namespaceLostDetail() string {
	return "the namespace was deleted with the control-plane-operator in it; what only that could take away is left behind, and named, " + c.orphanAfter().String() + " later"
}
