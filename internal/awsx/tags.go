package awsx

import (
	"maps"
	"slices"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Tags are AWS tags, key to value.
type Tags map[string]string

const (
	// OwnerTag is on all our resources. Its value is the UID of their
	// HostedControlPlane. A resource without our UID is neither adopted nor deleted,
	// except for one that was created for the same cluster (Tags.Inherit).
	OwnerTag = "hypershift.openshift.io/owner"
	// RoleTag is the purpose of a resource, e.g. "private-router-endpoint".
	RoleTag = "hypershift.openshift.io/role"
	// NameTag is the name in the consoles of AWS.
	NameTag = "Name"
)

// OwnedTags returns the user's tags, overlaid with those by which we find the
// resource.
func OwnedTags(user Tags, ownerUID, role, infraID, name string) Tags {
	tags := Tags{NameTag: name}
	maps.Copy(tags, user)
	tags[OwnerTag] = ownerUID
	tags[RoleTag] = role
	tags[names.ClusterTag(infraID)] = "owned"
	return tags
}

// UserTags returns the tags that a user wants on all resources.
func UserTags(list []hyperv1.AWSResourceTag) Tags {
	tags := Tags{}
	for _, t := range list {
		tags[t.Key] = t.Value
	}
	return tags
}

// Keys returns the sorted keys.
func (want Tags) Keys() []string { return slices.Sorted(maps.Keys(want)) }

// Stale returns the keys, of those that were recorded as ours, that are no longer
// wanted. Tags that were not recorded belong to others and stay.
func (want Tags) Stale(recorded []string) []string {
	return slices.DeleteFunc(slices.Clone(recorded), func(key string) bool {
		_, wanted := want[key]
		return wanted
	})
}

// Inherit is true if a resource with the tags have was created by us for the same
// purpose and cluster as want, maybe for an earlier control plane: when the namespace
// of a control plane is deleted by force, its resources in AWS stay.
func (want Tags) Inherit(have Tags) bool {
	if have[OwnerTag] == "" || have[RoleTag] != want[RoleTag] {
		return false
	}
	for k, v := range want {
		if strings.HasPrefix(k, names.ClusterTag("")) && have[k] != v {
			return false
		}
	}
	return true
}

// Missing returns the tags of want that have another value in have or none. Nil if
// there are none. Tags of others stay.
func (want Tags) Missing(have Tags) Tags {
	var missing Tags
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			if missing == nil {
				missing = Tags{}
			}
			missing[k] = v
		}
	}
	return missing
}
