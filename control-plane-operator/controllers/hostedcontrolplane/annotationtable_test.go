package hostedcontrolplane

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// controllersOf are the columns of the table of docs/install.md: which controller reads an annotation. The module of the AWS Load Balancer
// Controller is not in the module proxy, and EKS Auto Mode has no source, so that the table is taken from their documentation.
func controllersOf(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	const prefix = "service.beta.kubernetes.io/"
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		name, found := strings.CutPrefix(strings.TrimSpace(line), "| `aws-load-balancer-")
		if !found {
			continue
		}
		name, columns, _ := strings.Cut(name, "` |")
		name, _, _ = strings.Cut(name, ":") // with a value
		for column := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(columns), "|"), "|") {
			key := prefix + "aws-load-balancer-" + name
			rows[key] = append(rows[key], strings.TrimSpace(column))
		}
	}
	if len(rows) < 8 {
		t.Fatalf("the table has the rows %v", rows)
	}
	return rows
}

// TestEachAnnotationOfALoadBalancerIsInTheTable also demands that each controller reads one of the annotations for each property.
func TestEachAnnotationOfALoadBalancerIsInTheTable(t *testing.T) {
	rows := controllersOf(t)
	reads := func(key string, controller int) bool {
		column := rows[key][controller]
		return strings.HasPrefix(column, "yes") || strings.HasPrefix(column, "not needed") || strings.HasPrefix(column, "only")
	}
	for access, byAPI := range modes {
		for api := range byAPI {
			hcp := controlPlane(access, api)
			hcp.Annotations[hyperv1.TargetNodeLabelsAnnotation] = "role=ingress"
			hcp.Annotations[hyperv1.LoadBalancerSubnetsAnnotation] = "subnet-1"
			e := newFakeCloudController(t, hcp)
			e.settle()
			var services corev1.ServiceList
			e.Must(e.Admin().List(t.Context(), &services))
			for _, svc := range services.Items {
				if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
					continue
				}
				scheme, crossZone := map[int]bool{}, map[int]bool{}
				for key := range svc.Annotations {
					if !strings.HasPrefix(key, "service.beta.kubernetes.io/") {
						continue
					}
					if len(rows[key]) != 3 {
						t.Errorf("%s %s: annotation %s of Service %s is not in the table", access, api, key, svc.Name)
						continue
					}
					for controller := range 3 {
						scheme[controller] = scheme[controller] || reads(key, controller) && (strings.HasSuffix(key, "-scheme") || strings.HasSuffix(key, "-internal"))
						crossZone[controller] = crossZone[controller] || reads(key, controller) && (strings.HasSuffix(key, "-attributes") || strings.HasSuffix(key, "-enabled"))
					}
				}
				internal := strings.HasPrefix(svc.Name, "private-") || strings.HasSuffix(svc.Name, "-private")
				for controller, name := range []string{"cloud-controller-manager", "AWS Load Balancer Controller", "EKS Auto Mode"} {
					if internal && (!scheme[controller] || !crossZone[controller]) {
						t.Errorf("%s %s: the %s reads the scheme of %s: %v, cross-zone load balancing: %v", access, api, name, svc.Name, scheme[controller], crossZone[controller])
					}
				}
			}
		}
	}
}
