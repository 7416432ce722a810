package privilege

import (
	"slices"
	"strings"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Reason is why a holder has rights that no test uses.
type Reason struct {
	Holder string
	Thing  string
	Verbs  []string // all of them if there is none
	Why    string
}

// find gives the reason for a right of a holder, "" if there is none.
func find(reasons []Reason, holder string, right Right) string {
	for _, reason := range reasons {
		if reason.Holder == holder && reason.Thing == right.Thing && (len(reason.Verbs) == 0 || slices.Contains(reason.Verbs, right.Verb)) {
			return reason.Why
		}
	}
	return ""
}

// reason finds why a holder has a right that it does not use; "" if nobody has said.
func (r Report) reason(holder Holder, right Right) string {
	if why := find(r.Reasons, holder.Name, right); why != "" {
		return why
	}
	switch to := r.handedOn(holder, right); {
	case len(to) > 0:
		return "handed on to " + strings.Join(to, ", ")
	case right.Verb == "list" && holder.Has(Right{right.Thing, "watch"}):
		return "begins a watch where the API server cannot"
	case right.Verb == "get" && holder.Has(Right{right.Thing, "list"}):
		return "shows nothing that list does not"
	}
	return ""
}

// handedOn names the holders to whom a holder hands a right on.
func (r Report) handedOn(holder Holder, right Right) (to []string) {
	if holder.Name != r.Giver {
		return nil
	}
	for _, other := range r.Holders {
		if other.Name != holder.Name && other.Has(right) {
			to = append(to, other.Name)
		}
	}
	return to
}

const accident = "somebody deletes the Cluster by accident; the control plane and its machines stay"

// OnPurpose are refusals that we want. They are no failure.
var OnPurpose = []Reason{
	{names.ClusterAPI, "awsclusters.infrastructure.cluster.x-k8s.io", []string{"delete"}, accident},
	{names.ClusterAPI, "hostedcontrolplanes.hypershift.openshift.io", []string{"delete"}, accident},
	{names.ClusterAPI, "machinedeployments.cluster.x-k8s.io", []string{"delete"}, accident},
}

const early = "a Cluster that was deleted by accident is made again while Cluster API runs: it wants to be the first to write the owner, and finds it a moment later"

// Early are refusals of what is granted and what somebody else does a moment later. They are no failure either: who is refused
// tries again, and would go on for good, and no story would end well, if nobody did.
var Early = []Reason{
	{names.ClusterAPI, "awsclusters.infrastructure.cluster.x-k8s.io", []string{"patch"}, early},
	{names.ClusterAPI, "hostedcontrolplanes.hypershift.openshift.io", []string{"patch"}, early},
}

const (
	// An admission plugin asks for it within the request for something else.
	heldBack = "OpenShift asks for it of who makes an object that holds its owner back"
	repeated = "a message that repeats becomes a count in the Event that is there"
	election = "one of several copies leads; on the stage there is one, without an election"
	untagged = "a tag that the user has taken out of resourceTags"
	volumes  = "AWS itself, for volumes with a key of the user's"
	// Nothing collects metrics on the stage.
	collectors = "who reads the metrics shows a token, which the operator has reviewed"
	absent     = "a program of others, which the stage does not have; it runs on the lab"
)

// unusedByAccounts are the reasons for what service accounts may do and no test lets them do.
var unusedByAccounts = []Reason{
	{hypershiftOperator, "configmaps", []string{"create", "patch", "delete"}, "copies of ConfigMaps that a HostedCluster names, such as its trust bundle"},
	{hypershiftOperator, "networkpolicies.networking.k8s.io", []string{"delete"}, "policies that an earlier version made and this one does not"},
	{hypershiftOperator, "resourcequotas", []string{"delete"}, "the installer takes the quota away: controlPlaneLimits.quota is null"},
	{hypershiftOperator, "limitranges", []string{"delete"}, "the installer takes the limits away: controlPlaneLimits.containerMemory is null"},
	{hypershiftOperator, "tokenreviews.authentication.k8s.io", []string{"create"}, collectors},
	{hypershiftOperator, "subjectaccessreviews.authorization.k8s.io", []string{"create"}, collectors},
	{hypershiftOperator, "hostedclusters.hypershift.openshift.io/finalizers", []string{"update"}, heldBack},
	{hypershiftOperator, "nodebootstraps.hypershift.openshift.io/finalizers", []string{"update"}, heldBack},
	{names.ControlPlaneOperator, "hostedcontrolplanes.hypershift.openshift.io/finalizers", []string{"update"}, heldBack},
	{names.ControlPlaneOperator, "routes.route.openshift.io/custom-host", []string{"create", "update"}, "OpenShift asks for it where a Route names its host"},
	{names.ClusterAPI, "clusters.cluster.x-k8s.io/finalizers", []string{"update"}, heldBack},
	{names.ClusterAPI, "machinedeployments.cluster.x-k8s.io/finalizers", []string{"update"}, heldBack},
	{names.ClusterAPI, "machinesets.cluster.x-k8s.io/finalizers", []string{"update"}, heldBack},
	{names.ClusterAPI, "machines.cluster.x-k8s.io/finalizers", []string{"update"}, heldBack},
	{names.ClusterAPI, "machinedrainrules.cluster.x-k8s.io", []string{"get", "list", "watch"}, "read when a node with pods is drained; the nodes of the stage have none"},
	{names.ClusterAPI, "leases.coordination.k8s.io", []string{"get", "create", "update"}, election},
	{names.CAPIProvider, "leases.coordination.k8s.io", []string{"get", "create", "update"}, election},
	{names.CAPIProvider, "events", []string{"patch"}, repeated},
}

// unusedByRoles are those for roles.
var unusedByRoles = []Reason{
	{hypershiftOperator, "ec2", []string{"DeleteTags"}, untagged},
	{hypershiftOperator, "ec2", []string{"DescribeAvailabilityZones"}, "regions that answer with names of zones and without their ids"},
	{hypershiftOperator, "ec2", []string{"DescribeVpcEndpointConnections", "RejectVpcEndpointConnections"}, "an endpoint service goes although an endpoint of the customer's is left, as when his account is closed"},
	{hypershiftOperator, "s3", []string{"ListBucket"}, "without it S3 calls a document that is missing forbidden"},
	{names.ControlPlaneOperator, "ec2", []string{"DeleteTags"}, untagged},
	{names.ControlPlaneOperator, "ec2", []string{"DescribeNetworkInterfaces"}, "names what still uses a security group that cannot be deleted"},
	{names.ControlPlaneOperator, "ec2", []string{"DescribeVpcs"}, "Route 53 asks EC2 whose the VPC is, when its zones are listed"},
	{names.ControlPlaneOperator, "route53", []string{"GetHostedZone"}, "a private zone that the user names, instead of the one that is found by its name"},
	{NodePoolManagement, "ec2", []string{"DeleteTags"}, "a tag that a pool does not have any more"},
	{NodePoolManagement, "ec2", []string{"DescribeNetworkInterfaceAttribute", "ModifyNetworkInterfaceAttribute"}, "security groups of an instance that somebody has changed"},
	{NodePoolManagement, "ec2", []string{"DescribeSecurityGroups"}, "security groups that a pool gives by filters"},
	{NodePoolManagement, "ec2", []string{"ModifyInstanceMetadataOptions"}, "an instance on which somebody has switched IMDSv1 on"},
	{NodePoolManagement, "iam", []string{"CreateServiceLinkedRole"}, "AWS itself, for the first spot instance of an account"},
	{NodePoolManagement, "kms", []string{"CreateGrant", "Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo"}, volumes},
	{cloudController, "ec2", nil, absent},
	{cloudController, "elasticloadbalancing", nil, absent},
	{cloudController, "iam", nil, "AWS itself, for the first load balancer of an account"},
}
