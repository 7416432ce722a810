package disruption

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

var events = []Event{
	Upgrade, APIServerDeath, EtcdDeath, EtcdDrain, RouterDeath, MachineDeath, ZoneDeath, CertificateRotation, AccessChange, KeyRotation,
}

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(errors.Join(clientgoscheme.AddToScheme(s), hyperv1.AddToScheme(s)))
	return s
}()

var demo = client.ObjectKey{Namespace: "clusters", Name: "demo"}

// fakeMachines are machines m1 and m3 in zone a, and m2 in zone b.
type fakeMachines struct {
	nodes   client.Client // nil: nodes do not notice that a machine is off
	off     []string
	stopped []string // of those, with their instances
	started []string
}

func (f *fakeMachines) Status(context.Context) (*cluster.Status, error) {
	s := &cluster.Status{}
	for name, zone := range map[string]string{"m1": "a", "m2": "b", "m3": "a"} {
		s.Machines = append(s.Machines, cluster.MachineStatus{MachineOptions: cluster.MachineOptions{Name: name, Zone: zone}})
	}
	return s, nil
}

func (f *fakeMachines) KillMachine(ctx context.Context, name string) error {
	f.off = append(f.off, name)
	return f.setReady(ctx, name, corev1.ConditionUnknown)
}

func (f *fakeMachines) ForceStopMachine(ctx context.Context, name string) error {
	f.stopped = append(f.stopped, name)
	return f.KillMachine(ctx, name)
}

func (f *fakeMachines) StartMachine(ctx context.Context, name string) error {
	f.started = append(f.started, name)
	return f.setReady(ctx, name, corev1.ConditionTrue)
}

func (f *fakeMachines) WaitForNode(context.Context, string) error { return nil }

func (f *fakeMachines) setReady(ctx context.Context, name string, ready corev1.ConditionStatus) error {
	if f.nodes == nil {
		return nil
	}
	node := &corev1.Node{}
	if err := f.nodes.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return err
	}
	node.Status.Conditions[0].Status = ready
	return f.nodes.Status().Update(ctx, node)
}

func readyNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
}

func readyPod(name, app, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: controlPlane(demo), Name: name, UID: types.UID(name), Labels: map[string]string{component.ComponentLabel: app}},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// completeCluster returns the objects of a complete control plane with its API server and etcd on m1, and the router on m2.
func completeCluster(t *testing.T) []client.Object {
	t.Helper()
	one := int32(1)
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: demo.Namespace, Name: demo.Name}}
	hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{EndpointAccess: hyperv1.Public}}
	hc.Status.Conditions = []metav1.Condition{
		{Type: hyperv1.HostedClusterAvailable, Status: metav1.ConditionTrue},
		{Type: hyperv1.HostedClusterProgressing, Status: metav1.ConditionFalse},
		{Type: hyperv1.ConfigOperatorReconciliationSucceeded, Status: metav1.ConditionTrue},
		{Type: hyperv1.EndpointAccessUpToDate, Status: metav1.ConditionTrue},
		{Type: hyperv1.EtcdDataEncryptionUpToDate, Status: metav1.ConditionTrue},
	}
	meta := metav1.ObjectMeta{Namespace: controlPlane(demo), Name: "workload"}
	all := []client.Object{
		hc, readyNode("m1"), readyNode("m2"), readyNode("m3"),
		readyPod("api", names.KubeAPIServer, "m1"), readyPod("etcd-0", names.Etcd, "m1"), readyPod("router", names.Router, "m2"),
		&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &one}, Status: appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1}},
		&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &one}, Status: appsv1.StatefulSetStatus{ReadyReplicas: 1}},
	}
	for _, name := range rotated {
		authority, err := pki.NewAuthority(name, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		bundle := pki.Bundle(authority.Certificate)
		all = append(all, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: controlPlane(demo), Name: name}, Data: map[string][]byte{corev1.TLSCertKey: bundle, pki.TrustKey: bundle},
		})
	}
	return all
}

func newDisruptor(t *testing.T, machines *fakeMachines, funcs interceptor.Funcs) *Disruptor {
	t.Helper()
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(completeCluster(t)...).Build(), funcs)
	release := func(_ context.Context, version string) (string, error) {
		return "registry.example.test/release:" + version, nil
	}
	return &Disruptor{Management: c, Machines: machines, Release: release, Older: "1.35.4", Newer: "1.36.3", Off: 2 * time.Minute}
}

// A row of zero failed requests must not come from an event that did not happen.
func TestEventThatDoesNotHappenIsAnError(t *testing.T) {
	for _, event := range events {
		t.Run(event.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machines := &fakeMachines{}
				d := newDisruptor(t, machines, interceptor.Funcs{})
				if err := d.Complete(t.Context(), demo); err != nil {
					t.Fatalf("before the event: %v", err)
				}
				began := time.Now()
				text, err := event.Happen(d, t.Context(), demo)
				if err == nil || !strings.Contains(err.Error(), "timeout") || time.Since(began) < Timeout {
					t.Errorf("%q, %v after %s", text, err, time.Since(began))
				}
				if !slices.Equal(machines.off, machines.started) {
					t.Errorf("machines %v were turned off, and %v on again", machines.off, machines.started)
				}
			})
		})
	}
}

func TestEventNeedsItsPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisruptor(t, &fakeMachines{}, interceptor.Funcs{})
		if err := d.Management.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(controlPlane(demo))); err != nil {
			t.Fatal(err)
		}
		for _, event := range events[1:6] {
			if text, err := event.Happen(d, t.Context(), demo); err == nil {
				t.Errorf("%s happened without pods: %q", event.Name, text)
			}
		}
	})
}

func TestReplacedPodIsWaitedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		replace  func(*Disruptor, context.Context, client.ObjectKey) (string, error)
		graceful bool
	}{
		"killed":  {replace: (*Disruptor).killAPIServers},
		"drained": {replace: (*Disruptor).drainEtcd, graceful: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisruptor(t, &fakeMachines{}, interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
					o := (&client.DeleteOptions{}).ApplyOptions(opts)
					if graceful := o.GracePeriodSeconds == nil; graceful != tt.graceful || !graceful && *o.GracePeriodSeconds != 0 {
						t.Errorf("the pod is deleted with %+v", o)
					}
					if err := c.Delete(ctx, obj, opts...); err != nil {
						return err
					}
					go func() {
						time.Sleep(7 * time.Second)
						if err := c.Create(ctx, readyPod(obj.GetName()+"-new", obj.GetLabels()[component.ComponentLabel], "m1")); err != nil {
							t.Error(err)
						}
					}()
					return nil
				}})
				began := time.Now()
				text, err := tt.replace(d, t.Context(), demo)
				if err != nil || text != "1 replaced in turn" || time.Since(began) < 7*time.Second || time.Since(began) > 8*time.Second {
					t.Errorf("%q, %v after %s", text, err, time.Since(began))
				}
			})
		})
	}
}

func TestPowerIsOffForTwoMinutes(t *testing.T) {
	for name, tt := range map[string]struct {
		event        func(*Disruptor, context.Context, client.ObjectKey) (string, error)
		off, stopped []string
	}{
		"machine":  {(*Disruptor).killMachine, []string{"m1"}, nil},
		"instance": {(*Disruptor).stopMachine, []string{"m1"}, []string{"m1"}},
		"zone":     {(*Disruptor).killZone, []string{"m1", "m3"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machines := &fakeMachines{}
				d := newDisruptor(t, machines, interceptor.Funcs{})
				machines.nodes = d.Management
				began := time.Now()
				text, err := tt.event(d, t.Context(), demo)
				if err != nil || time.Since(began) != d.Off || !strings.Contains(text, "etcd, kube-apiserver") {
					t.Errorf("%q, %v after %s", text, err, time.Since(began))
				}
				if !slices.Equal(machines.off, tt.off) || !slices.Equal(machines.stopped, tt.stopped) || !slices.Equal(machines.started, tt.off) {
					t.Errorf("%v were turned off and %v on again, want %v", machines.off, machines.started, tt.off)
				}
			})
		})
	}
}
