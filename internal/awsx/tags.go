package awsx

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Tags are AWS tags, key to value.
type Tags map[string]string

const (
	// OwnerTag is on all our resources. Its value is the UID of their
	// HostedControlPlane. A resource without our UID is neither adopted nor deleted,
	// except for a resource that was created for the same cluster (Tags.Inherit).
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

const (
	// maxTagKey is the limit of EC2; other services take one more.
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Tag.html
	maxTagKey   = 127
	maxTagValue = 256
)

// tagText matches the characters that IAM and Elastic Load Balancing allow in keys and values. EC2 allows more, but a user gives
// the tags of all resources at once.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_Tag.html
var tagText = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// Validate returns which of a user's tags AWS refuses, or are reserved for us.
func (want Tags) Validate(path *field.Path, isReserved func(key string) bool) field.ErrorList {
	const characters = "may have letters, digits, spaces and _ . : / = + - @"
	var errs field.ErrorList
	for _, key := range want.Keys() {
		value := want[key]
		switch {
		case strings.HasPrefix(strings.ToLower(key), "aws:") || isReserved(key):
			errs = append(errs, field.Invalid(path, key, "is reserved"))
		case key == "":
			errs = append(errs, field.Required(path, "a tag has a key"))
		case utf8.RuneCountInString(key) > maxTagKey:
			errs = append(errs, field.TooLong(path, key, maxTagKey))
		case utf8.RuneCountInString(value) > maxTagValue:
			errs = append(errs, field.TooLong(path, value, maxTagValue))
		case !tagText.MatchString(key):
			errs = append(errs, field.Invalid(path, key, "a key "+characters))
		case !tagText.MatchString(value):
			errs = append(errs, field.Invalid(path, value, "a value "+characters))
		}
	}
	return errs
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
