package clusterconditions

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// A cluster that moves to another router is as available as the router that its nodes use.
func TestOneOfTwoRoutersCounts(t *testing.T) {
	object := func(name string, available, deleted bool) hyperv1.AWSEndpointService {
		es := hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, condition := range []string{hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable} {
			status := metav1.ConditionFalse
			if available {
				status = metav1.ConditionTrue
			}
			es.Status.Conditions = append(es.Status.Conditions, metav1.Condition{Type: condition, Status: status})
		}
		if deleted {
			es.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now()))
		}
		return es
	}
	own, shared, api := names.PrivateRouter, sharedrouter.EndpointService, names.KubeAPIServerPrivate
	for name, c := range map[string]struct {
		all  []hyperv1.AWSEndpointService
		want []string
	}{
		"its own router":              {[]hyperv1.AWSEndpointService{object(own, false, false)}, []string{own}},
		"its own and the API":         {[]hyperv1.AWSEndpointService{object(api, false, false), object(own, true, false)}, []string{api, own}},
		"the new one is being made":   {[]hyperv1.AWSEndpointService{object(own, true, false), object(shared, false, false)}, []string{own}},
		"both are available":          {[]hyperv1.AWSEndpointService{object(own, true, false), object(shared, true, false)}, []string{own, shared}},
		"the former is being deleted": {[]hyperv1.AWSEndpointService{object(own, true, true), object(shared, true, false)}, []string{shared}},
		"neither is available":        {[]hyperv1.AWSEndpointService{object(own, false, false), object(shared, false, false)}, []string{own, shared}},
		"the cluster is deleted":      {[]hyperv1.AWSEndpointService{object(own, true, true), object(shared, true, true)}, []string{own, shared}},
	} {
		var got []string
		for _, es := range inUse(c.all) {
			got = append(got, es.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v count, want %v", name, got, c.want)
		}
	}
}
