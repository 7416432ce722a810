package fakeaws

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func init() {
	register(EC2,
		write("CreateTags", (*request).createTags, "Resources", "Tags"),
		write("DeleteTags", (*request).deleteTags, "Resources", "Tags"),
	)
}

// taggable is a store, whatever is in it.
type taggable interface {
	has(id string) bool
	tagsOf(id string) map[string]string
	setTag(id, key, value string)
	dropTag(id, key string)
	code() string
}

func (s *store[T]) code() string { return s.notFound }

func (q *request) tagStores(ids []string) ([]taggable, error) {
	var stores []taggable
	for _, id := range ids {
		s, err := q.tagStore(id)
		if err != nil {
			return nil, err
		}
		stores = append(stores, s)
	}
	return stores, nil
}

func (q *request) tagStore(id string) (taggable, error) {
	for _, k := range kinds {
		if !strings.HasPrefix(id, k.idPrefix()+"-") {
			continue
		}
		s := q.region.stores[k.idPrefix()]
		if !s.has(id) {
			return nil, ec2Error(s.code(), "The ID '"+id+"' does not exist")
		}
		return s, nil
	}
	return nil, ec2Error("InvalidID", "The ID '"+id+"' is not valid")
}

func (q *request) createTags(in *ec2.CreateTagsInput) (*ec2.CreateTagsOutput, error) {
	stores, err := q.tagStores(in.Resources)
	if err != nil {
		return nil, err
	}
	for i, s := range stores {
		if err := checkTags(in.Tags, s.tagsOf(in.Resources[i])); err != nil {
			return nil, err
		}
	}
	for i, s := range stores {
		for _, t := range in.Tags {
			s.setTag(in.Resources[i], aws.ToString(t.Key), aws.ToString(t.Value))
		}
	}
	return &ec2.CreateTagsOutput{}, nil
}

// deleteTags takes tags away; a tag given with a value goes only if it has that value.
func (q *request) deleteTags(in *ec2.DeleteTagsInput) (*ec2.DeleteTagsOutput, error) {
	stores, err := q.tagStores(in.Resources)
	if err != nil {
		return nil, err
	}
	for i, s := range stores {
		id := in.Resources[i]
		if in.Tags == nil {
			for _, k := range keys(s.tagsOf(id)) {
				s.dropTag(id, k)
			}
		}
		for _, t := range in.Tags {
			if has, ok := s.tagsOf(id)[aws.ToString(t.Key)]; ok && (t.Value == nil || *t.Value == has) {
				s.dropTag(id, *t.Key)
			}
		}
	}
	return &ec2.DeleteTagsOutput{}, nil
}

// tagsOnCreate reads the tags for a resource of this kind. A specification for
// another kind is an error, as in EC2, where it means that tags get lost.
func tagsOnCreate(specs []types.TagSpecification, kind string) (map[string]string, error) {
	tags := map[string]string{}
	for _, s := range specs {
		if string(s.ResourceType) != kind {
			return nil, ec2Error("InvalidParameterValue", fmt.Sprintf("'%s' is not a valid taggable resource type for this operation.", s.ResourceType))
		}
		if err := checkTags(s.Tags, nil); err != nil {
			return nil, err
		}
		for _, t := range s.Tags {
			if _, twice := tags[aws.ToString(t.Key)]; twice {
				return nil, ec2Error("InvalidParameterValue", "Duplicate tag key '"+*t.Key+"' specified.")
			}
			tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
		}
	}
	return tags, nil
}

const maxTags = 50

func checkTags(tags []types.Tag, has map[string]string) error {
	n := len(has)
	for _, t := range tags {
		key := aws.ToString(t.Key)
		if _, ok := has[key]; !ok {
			n++
		}
		switch {
		case key == "":
			return ec2Error("InvalidParameterValue", "Tag key cannot be null or empty.")
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return ec2Error("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case len([]rune(key)) > 127:
			return ec2Error("InvalidParameterValue", "Tag key exceeds the maximum length of 127 characters")
		case len([]rune(aws.ToString(t.Value))) > 256:
			return ec2Error("InvalidParameterValue", "Tag value exceeds the maximum length of 256 characters")
		}
	}
	if n > maxTags {
		return ec2Error("TagLimitExceeded", "More than 50 tags specified")
	}
	return nil
}

func tagList(tags map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(tags))
	for _, k := range keys(tags) {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}
