package bed

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

func TestServicesBecomeLoadBalancersAndGoAway(t *testing.T) {
	aws, err := awsemulator.Start(t.Context(), awsemulator.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(aws.Stop)
	account, err := aws.SeedManagement(t.Context(), awsemulator.ManagementOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Start(t.Context(), Options{Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := b.StartCloud(t.Context(), aws, account); err != nil {
		t.Fatal(err)
	}

	services := kubernetes.NewForConfigOrDie(b.Config).CoreV1().Services("default")
	for name, internal := range map[string]string{"private-router": "true", "router": "false"} {
		_, err = services.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
				"service.beta.kubernetes.io/aws-load-balancer-type":     "nlb",
				"service.beta.kubernetes.io/aws-load-balancer-internal": internal,
			}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 443}}, Selector: map[string]string{"app": "router"}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" gets the host name of a network load balancer", func(ctx context.Context) bool {
			s, err := services.Get(ctx, name, metav1.GetOptions{})
			return err == nil && len(s.Status.LoadBalancer.Ingress) == 1 && strings.Contains(s.Status.LoadBalancer.Ingress[0].Hostname, ".elb.us-east-1.")
		})
	}

	for _, name := range []string{"private-router", "router"} {
		if err := services.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "nothing is left of them in the account", func(ctx context.Context) bool {
		left, err := aws.Leftovers(ctx, account.Account)
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(left, func(r string) bool {
			return strings.Contains(r, "load-balancer") || strings.Contains(r, "target-group")
		})
	})
}
