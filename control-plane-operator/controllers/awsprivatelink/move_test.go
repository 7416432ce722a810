package awsprivatelink

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// moveTo lets the cluster move to another management cluster.
func (e *customerNetwork) moveTo(previous string) *customerNetwork {
	e.T.Helper()
	target := newControlPlane(e, "the-new-one")
	target.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.InfraID = e.HCP().Spec.InfraID
		hcp.Annotations = map[string]string{hyperv1.MovedFromAnnotation: string(e.HCP().UID), hyperv1.PreviousEndpointsAnnotation: previous}
	})
	target.runPasses(enough)
	return target
}

// Both management clusters have an endpoint until the cluster has moved. Its names lead to one of them at any time.
func TestNamesMoveToTheNewEndpoint(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.runPasses(enough)
	before := strings.Join(e.AWSLines("CNAME"), "\n")

	target := e.moveTo(hyperv1.PreviousEndpointsKeep)
	target.wants(metav1.ConditionFalse, hyperv1.RecordClaimedReason, "until the cluster has moved to this management cluster")
	if now := strings.Join(e.AWSLines("CNAME"), "\n"); now != before {
		t.Errorf("the names have left the source:\n%s", now)
	}
	target.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Annotations[hyperv1.PreviousEndpointsAnnotation] = hyperv1.PreviousEndpointsReplace
	})
	target.runPasses(enough)
	target.isReady()
	moved := strings.Join(e.AWSLines("CNAME"), "\n")
	if moved == before {
		t.Error("the names still lead to the source")
	}
	e.Must(e.delete(t.Context()))
	e.runPasses(enough)
	target.runPasses(1)
	target.isReady()
	if now := strings.Join(e.AWSLines("CNAME"), "\n"); now != moved {
		t.Errorf("the source has taken the names along:\n%s", now)
	}
	if groups := e.AWSLines("group(", "-vpce-", "of vpc"); len(groups) != 1 {
		t.Errorf("security groups are left:\n%s", strings.Join(groups, "\n"))
	}
	e.Must(target.delete(t.Context()))
	target.runPasses(enough)
	if left := append(e.AWSLines("CNAME"), e.AWSLines("group(", "-vpce-", "of vpc")...); len(left) > 0 {
		t.Errorf("left:\n%s", strings.Join(left, "\n"))
	}
}

// The management cluster is lost with its endpoint services. The cluster has its endpoints at another one.
func TestEndpointsOfALostManagementClusterAreReplaced(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.runPasses(enough)
	target := e.moveTo(hyperv1.PreviousEndpointsAdopt)
	target.runPasses(enough)
	target.isReady()
	if endpoints := e.AWSLines("us-east-1 endpoint( Name"); len(endpoints) != 1 {
		t.Errorf("there are these endpoints:\n%s", strings.Join(endpoints, "\n"))
	}
	e.Must(target.delete(t.Context()))
	target.runPasses(enough)
	if left := append(e.AWSLines("CNAME"), append(e.AWSLines("us-east-1 endpoint( Name"), e.AWSLines("group(", "-vpce-", "of vpc")...)...); len(left) > 0 {
		t.Errorf("left:\n%s", strings.Join(left, "\n"))
	}
}
