package awsgraph

import (
	"cmp"
	"maps"
	"strings"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const tagPrefix = "tag "

// Keys of the tags that other command lines set, too.
const (
	infraIDTag     = "hypershift.openshift.io/infra-id"
	clusterNameTag = "hypershift.openshift.io/cluster-name"
	sourceTag      = "hypershift.openshift.io/source"
)

// Owner identifies the owner of a graph's resources: a cluster, by its infra ID, or the operators of a management cluster.
type Owner struct {
	InfraID, Name string
	// Key and Value are the ownership tag of resources that belong to no cluster. Default: the tag of the cluster.
	Key, Value string
	// Tags are additional ones, of the user.
	Tags awsx.Tags
}

// Tag is the key of the ownership tag.
func (o Owner) Tag() string { return cmp.Or(o.Key, names.ClusterTag(o.InfraID)) }

func (o Owner) value() string { return cmp.Or(o.Value, names.ClusterTagValue) }

// Owns is true if the tags contain the ownership tag.
func (o Owner) Owns(tags awsx.Tags) bool { return tags[o.Tag()] == o.value() }

// Want is the ownership tag, for messages.
func (o Owner) Want() string { return o.Tag() + "=" + o.value() }

// NotOwned is the error about a resource without the ownership tag.
func (o Owner) NotOwned(kind, id string) error {
	return &resourcegraph.NotOwnedError{Kind: kind, ID: id, Want: o.Want()}
}

// All returns the tags of a resource; name may be empty, and more may be nil.
func (o Owner) All(name string, more awsx.Tags) awsx.Tags {
	tags := awsx.Tags{}
	maps.Copy(tags, o.Tags)
	maps.Copy(tags, more)
	tags[sourceTag] = "cli"
	if o.InfraID != "" {
		tags[infraIDTag] = o.InfraID
	}
	if o.Name != "" {
		tags[clusterNameTag] = o.Name
	}
	if name != "" {
		tags[awsx.NameTag] = name
	}
	tags[o.Tag()] = o.value()
	return tags
}

// WithTags adds tags to attributes, so that drift of tags is found.
func WithTags(attributes resourcegraph.Attributes, tags awsx.Tags) resourcegraph.Attributes {
	all := resourcegraph.Attributes{}
	maps.Copy(all, attributes)
	for k, v := range tags {
		all[tagPrefix+k] = v
	}
	return all
}

// SplitTags returns the tags among attributes, and the other attributes.
func SplitTags(attributes resourcegraph.Attributes) (awsx.Tags, resourcegraph.Attributes) {
	tags, rest := awsx.Tags{}, resourcegraph.Attributes{}
	for k, v := range attributes {
		if key, ok := strings.CutPrefix(k, tagPrefix); ok {
			tags[key] = v
		} else {
			rest[k] = v
		}
	}
	return tags, rest
}

// ChangedTags returns the tags among the changes.
func ChangedTags(changes []resourcegraph.Change) awsx.Tags {
	tags := awsx.Tags{}
	for _, c := range changes {
		if key, ok := strings.CutPrefix(c.Attribute, tagPrefix); ok {
			tags[key] = c.New
		}
	}
	return tags
}

// Changed is true if that attribute is among the changes.
func Changed(changes []resourcegraph.Change, attribute string) bool {
	for _, c := range changes {
		if c.Attribute == attribute {
			return true
		}
	}
	return false
}
