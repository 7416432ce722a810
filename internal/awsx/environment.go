package awsx

import (
	"cmp"
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

// direct are the hosts that no program of a control plane reaches through a proxy: services of the management cluster, the
// local zones of hosted clusters, and the metadata service of the instance.
var direct = []string{"localhost", "127.0.0.1", "::1", "169.254.169.254", "kube-apiserver", ".svc", ".cluster.local", ".hypershift.local"}

// Egress returns the environment variables with which programs reach AWS and registries: the endpoints of AWS, and the proxy
// of the management cluster. NO_PROXY contains the hosts of the management cluster, too.
func Egress(environ []string) []corev1.EnvVar {
	found := Endpoints(environ)
	variables := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		variables[name] = value
	}
	proxied := false
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		if value := cmp.Or(variables[name], variables[strings.ToLower(name)]); value != "" {
			found = append(found, corev1.EnvVar{Name: name, Value: value})
			proxied = true
		}
	}
	if !proxied {
		return found
	}
	var without []string
	for _, host := range slices.Concat(strings.Split(cmp.Or(variables["NO_PROXY"], variables["no_proxy"]), ","), direct, []string{variables["KUBERNETES_SERVICE_HOST"]}) {
		if host = strings.TrimSpace(host); host != "" && !slices.Contains(without, host) {
			without = append(without, host)
		}
	}
	return append(found, corev1.EnvVar{Name: "NO_PROXY", Value: strings.Join(without, ",")})
}
