package main

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// variables are those of the environment by their names.
func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

// awsEndpoints are the variables by which every program that calls AWS finds it,
// where it is not where it is for everybody: in a region that is cut off from the
// others, or in a lab. They say nothing of who calls.
func awsEndpoints(env map[string]string) []corev1.EnvVar {
	var found []corev1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if strings.HasPrefix(name, "AWS_ENDPOINT_URL") || name == "AWS_USE_FIPS_ENDPOINT" || name == "AWS_USE_DUALSTACK_ENDPOINT" {
			found = append(found, corev1.EnvVar{Name: name, Value: env[name]})
		}
	}
	return found
}
