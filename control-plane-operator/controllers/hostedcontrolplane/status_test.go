package hostedcontrolplane

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func TestEventsOfPendingLoadBalancersAreReported(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.Private, hyperv1.Route))
	e.slow["private-router"] = "quota"
	e.settle()
	e.ExpectCondition(hyperv1.InfrastructureReady, metav1.ConditionFalse, hyperv1.WaitingOnInfrastructureReason, "Service private-router is not provisioned")

	svc := testenv.Named(e.Env, "private-router", &corev1.Service{})
	for i, id := range []string{"11111111-aaaa", "22222222-bbbb"} {
		e.Create(&corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: "e" + id},
			InvolvedObject: corev1.ObjectReference{UID: svc.UID}, Type: corev1.EventTypeWarning,
			LastTimestamp: metav1.NewTime(e.Clock.Now().Add(1000 * 1e6 * 1 << i)),
			Message:       "operation error ELB: CreateLoadBalancer, https response error StatusCode: 400, RequestID: " + id + ", TooManyLoadBalancers",
		})
		e.settle()
		e.ExpectCondition(hyperv1.InfrastructureReady, metav1.ConditionFalse, hyperv1.WaitingOnInfrastructureReason, "TooManyLoadBalancers")
		if m := e.Condition(hyperv1.InfrastructureReady).Message; strings.Contains(m, id) {
			t.Errorf("the message changes with each try: %s", m)
		}
	}
	e.slow = map[string]string{}
	e.settle()
	e.ExpectCondition(hyperv1.InfrastructureReady, metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

func TestAvailableWaitsForTheAPIServer(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.Private, hyperv1.Route), testenv.WithSchemas("config/crd"))
	e.settle()
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.StatusUnknownReason, hyperv1.KubeAPIServerAvailable)
	if !*e.HCP().Status.ExternalManagedControlPlane {
		t.Error("Cluster API would look for Machines of the control plane")
	}

	e.report(metav1.ConditionFalse, hyperv1.NotDeployedReason, "it has no Deployment")
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.NotDeployedReason, "it has no Deployment")

	e.report(metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

func TestServiceRoutesToAStartingAPIServer(t *testing.T) {
	for policy, early := range map[hyperv1.AvailabilityPolicy]bool{hyperv1.SingleReplica: true, hyperv1.HighlyAvailable: false} {
		e := newFakeCloudController(t, controlPlane(hyperv1.Public, hyperv1.Route), testenv.WithSchemas("config/crd"))
		e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ControllerAvailabilityPolicy = policy })
		reached := func(want bool) {
			t.Helper()
			e.settle()
			svc := testenv.Named(e.Env, names.KubeAPIServer, &corev1.Service{})
			if svc.Spec.PublishNotReadyAddresses != want {
				t.Errorf("%s: pods that are not ready are reached: %v", policy, !want)
			}
		}
		reached(early)
		hcp := e.HCP()
		hcp.Status.Initialized = true
		e.Must(e.Admin().Status().Update(t.Context(), hcp))
		reached(false)
	}
}

// checked are conditions that another controller writes.
var checked = []string{hyperv1.KubeAPIServerAvailable, hyperv1.KubeAPIServerReachable, hyperv1.EtcdAvailable}

// healthPart is the part of the status of that controller.
func healthPart(hcp *hyperv1.HostedControlPlane) any {
	conditions := []metav1.Condition{}
	for _, c := range hcp.Status.Conditions {
		if slices.Contains(checked, c.Type) {
			conditions = append(conditions, c)
		}
	}
	return map[string]any{"conditions": conditions}
}

// report writes the conditions of the other controller.
func (e *fakeCloudController) report(status metav1.ConditionStatus, reason, message string) {
	e.T.Helper()
	hcp := e.HCP()
	writer := e.health.Writer(hcp)
	for _, c := range checked {
		reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: c, Status: status, Reason: reason, Message: message}, e.Clock.Now())
	}
	e.Must(writer.Write(e.T.Context()))
}

func TestPredicateOfHostedControlPlanes(t *testing.T) {
	for name, change := range map[string]func(*hyperv1.HostedControlPlaneStatus){
		"initialized": func(s *hyperv1.HostedControlPlaneStatus) { s.Initialized = true },
		"available": func(s *hyperv1.HostedControlPlaneStatus) {
			reconcile.SetCondition(&s.Conditions, metav1.Condition{Type: hyperv1.KubeAPIServerAvailable, Status: metav1.ConditionTrue}, time.Unix(1, 0))
		},
	} {
		before, after := &hyperv1.HostedControlPlane{}, &hyperv1.HostedControlPlane{}
		change(&after.Status)
		if got := initialized().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != (name == "initialized") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestInvalidPublishingIsReported(t *testing.T) {
	api := func(s hyperv1.ServicePublishingStrategy) func(*hyperv1.HostedControlPlane) {
		return func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: s}}
		}
	}
	for name, c := range map[string]struct {
		spoil  func(*hyperv1.HostedControlPlane)
		reason string
		word   string
	}{
		"type AWS without aws": {func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS = nil }, hyperv1.PlatformConfigMissingReason, "spec.platform.aws"},
		"no way to the API":    {func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Services = nil }, hyperv1.UnsupportedPublishingReason, "APIServer"},
		"a public Route without a name": {func(hcp *hyperv1.HostedControlPlane) {
			api(byRoute(""))(hcp)
			hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
		}, hyperv1.UnsupportedPublishingReason, "hostname"},
		"no way at all":               {api(hyperv1.ServicePublishingStrategy{Type: hyperv1.None}), hyperv1.UnsupportedPublishingReason, "published as None"},
		"a node port nowhere":         {api(hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort}), hyperv1.UnsupportedPublishingReason, "NodePort with an address"},
		"a node port for PrivateLink": {api(byNodePort("192.0.2.1", 0)), hyperv1.UnsupportedPublishingReason, "PrivateLink cannot offer"},
		"tunnels in a bucket": {func(hcp *hyperv1.HostedControlPlane) {
			publish(hcp, hyperv1.Konnectivity, hyperv1.ServicePublishingStrategy{Type: hyperv1.S3})
		}, hyperv1.UnsupportedPublishingReason, "Konnectivity is published as S3"},
		"tunnels beside PrivateLink": {func(hcp *hyperv1.HostedControlPlane) {
			publish(hcp, hyperv1.Konnectivity, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer})
		}, hyperv1.UnsupportedPublishingReason, "PrivateLink reaches only the router"},
	} {
		t.Run(name, func(t *testing.T) {
			hcp := controlPlane(hyperv1.Private, hyperv1.Route)
			c.spoil(hcp)
			e := newFakeCloudController(t, hcp)
			e.settle()
			e.ExpectCondition(hyperv1.ValidHostedControlPlaneConfiguration, metav1.ConditionFalse, c.reason, c.word)
			if got := e.exposed(); len(got) > 0 {
				t.Errorf("made all the same: %v", got)
			}
		})
	}
}

func TestLoadBalancerThatPrivateLinkCannotOfferIsReported(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.Private, hyperv1.Route))
	e.settle()
	svc := testenv.Named(e.Env, "private-router", &corev1.Service{})
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "classic-1234.us-east-1.elb.amazonaws.com"}}
	e.Must(e.Admin().Status().Update(t.Context(), svc))
	e.Must(e.start()(t.Context()))
	e.ExpectCondition(hyperv1.InfrastructureReady, metav1.ConditionFalse, hyperv1.WaitingOnInfrastructureReason, "PrivateLink", "classic-1234")
}

func TestPausedControlPlaneIsNotChanged(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.Private, hyperv1.Route))
	e.settle()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
		hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
	})
	before := e.exposed()
	e.settle()
	if diff := cmp.Diff(before, e.exposed()); diff != "" {
		t.Errorf("changed while paused (-before +after):\n%s", diff)
	}
	e.ExpectCondition(hyperv1.HostedControlPlanePaused, metav1.ConditionTrue, hyperv1.PausedReason, "pausedUntil")
	e.ExpectCondition(hyperv1.InfrastructureReady, metav1.ConditionTrue, hyperv1.AsExpectedReason)

	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.PausedUntil = nil })
	e.settle()
	e.ExpectCondition(hyperv1.HostedControlPlanePaused, metav1.ConditionFalse, hyperv1.NotPausedReason)
}

// AWS keeps a load balancer that is still offered.
func TestDeletionWaitsForPrivateLinks(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.Private, hyperv1.Route))
	e.settle()
	es := &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "private-router", Finalizers: []string{hyperv1.ControlPlaneOperatorFinalizer}}}
	e.Create(es)
	e.Must(e.Admin().Delete(t.Context(), e.HCP()))
	e.settle()
	e.ExpectCondition(hyperv1.InfrastructureReady, metav1.ConditionFalse, hyperv1.DeletingReason, "AWSEndpointService private-router")
	if len(e.exposed()) == 0 {
		t.Error("the Services went before the offer")
	}
	e.Must(e.Admin().Delete(t.Context(), es))
	e.Must(e.Admin().Get(t.Context(), client.ObjectKeyFromObject(es), es))
	es.Finalizers = nil
	e.Must(e.Admin().Update(t.Context(), es))
	e.settle()
	if got := e.exposed(); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
	if err := e.Admin().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "demo"}, &hyperv1.HostedControlPlane{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the control plane is still there: %v", err)
	}
}

// Without the control plane the reason of the delay could not be reported.
func TestDeletionWaitsForLoadBalancers(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.Private, hyperv1.Route))
	e.settle()
	e.Must(e.Admin().Delete(t.Context(), e.HCP()))
	e.Restart()
	for range 3 {
		e.Must(e.Try()) // the cloud controller does not run
	}
	e.ExpectCondition(hyperv1.InfrastructureReady, metav1.ConditionFalse, hyperv1.DeletingReason, "load balancers")
}

// The router of a private cluster recognizes the API server by its name in the local zone.
func TestAPrivateAPIServerNeedsNoHostName(t *testing.T) {
	hcp := controlPlane(hyperv1.Private, hyperv1.Route)
	publish(hcp, hyperv1.APIServer, byRoute(""))
	e := newFakeCloudController(t, hcp)
	e.settle()
	e.ExpectCondition(hyperv1.ValidHostedControlPlaneConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	got := e.exposed()
	if !slices.Contains(got, "Route kube-apiserver-internal api.demo.hypershift.local: served internal") || slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "Route kube-apiserver-private") }) {
		t.Errorf("it is published by %v", got)
	}
	list := &hyperv1.HostedControlPlaneList{}
	e.Must(e.Admin().List(t.Context(), list))
	if at := list.Items[0].Status.ControlPlaneEndpoint; at.Host != "api.demo.hypershift.local" || at.Port != 443 {
		t.Errorf("clients use %+v", at)
	}
}
