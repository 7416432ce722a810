package hostedcluster

import (
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// maxUserTags leaves room for the cluster's own tag: an AWSEndpointService
// carries at most 25, and every tag of the cluster.
const maxUserTags = 24

// checkTags wants tags that AWS and we leave to the user. The cluster's own tag
// may be among them, as manifests have it that other versions wrote.
func checkTags(hc *hyperv1.HostedCluster) []problem {
	aws := awsOf(hc)
	if aws == nil {
		return nil
	}
	own := names.ClusterTag(hc.Spec.InfraID)
	var problems []problem
	seen := map[string]bool{}
	for _, t := range aws.ResourceTags {
		switch {
		case t.Key == own && t.Value == clusterTagValue:
			continue
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "platform.aws.resourceTags has key %s, and keys that begin with aws: belong to AWS: choose another key", t.Key))
		case strings.HasPrefix(t.Key, names.ClusterTag("")):
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
				"platform.aws.resourceTags has %s=%s, and such a tag says to which cluster a resource belongs: remove it, the cluster's own is added", t.Key, t.Value))
		case seen[t.Key]:
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "platform.aws.resourceTags has key %s more than once: leave one of them", t.Key))
		}
		seen[t.Key] = true
	}
	if len(seen) > maxUserTags {
		problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
			"platform.aws.resourceTags has %d keys and may have %d, because the tag kubernetes.io/cluster/<infraID> is added: remove %d", len(seen), maxUserTags, len(seen)-maxUserTags))
	}
	return problems
}
