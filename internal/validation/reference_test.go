package validation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// TestReferenceManifestsAreValid reads the manifests of a scenario, which HyperShift's command line has written. Their Routes have
// no host names.
func TestReferenceManifestsAreValid(t *testing.T) {
	files, err := filepath.Glob("../../test/lab/e2e/testdata/reference/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	value := map[string]string{
		"INFRA_ID": "ref-x7k2p", "OIDC_BUCKET": "bucket", "AWS_REGION": "us-east-1", "ZONE_A": "us-east-1a", "VPC": "vpc-0123456789abcdef0",
		"SUBNET_A": "subnet-0123456789abcdef0", "SUBNET_B": "subnet-0123456789abcdef1", "CUSTOMER_ACCOUNT": "222222222222", "RELEASE_IMAGE": "example.com/release:1",
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for document := range strings.SplitSeq(os.Expand(string(text), func(name string) string { return value[name] }), "\n---\n") {
				if !strings.Contains(document, "kind: HostedCluster\n") {
					continue
				}
				hc := &hyperv1.HostedCluster{}
				if err := yaml.UnmarshalStrict([]byte(document), hc); err != nil {
					t.Fatal(err)
				}
				if errs := HostedCluster(hc); len(errs) > 0 {
					t.Error(Message(errs))
				}
				found++
			}
			if found != 1 {
				t.Errorf("the file has %d HostedClusters", found)
			}
		})
	}
}
