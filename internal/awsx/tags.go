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
	// OwnerTag is on everything we make; its value is the UID of the
	// HostedControlPlane that it serves. What does not carry our UID is not ours:
	// it is neither adopted nor deleted, unless Tags.Inherit says that it was made
	// for the same cluster.
	OwnerTag = "hypershift.openshift.io/owner"
	// RoleTag says what a resource is to its owner, e.g. "private-router-endpoint".
	RoleTag = "hypershift.openshift.io/role"
	// NameTag is what the consoles of AWS show.
	NameTag = "Name"
)

// OwnedTags returns the user's tags and over them the ones that make the
// resource findable: they are ours, and a user's tag of that key loses.
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
// wanted. Tags that were not recorded belong to others, who keep them.
func (want Tags) Stale(recorded []string) []string {
	return slices.DeleteFunc(slices.Clone(recorded), func(key string) bool {
		_, wanted := want[key]
		return wanted
	})
}

// Inherit says whether something with the tags have was made by us, for what want
// is for, and for the same cluster, although maybe for an earlier control plane of
// it: who deletes a control plane's namespace leaves what it had in AWS.
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

// Missing returns the tags of want that have another value in have or none. It
// is nil when have has them all: tags that others add are left alone.
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
