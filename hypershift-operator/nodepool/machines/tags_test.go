package machines

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestMergeTags(t *testing.T) {
	allowed := hyperv1.AWSResourceTag{Key: "team", Value: "a", OverridePolicy: hyperv1.TagOverrideAllow}
	denied := hyperv1.AWSResourceTag{Key: "cost", Value: "a"}
	for name, tc := range map[string]struct {
		cluster, pool []hyperv1.AWSResourceTag
		want          map[string]string
		lost          []string
	}{
		"the pool adds":                     {[]hyperv1.AWSResourceTag{denied}, []hyperv1.AWSResourceTag{{Key: "new", Value: "b"}}, map[string]string{"cost": "a", "new": "b"}, nil},
		"the pool decides where it may":     {[]hyperv1.AWSResourceTag{allowed}, []hyperv1.AWSResourceTag{{Key: "team", Value: "b"}}, map[string]string{"team": "b"}, nil},
		"the pool loses where it may not":   {[]hyperv1.AWSResourceTag{denied}, []hyperv1.AWSResourceTag{{Key: "cost", Value: "b"}}, map[string]string{"cost": "a"}, []string{"cost"}},
		"who says the same does not lose":   {[]hyperv1.AWSResourceTag{denied}, []hyperv1.AWSResourceTag{{Key: "cost", Value: "a"}}, map[string]string{"cost": "a"}, nil},
		"a pool of a cluster without tags":  {nil, []hyperv1.AWSResourceTag{{Key: "new", Value: "b"}}, map[string]string{"new": "b"}, nil},
		"a cluster with a pool without any": {[]hyperv1.AWSResourceTag{denied}, nil, map[string]string{"cost": "a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, lost := MergeTags(tc.cluster, tc.pool)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.lost, lost); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
		})
	}
}
