package aws

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Every field that is sent is owned by the operator, and a field that is no longer sent is removed.
func TestClaimConfigurationHasOnlyTheFieldsOfTheOperator(t *testing.T) {
	es := &hyperv1.AWSEndpointService{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "clusters-one", Name: "private-router", UID: "u-1", ResourceVersion: "7", Generation: 3,
			Labels: map[string]string{"label": "of another writer"}, Finalizers: []string{"finalizer/of-another-writer"},
		},
		Spec: hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: "lb", SubnetIDs: []string{"subnet-old"}},
	}
	const begin = `{"kind":"AWSEndpointService","apiVersion":"hypershift.openshift.io/v1beta1",` +
		`"metadata":{"name":"private-router","namespace":"clusters-one","uid":"u-1","resourceVersion":"7",`
	const finalizers = `"finalizers":["hypershift.openshift.io/hypershift-operator-finalizer"]},`
	for name, c := range map[string]struct {
		claim claim
		want  string
	}{
		"subnets and tags are sent": {
			claim{tags: `["team"]`, subnets: []string{"subnet-a", "subnet-b"}},
			begin + `"annotations":{"hypershift.openshift.io/resource-tag-keys":"[\"team\"]"},` + finalizers + `"spec":{"subnetIDs":["subnet-a","subnet-b"]}}`,
		},
		"without subnets and tags their fields are removed": {claim{}, begin + finalizers + `"spec":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(claimConfiguration(es, c.claim))
			if err != nil || string(got) != c.want {
				t.Errorf("sends %s, %v; want %s", got, err, c.want)
			}
		})
	}
}
