package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const (
	// maxUserTags is one less than the 25 tags that an AWSEndpointService carries:
	// the cluster's own tag is added.
	maxUserTags = 24
	// maxInstanceTags is the limit of EC2 for one resource.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html
	maxInstanceTags = 50
	// providerTags is how many tags Cluster API's provider adds to a machine: its
	// name, twice, its cluster, its role, and the tag of the cluster.
	providerTags = 5
)

// clusterTags rejects keys that belong to AWS or to this project. The cluster's
// own tag is accepted, because manifests of other versions contain it.
func clusterTags(s *hyperv1.HostedClusterSpec) field.ErrorList {
	if s.Platform.Type != hyperv1.AWSPlatform || s.Platform.AWS == nil {
		return nil
	}
	path, clusterTag := spec.Child("platform", "aws", "resourceTags"), names.ClusterTag(s.InfraID)
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, t := range s.Platform.AWS.ResourceTags {
		at := path.Index(i).Child("key")
		switch {
		case t.Key == clusterTag && t.Value == names.ClusterTagValue:
			continue
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			errs = append(errs, configuration.invalid(at, t.Key, "platform.aws.resourceTags has key %s, and keys that begin with aws: belong to AWS: choose another key", t.Key))
		case strings.HasPrefix(t.Key, names.ClusterTag("")):
			errs = append(errs, configuration.invalid(at, t.Key,
				"platform.aws.resourceTags has %s=%s, and such a tag says to which cluster a resource belongs: remove it, the cluster's own is added", t.Key, t.Value))
		case seen[t.Key]:
			errs = append(errs, configuration.duplicate(at, t.Key, "platform.aws.resourceTags has key %s more than once: leave one of them", t.Key))
		}
		seen[t.Key] = true
	}
	if len(seen) > maxUserTags {
		errs = append(errs, configuration.error(field.ErrorTypeTooMany, path, len(seen),
			"platform.aws.resourceTags has %d keys and may have %d, because the tag kubernetes.io/cluster/<infraID> is added: remove %d", len(seen), maxUserTags, len(seen)-maxUserTags))
	}
	return errs
}

// protectedTags are the prefixes of keys by which instances are identified.
var protectedTags = []string{"aws:", "kubernetes.io/cluster/", "sigs.k8s.io/cluster-api-provider-aws/", "hypershift.openshift.io/"}

// nodePoolTags rejects protected keys, and more tags than an instance can have.
// operatorTags is how many tags this operator adds to each instance.
func nodePoolTags(pool, cluster []hyperv1.AWSResourceTag, operatorTags int) field.ErrorList {
	path := spec.Child("platform", "aws", "resourceTags")
	var errs field.ErrorList
	keys := map[string]bool{}
	for i, tag := range pool {
		keys[tag.Key] = true
		for _, prefix := range protectedTags {
			if strings.HasPrefix(strings.ToLower(tag.Key), prefix) {
				errs = append(errs, nodePool.invalid(path.Index(i).Child("key"), tag.Key, "platform.aws.resourceTags has the key %q, and keys that begin with %s are not free: choose another", tag.Key, prefix))
			}
		}
	}
	for _, tag := range cluster {
		keys[tag.Key] = true
	}
	if n := len(keys) + providerTags + operatorTags - 1; n > maxInstanceTags { // both counts include the cluster's tag
		errs = append(errs, nodePool.error(field.ErrorTypeTooMany, path, n,
			"the instances would have %d tags (%d of HostedCluster and pool together, the rest of ours), and EC2 takes %d: remove %d", n, len(keys), maxInstanceTags, n-maxInstanceTags))
	}
	return errs
}
