package machines

import (
	"maps"
	"slices"

	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// spotTag marks the instances that the termination handler manages.
const spotTag = "aws-node-termination-handler/managed"

// MergeTags merges the tags of the cluster and the pool. The cluster takes precedence, unless the policy of the tag lets the
// pool override it. It returns the keys for which the value of the pool is not used.
func MergeTags(cluster, pool []hyperv1.AWSResourceTag) (tags map[string]string, lost []string) {
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

// ourTags identify an instance and take precedence over the tags of users. Their
// number is in validation.NodePoolDefaults.InstanceTags.
func ourTags(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) map[string]string {
	tags := map[string]string{names.ClusterTag(hc.Spec.InfraID): names.ClusterTagValue}
	if Market(np.Spec.Platform.AWS.Placement) == hyperv1.MarketTypeSpot {
		tags[spotTag] = "true"
	}
	return tags
}

func desiredTags(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) infrav1.Tags {
	tags, _ := MergeTags(hc.Spec.Platform.AWS.ResourceTags, np.Spec.Platform.AWS.ResourceTags)
	maps.Copy(tags, ourTags(np, hc))
	return tags
}
