package awsprivatelink

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Without a value of the enum, the API server would refuse the intent, and no resource would be created.
func TestEveryResourceCanBeRecorded(t *testing.T) {
	text, err := os.ReadFile("../../../config/crd/hypershift.openshift.io_awsendpointservices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	creating := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["creating"]
	var allowed, used []string
	for _, value := range creating.Items.Schema.Enum {
		allowed = append(allowed, strings.Trim(string(value.Raw), `"`))
	}
	s := &scope{es: &hyperv1.AWSEndpointService{}}
	for _, r := range (&Reconciler{}).resources() {
		if r.Entry == nil {
			continue
		}
		e := r.Entry(s)
		used = append(used, string(e.(entry).of))
		e.SetID("id of " + r.Name)
		e.SetCreating(true)
		part, err := json.Marshal(fields(s.es))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(part), "id of "+r.Name) {
			t.Errorf("%s: the id is not in the part of the status that is written: %s", r.Name, part)
		}
	}
	slices.Sort(allowed)
	slices.Sort(used)
	if !slices.Equal(allowed, used) || *creating.MaxItems != int64(len(used)) || len(s.es.Status.Creating) != len(used) {
		t.Errorf("status.creating allows %v, at most %d; the table has %v", allowed, *creating.MaxItems, used)
	}
}
