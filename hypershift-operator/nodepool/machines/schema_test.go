package machines

import (
	"os"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
)

// The CRDs of Cluster API accept the written objects as they are: no webhook of
// Cluster API adds fields.
func TestDesiredObjectsAreValidByTheirCRDs(t *testing.T) {
	const external = "../../../config/crd/external/"
	for name, change := range map[string]func(*hyperv1.NodePool){"a simple pool": nil, "a pool that uses everything": nodepooltest.UseAll} {
		s := newSpec(change)
		template, err := desiredTemplate(s)
		if err != nil {
			t.Fatal(err)
		}
		bootstrap, err := desiredBootstrap(s, "node-config-workers-0")
		if err != nil {
			t.Fatal(err)
		}
		for file, obj := range map[string]client.Object{
			external + "infrastructure.cluster.x-k8s.io_awsmachinetemplates.yaml":     template,
			external + "cluster.x-k8s.io_machinedeployments.yaml":                     desiredDeployment(s),
			external + "cluster.x-k8s.io_machinehealthchecks.yaml":                    desiredHealthCheck(s),
			"../../../config/crd/hypershift.openshift.io_nodebootstraptemplates.yaml": bootstrap,
		} {
			for _, problem := range refused(t, file, obj) {
				t.Errorf("%s: %T: %s", name, obj, problem)
			}
		}
	}
}

// refused returns the validation errors of a CRD for an object.
func refused(t *testing.T, file string, obj client.Object) (problems []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v1, crd := &apiextensionsv1.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, v1); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(v1, crd, nil); err != nil {
		t.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(content, "status")
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{hyperv1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	kinds, _, err := scheme.ObjectKinds(obj)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := apiextensions.GetSchemaForVersion(crd, kinds[0].Version)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, unknown := range pruning.PruneWithOptions(runtime.DeepCopyJSON(content), structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		problems = append(problems, "unknown field "+unknown)
	}
	validator, _, err := validation.NewSchemaValidator(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range validation.ValidateCustomResource(nil, content, validator) {
		problems = append(problems, e.Error())
	}
	return problems
}
