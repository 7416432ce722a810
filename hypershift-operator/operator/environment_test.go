package operator

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestWhereAWSIsIsHandedOnAndWhoWeAreIsNot(t *testing.T) {
	o, err := Parse("hypershift-operator", nil, []string{
		"AWS_USE_FIPS_ENDPOINT=true", "AWS_ENDPOINT_URL_STS=http://sts.test?a=b", "AWS_ENDPOINT_URL=http://aws.test",
		"AWS_SECRET_ACCESS_KEY=secret", "AWS_ROLE_ARN=arn", "AWS_REGION=us-east-1", "PATH=/bin",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []corev1.EnvVar{
		{Name: "AWS_ENDPOINT_URL", Value: "http://aws.test"},
		{Name: "AWS_ENDPOINT_URL_STS", Value: "http://sts.test?a=b"},
		{Name: "AWS_USE_FIPS_ENDPOINT", Value: "true"},
	}
	if !slices.Equal(o.Egress, want) {
		t.Errorf("handed on: %v, want %v", o.Egress, want)
	}
}
