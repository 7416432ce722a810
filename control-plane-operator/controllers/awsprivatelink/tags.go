package awsprivatelink

import (
	"maps"
	"slices"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// tags of everything that this object has in AWS.
func (s *scope) tags(name string) awsx.Tags {
	return awsx.OwnedTags(s.userTags(), s.cleanup.OwnerUID, s.role(), s.cleanup.InfraID, name)
}

func (s *scope) userTags() awsx.Tags {
	user := awsx.Tags{}
	for _, t := range s.hcp.Spec.Platform.AWS.ResourceTags {
		user[t.Key] = t.Value
	}
	return user
}

// staleTags are the keys of tags that the user has taken back. Only what was
// written down as ours is: others tag our resources too, and keep their tags.
func (s *scope) staleTags(want awsx.Tags) []string {
	return slices.DeleteFunc(slices.Clone(s.es.Status.TagKeys), func(key string) bool {
		_, wanted := want[key]
		return wanted
	})
}

// recordTags writes into the status which keys our resources may carry from
// now on.
func (s *scope) recordTags() {
	s.es.Status.TagKeys = union(s.es.Status.TagKeys, s.tagKeys())
}

// forgetStaleTags is for when they are gone from everything that stays.
func (s *scope) forgetStaleTags() { s.es.Status.TagKeys = s.tagKeys() }

func (s *scope) tagKeys() []string { return slices.Sorted(maps.Keys(s.userTags())) }
