package integration

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// Users copy the samples; the API server must accept them unchanged.
func TestSamplesAreValid(t *testing.T) {
	files, err := os.ReadDir(on.path("config", "samples"))
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{
		"CUSTOMER_ACCOUNT": "222222222222", "AWS_REGION": "us-east-1", "INFRA_ID": "example-x7k2p", "ISSUER": "oidc.s3.us-east-1.amazonaws.com/example-x7k2p", "PARTITION": "aws",
		"RELEASE_IMAGE": "registry.example.test/release:1", "VPC": "vpc-0123456789abcdef0", "ZONE_A": "us-east-1a",
		"NODE_ADDRESS": "192.0.2.1", "SUBNET_A": "subnet-0123456789abcdefa", "SUBNET_B": "subnet-0123456789abcdefb", "SUBNET_C": "subnet-0123456789abcdefc",
	}
	// The API server requires the namespace even in a dry run.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}}
	if err := client.IgnoreAlreadyExists(kube.Create(t.Context(), ns)); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(file.Name(), func(t *testing.T) {
			content, err := os.ReadFile(on.path("config", "samples", file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			filled, err := fixture.Substitute(string(content), variables)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := fixture.Decode(filled)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects {
				err := kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.DryRunAll, client.FieldOwner("you"), client.ForceOwnership)
				if err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
			}
		})
	}
}
