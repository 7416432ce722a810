package awsx

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Endpoints returns the environment variables that set the endpoints of AWS, for isolated regions and labs. Credentials are
// not among them.
func Endpoints(environ []string) []corev1.EnvVar {
	var found []corev1.EnvVar
	for _, v := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "AWS_ENDPOINT_URL") || name == "AWS_USE_FIPS_ENDPOINT" || name == "AWS_USE_DUALSTACK_ENDPOINT" {
			found = append(found, corev1.EnvVar{Name: name, Value: value})
		}
	}
	return found
}
