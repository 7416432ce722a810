package integration

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
)

// external-dns deletes only records that have a TXT record with its name as the owner. It leaves this record out if its name is too long for DNS.
// The record of the host name would then stay after the deletion of its cluster, and send clients to a load balancer of someone else.
func TestRecordsOfLongHostNamesAreDeleted(t *testing.T) {
	t.Parallel()
	const domain, namespace = "long-names.example.com", "it-long-names"
	host := strings.Repeat("a", 63) + "." + domain
	account := on.AWS.NewAccount()
	dns := route53.NewFromConfig(on.AWS.Config(account))
	zone, err := dns.CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{Name: aws.String(domain), CallerReference: aws.String(domain)})
	must(t, err)
	program, err := pinned.Ensure(t.Context(), os.Stderr, "external-dns")
	must(t, err)
	records := func() (found []string) {
		t.Helper()
		port, err := process.FreePort()
		must(t, err)
		args := append(chartArguments(t), "--once", "--kubeconfig="+on.Kubeconfig, "--domain-filter="+domain, "--txt-owner-id=test", fmt.Sprintf("--metrics-address=127.0.0.1:%d", port))
		run := exec.CommandContext(t.Context(), program["external-dns"], args...)
		run.Env = append(os.Environ(), on.AWS.Env(account)...)
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("external-dns: %v\n%s", err, out)
		}
		list, err := dns.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: zone.HostedZone.Id})
		must(t, err)
		for _, r := range list.ResourceRecordSets {
			if !slices.Contains([]route53types.RRType{route53types.RRTypeSoa, route53types.RRTypeNs}, r.Type) {
				found = append(found, string(r.Type)+" "+*r.Name)
			}
		}
		return found
	}

	must(t, kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "router", Annotations: map[string]string{hyperv1.CurrentExternalDNSHostnameAnnotation: host}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("example.com/none"), Ports: []corev1.ServicePort{{Port: 443}},
		},
	}
	must(t, kube.Create(t.Context(), svc))
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "router.example.net"}}
	must(t, kube.Status().Update(t.Context(), svc))
	if found := records(); !slices.Contains(found, "CNAME "+host+".") {
		t.Fatalf("the zone has %v", found)
	}
	must(t, kube.Delete(t.Context(), svc))
	if left := records(); len(left) > 0 {
		t.Errorf("after the deletion the zone has %v", left)
	}
}

// chartArguments returns the arguments of external-dns in the chart that do not depend on values.
func chartArguments(t *testing.T) []string {
	t.Helper()
	template, err := os.ReadFile(on.path("config", "helm", "hypershift", "templates", "external-dns.yaml"))
	must(t, err)
	var args []string
	for line := range strings.Lines(string(template)) {
		if arg, found := strings.CutPrefix(strings.TrimSpace(line), "- --"); found && !strings.Contains(arg, "{{") {
			args = append(args, "--"+arg)
		}
	}
	if !slices.Contains(args, "--registry=txt") {
		t.Fatalf("the arguments are %v", args)
	}
	return args
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
