package hostedcontrolplane

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func (w *world) wants(name string, status metav1.ConditionStatus, reason string, words ...string) {
	w.t.Helper()
	c := w.condition(w.t.Context(), name)
	if c.Status != status || c.Reason != reason {
		w.t.Errorf("%s is %s %s %q, want %s %s", name, c.Status, c.Reason, c.Message, status, reason)
	}
	for _, word := range words {
		if !strings.Contains(c.Message, word) {
			w.t.Errorf("%s does not say %q: %q", name, word, c.Message)
		}
	}
}

// What the cloud controller complained about last is what the user reads, and
// reads the same each time.
func TestALoadBalancerThatDoesNotCome(t *testing.T) {
	w := newWorld(t, controlPlane(hyperv1.Private, hyperv1.Route))
	w.slow["private-router"] = "quota"
	w.settle()
	w.wants(hyperv1.InfrastructureReady, metav1.ConditionFalse, hyperv1.WaitingOnInfrastructureReason, "Service private-router is not provisioned")

	svc := &corev1.Service{}
	w.must(w.Admin().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "private-router"}, svc))
	for i, id := range []string{"11111111-aaaa", "22222222-bbbb"} {
		w.Create(t, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: "e" + id},
			InvolvedObject: corev1.ObjectReference{UID: svc.UID}, Type: corev1.EventTypeWarning,
			LastTimestamp: metav1.NewTime(w.clock.Now().Add(1000 * 1e6 * 1 << i)),
			Message:       "operation error ELB: CreateLoadBalancer, https response error StatusCode: 400, RequestID: " + id + ", TooManyLoadBalancers",
		})
		w.settle()
		w.wants(hyperv1.InfrastructureReady, metav1.ConditionFalse, hyperv1.WaitingOnInfrastructureReason, "TooManyLoadBalancers")
		if m := w.condition(t.Context(), hyperv1.InfrastructureReady).Message; strings.Contains(m, id) {
			t.Errorf("the message changes with each try: %s", m)
		}
	}
	w.slow = map[string]string{}
	w.settle()
	w.wants(hyperv1.InfrastructureReady, metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

// What does not run is said to, and keeps Available from being True.
func TestNothingIsPromised(t *testing.T) {
	w := newWorld(t, controlPlane(hyperv1.Private, hyperv1.Route))
	w.settle()
	w.wants(hyperv1.KubeAPIServerAvailable, metav1.ConditionFalse, hyperv1.NotDeployedReason, "does not run its API server yet")
	w.wants(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.NotDeployedReason, hyperv1.KubeAPIServerAvailable)
	if status := w.hcp(t.Context()).Status; status.Ready || status.Initialized || !*status.ExternalManagedControlPlane {
		t.Errorf("%+v", status)
	}
}

func TestConfiguration(t *testing.T) {
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
		"type AWS without aws":   {func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS = nil }, hyperv1.PlatformConfigMissingReason, "spec.platform.aws"},
		"no way to the API":      {func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Services = nil }, hyperv1.UnsupportedPublishingReason, "APIServer"},
		"a Route without a name": {api(byRoute("")), hyperv1.UnsupportedPublishingReason, "hostname"},
		"a node port":            {api(hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort}), hyperv1.UnsupportedPublishingReason, "NodePort"},
		"a balancer for OAuth": {func(hcp *hyperv1.HostedControlPlane) {
			for i := range hcp.Spec.Services {
				if hcp.Spec.Services[i].Service == hyperv1.OAuthServer {
					hcp.Spec.Services[i].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
				}
			}
		}, hyperv1.UnsupportedPublishingReason, "OAuthServer"},
	} {
		t.Run(name, func(t *testing.T) {
			hcp := controlPlane(hyperv1.Private, hyperv1.Route)
			c.spoil(hcp)
			w := newWorld(t, hcp)
			w.settle()
			w.wants(hyperv1.ValidHostedControlPlaneConfiguration, metav1.ConditionFalse, c.reason, c.word)
			if got := w.exposed(); len(got) > 0 {
				t.Errorf("made all the same: %v", got)
			}
		})
	}
}

func TestALoadBalancerThatPrivateLinkCannotOffer(t *testing.T) {
	w := newWorld(t, controlPlane(hyperv1.Private, hyperv1.Route))
	w.settle()
	svc := &corev1.Service{}
	w.must(w.Admin().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "private-router"}, svc))
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "classic-1234.us-east-1.elb.amazonaws.com"}}
	w.must(w.Admin().Status().Update(t.Context(), svc))
	w.must(w.start()(t.Context()))
	w.wants(hyperv1.InfrastructureReady, metav1.ConditionFalse, hyperv1.WaitingOnInfrastructureReason, "PrivateLink", "classic-1234")
}

func TestAPausedControlPlaneIsLeftAlone(t *testing.T) {
	w := newWorld(t, controlPlane(hyperv1.Private, hyperv1.Route))
	w.settle()
	w.change(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
		hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
	})
	before := w.Life.Writes()
	w.settle()
	if after := w.Life.Writes(); after != before {
		t.Errorf("written while paused: %v", w.Life.Log(before))
	}
}

// AWS keeps a load balancer that is still offered, so the offer ends first.
func TestDeletionWaitsForPrivateLinks(t *testing.T) {
	w := newWorld(t, controlPlane(hyperv1.Private, hyperv1.Route))
	w.settle()
	es := &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "private-router", Finalizers: []string{hyperv1.ControlPlaneOperatorFinalizer}}}
	w.Create(t, es)
	w.must(w.Admin().Delete(t.Context(), w.hcp(t.Context())))
	w.settle()
	w.wants(hyperv1.InfrastructureReady, metav1.ConditionFalse, hyperv1.DeletingReason, "AWSEndpointService private-router")
	if len(w.exposed()) == 0 {
		t.Error("the Services went before the offer")
	}
	w.must(w.Admin().Delete(t.Context(), es))
	w.must(w.Admin().Get(t.Context(), client.ObjectKeyFromObject(es), es))
	es.Finalizers = nil
	w.must(w.Admin().Update(t.Context(), es))
	w.settle()
	if got := w.exposed(); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
	if err := w.Admin().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "demo"}, &hyperv1.HostedControlPlane{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the control plane is still there: %v", err)
	}
}

// A control plane that went before its load balancers would leave nobody to
// tell what they wait for.
func TestDeletionWaitsForLoadBalancers(t *testing.T) {
	w := newWorld(t, controlPlane(hyperv1.Private, hyperv1.Route))
	w.settle()
	w.must(w.Admin().Delete(t.Context(), w.hcp(t.Context())))
	pass := w.start()
	for range 3 {
		w.must(pass(t.Context())) // the cloud controller is not there
	}
	w.wants(hyperv1.InfrastructureReady, metav1.ConditionFalse, hyperv1.DeletingReason, "load balancers")
}
