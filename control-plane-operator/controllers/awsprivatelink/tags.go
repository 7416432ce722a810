package awsprivatelink

import "github.com/hosted-control-planes/hypershift/internal/awsx"

// tags of everything that this object has in AWS.
func (s *scope) tags(name string) awsx.Tags {
	return awsx.OwnedTags(s.userTags(), s.cleanup.OwnerUID, s.role(), s.cleanup.InfraID, name)
}

func (s *scope) userTags() awsx.Tags { return awsx.UserTags(s.hcp.Spec.Platform.AWS.ResourceTags) }

// recordTags records which keys our resources may have from now on, so that those
// which the user removes later can be removed in AWS.
func (s *scope) recordTags() {
	s.es.Status.TagKeys = union(s.es.Status.TagKeys, s.userTags().Keys())
}

// forgetStaleTags is called after they are removed from all resources.
func (s *scope) forgetStaleTags() { s.es.Status.TagKeys = s.userTags().Keys() }
