package privilege

import (
	"slices"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Reason explains why a holder has rights that no test uses.
type Reason struct {
	Holder string
	Thing  string   // empty for all things
	Verbs  []string // empty for all verbs
	Why    string
}

// find returns the reason for a right of a holder, or "".
func find(reasons []Reason, holder string, right Right) string {
	for _, reason := range reasons {
		if reason.Holder == holder && (reason.Thing == "" || reason.Thing == right.Thing) && (len(reason.Verbs) == 0 || slices.Contains(reason.Verbs, right.Verb)) {
			return reason.Why
		}
	}
	return ""
}

// reason returns why a holder is granted a right that it does not use, or "" if no reason is known.
func (r Report) reason(holder Holder, right Right) string {
	if why := find(r.Reasons, holder.Name, right); why != "" {
		return why
	}
	switch {
	case right.Verb == "list" && holder.Has(Right{right.Thing, "watch"}):
		return "starts a watch where the API server cannot stream it"
	case right.Verb == "get" && holder.Has(Right{right.Thing, "list"}):
		return "reveals nothing more than list"
	}
	return find(onlyOnLab, holder.Name, right)
}

const accident = "the Cluster was deleted by accident; the control plane and its machines are kept"

// OnPurpose lists requests that must be refused. They do not fail the run.
var OnPurpose = []Reason{
	{names.ClusterAPI, "awsclusters.infrastructure.cluster.x-k8s.io", []string{"delete"}, accident},
	{names.ClusterAPI, "hostedcontrolplanes.hypershift.openshift.io", []string{"delete"}, accident},
	{names.ClusterAPI, "machinedeployments.cluster.x-k8s.io", []string{"delete"}, accident},
}

const early = "a Cluster that was deleted by accident is created again while Cluster API runs: Cluster API tries to write the owner before the hypershift-operator has written it"

// Early lists granted requests that are refused because another program has to write first. They do not fail the run: the program
// retries. If the other write never happened, the retries would not end and the scenario would fail.
var Early = []Reason{
	{names.ClusterAPI, "awsclusters.infrastructure.cluster.x-k8s.io", []string{"patch"}, early},
	{names.ClusterAPI, "hostedcontrolplanes.hypershift.openshift.io", []string{"patch"}, early},
}

const (
	// An admission plugin checks it during another request, so that the audit log does not contain it.
	heldBack = "OpenShift requires it from a client that creates an object which blocks the deletion of its owner"
	repeated = "a repeated message increments the count of the existing Event"
	election = "leader election among several replicas; the test environment runs one replica without election"
	untagged = "removes a tag that the user has removed from resourceTags"
	volumes  = "used by AWS itself, for volumes with a key of the user"
	// The test environment has no client that reads metrics.
	collectors = "reviews the token of a client that reads the metrics; the test environment has no such client"
	absent     = "used by the cloud controller manager of AWS, which runs only on the lab"
)

const (
	machines = "used by Cluster API or its AWS provider, which run only on the lab"
	nodes    = "used for machines and nodes, which exist only on the lab"
)

// onlyOnLab lists permissions that test/integration does not use, because only the lab runs the machines or programs that they are for.
// They are not in docs/permissions.md.
var onlyOnLab = []Reason{
	{names.ClusterAPI, "", nil, machines},
	{names.ClusterAutoscaler, "", nil, "used by the cluster autoscaler, which no test environment runs"},
	{NodePoolManagement, "", nil, machines},
	{names.Karpenter, "", nil, "used by Karpenter, which runs only on the lab"},
	{hypershiftOperator, "nodebootstraps.hypershift.openshift.io/status", []string{"patch"}, nodes},
	{names.ControlPlaneOperator, "machines.cluster.x-k8s.io", []string{"list"}, nodes},
}

// unusedByAccounts lists the permissions of service accounts that no test uses.
var unusedByAccounts = []Reason{
	{hypershiftOperator, "configmaps", []string{"create", "patch", "delete"}, "copies ConfigMaps that a HostedCluster names, such as its trust bundle"},
	{hypershiftOperator, "networkpolicies.networking.k8s.io", []string{"delete"}, "removes policies that only an earlier version creates"},
	{hypershiftOperator, "roles.rbac.authorization.k8s.io", []string{"delete"}, "removes Roles that only an earlier version creates"},
	{hypershiftOperator, "clusterroles.rbac.authorization.k8s.io", []string{"bind"}, "the API server checks it when a RoleBinding is created; the audit log does not contain it"},
	{hypershiftOperator, "resourcequotas", []string{"delete"}, "removes the quota when controlPlaneLimits.quota is null"},
	{hypershiftOperator, "limitranges", []string{"delete"}, "removes the limits when controlPlaneLimits.containerMemory is null"},
	{hypershiftOperator, "tokenreviews.authentication.k8s.io", []string{"create"}, collectors},
	{hypershiftOperator, "subjectaccessreviews.authorization.k8s.io", []string{"create"}, collectors},
	{hypershiftOperator, "hostedclusters.hypershift.openshift.io/finalizers", []string{"update"}, heldBack},
	{hypershiftOperator, "nodebootstraps.hypershift.openshift.io/finalizers", []string{"update"}, heldBack},
	{names.ControlPlaneOperator, "hostedcontrolplanes.hypershift.openshift.io/finalizers", []string{"update"}, heldBack},
	{names.ControlPlaneOperator, "certificaterevocationrequests.certificates.hypershift.openshift.io/finalizers", []string{"update"}, heldBack},
	{hypershiftOperator, "signers.certificates.k8s.io", []string{"approve", "sign"}, "the API server checks them when a request is approved or signed; the audit log does not contain it"},
	{hypershiftOperator, "certificatesigningrequestapprovals.hypershift.openshift.io", []string{"patch"}, "records the request in an approval of the kind of earlier versions"},
	{names.ControlPlaneOperator, "routes.route.openshift.io/custom-host", []string{"create", "update"}, "OpenShift requires it for a Route with a host"},
	{names.ClusterAPI, "clusters.cluster.x-k8s.io/finalizers", []string{"update"}, heldBack},
	{names.ClusterAPI, "machinedeployments.cluster.x-k8s.io/finalizers", []string{"update"}, heldBack},
	{names.ClusterAPI, "machinesets.cluster.x-k8s.io/finalizers", []string{"update"}, heldBack},
	{names.ClusterAPI, "machines.cluster.x-k8s.io/finalizers", []string{"update"}, heldBack},
	{names.ClusterAPI, "machinedrainrules.cluster.x-k8s.io", []string{"get", "list", "watch"}, "read when a node with pods is drained; the nodes of the test environment have no pods"},
	{names.ClusterAPI, "leases.coordination.k8s.io", []string{"get", "create", "update"}, election},
	{names.ClusterAPI, "events", []string{"patch"}, repeated},
}

// unusedByRoles lists the permissions of AWS roles that no test uses.
var unusedByRoles = []Reason{
	{hypershiftOperator, "ec2", []string{"DeleteTags"}, untagged},
	{hypershiftOperator, "ec2", []string{"DescribeAvailabilityZones"}, "for regions that return zone names without zone ids"},
	{hypershiftOperator, "ec2", []string{"DescribeVpcEndpointConnections", "RejectVpcEndpointConnections"}, "deletes an endpoint service while an endpoint of the customer exists, for example after the customer's account was closed"},
	{hypershiftOperator, "s3", []string{"ListBucket"}, "without it S3 returns forbidden for a missing document"},
	{names.ControlPlaneOperator, "ec2", []string{"DeleteTags"}, untagged},
	{names.ControlPlaneOperator, "ec2", []string{"DescribeNetworkInterfaces"}, "finds the network interfaces that use a security group which cannot be deleted"},
	{names.ControlPlaneOperator, "ec2", []string{"DescribeVpcs"}, "Route 53 reads the owner of the VPC from EC2 when it lists the zones of the VPC"},
	{names.ControlPlaneOperator, "route53", []string{"GetHostedZone"}, "reads a private zone that the user selects by id, instead of the one that is found by its name"},
	{NodePoolManagement, "ec2", []string{"DeleteTags"}, "removes a tag that was removed from the pool"},
	{NodePoolManagement, "ec2", []string{"DescribeNetworkInterfaceAttribute", "ModifyNetworkInterfaceAttribute"}, "restores the security groups of an instance after a manual change"},
	{NodePoolManagement, "ec2", []string{"DescribeSecurityGroups"}, "resolves security groups that a pool selects by filters"},
	{NodePoolManagement, "ec2", []string{"ModifyInstanceMetadataOptions"}, "disables IMDSv1 on an instance after a manual change"},
	{NodePoolManagement, "iam", []string{"CreateServiceLinkedRole"}, "used by AWS itself, for the first spot instance of an account"},
	{NodePoolManagement, "kms", []string{"CreateGrant", "Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo"}, volumes},
	{names.Karpenter, "iam", []string{"CreateServiceLinkedRole"}, "used by AWS itself, for the first spot instance of an account"},
	{cloudController, "ec2", nil, absent},
	{cloudController, "elasticloadbalancing", nil, absent},
	{cloudController, "iam", nil, "used by AWS itself, for the first load balancer of an account"},
}
