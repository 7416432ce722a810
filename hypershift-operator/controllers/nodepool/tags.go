package nodepool

import (
	"maps"
	"slices"
	"strings"

	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const (
	// maxTags is the limit of EC2 for one resource. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html
	maxTags = 50
	// addedTags is the number of tags that the AWS provider of Cluster API adds to a machine: its name, twice, its cluster,
	// its role, and the owner tag of the cluster.
	addedTags = 5
	// spotTag selects instances for the AWS Node Termination Handler.
	spotTag = "aws-node-termination-handler/managed"
)

// protectedTags are prefixes of the keys by which instances are found.
var protectedTags = []string{"aws:", "kubernetes.io/cluster/", "sigs.k8s.io/cluster-api-provider-aws/", "hypershift.openshift.io/"}

func checkTags(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) []problem {
	var problems []problem
	for _, tag := range np.Spec.Platform.AWS.ResourceTags {
		for _, prefix := range protectedTags {
			if strings.HasPrefix(strings.ToLower(tag.Key), prefix) {
				problems = append(problems, invalidf("platform.aws.resourceTags has the key %q, and keys that begin with %s are not free: choose another", tag.Key, prefix))
			}
		}
	}
	tags, _ := mergeTags(hc.Spec.Platform.AWS.ResourceTags, np.Spec.Platform.AWS.ResourceTags)
	if n := len(tags) + addedTags + len(ourTags(np, hc)) - 1; n > maxTags { // the tag of the cluster is counted twice
		problems = append(problems, invalidf("the instances would have %d tags (%d of HostedCluster and pool together, the rest of ours), and EC2 takes %d: remove %d", n, len(tags), maxTags, n-maxTags))
	}
	return problems
}

// mergeTags merges the tags of the cluster and the pool. The cluster takes precedence, unless the policy of the tag lets the
// pool override it. It returns the keys whose value in the pool is not used.
func mergeTags(cluster, pool []hyperv1.AWSResourceTag) (tags map[string]string, lost []string) {
	tags = map[string]string{}
	fixed := map[string]bool{}
	for _, tag := range cluster {
		tags[tag.Key] = tag.Value
		fixed[tag.Key] = tag.OverridePolicy != hyperv1.TagOverrideAllow
	}
	for _, tag := range pool {
		if !fixed[tag.Key] {
			tags[tag.Key] = tag.Value
			continue
		}
		if tags[tag.Key] != tag.Value {
			lost = append(lost, tag.Key)
		}
	}
	slices.Sort(lost)
	return tags, lost
}

// ourTags are the tags by which an instance is found. They take precedence over tags of users.
func ourTags(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) map[string]string {
	tags := map[string]string{names.ClusterTag(hc.Spec.InfraID): "owned"}
	if marketOf(np.Spec.Platform.AWS.Placement) == hyperv1.MarketTypeSpot {
		tags[spotTag] = "true"
	}
	return tags
}

func desiredTags(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) infrav1.Tags {
	tags, _ := mergeTags(hc.Spec.Platform.AWS.ResourceTags, np.Spec.Platform.AWS.ResourceTags)
	maps.Copy(tags, ourTags(np, hc))
	return tags
}
