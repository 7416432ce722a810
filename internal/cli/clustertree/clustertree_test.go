package clustertree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func condition(name string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: name, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(5 * time.Minute)}
}

func isTrue(name string) metav1.Condition {
	return condition(name, metav1.ConditionTrue, "AsExpected", "all is well")
}

func isFalse(name, reason, message string) metav1.Condition {
	return condition(name, metav1.ConditionFalse, reason, message)
}

func poolConditions(list ...metav1.Condition) (out []hyperv1.NodePoolCondition) {
	np := &hyperv1.NodePool{}
	np.SetConditions(list)
	return np.Status.Conditions
}

const plane = "clusters-demo"

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-of-" + types.UID(name), CreationTimestamp: ago(time.Hour)}
}

func component(name string, conditions ...metav1.Condition) hyperv1.ControlPlaneComponent {
	return hyperv1.ControlPlaneComponent{ObjectMeta: objectMeta(plane, name), Status: hyperv1.ControlPlaneComponentStatus{Version: "1.36.3", Conditions: conditions}}
}

func balancer(name, host string) corev1.Service {
	s := corev1.Service{ObjectMeta: objectMeta(plane, name), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	if host != "" {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}}
	}
	return s
}

func machine(name, pool, node string, conditions ...metav1.Condition) clusterv1.Machine {
	m := clusterv1.Machine{ObjectMeta: objectMeta(plane, name), Status: clusterv1.MachineStatus{Phase: "Provisioned", Conditions: conditions}}
	m.Labels = map[string]string{hyperv1.NodePoolLabel: pool}
	m.Spec.ProviderID = "aws:///us-east-1a/i-" + name
	m.Spec.InfrastructureRef.Name = name
	m.Status.NodeRef.Name = node
	return m
}

func healthy() *Objects {
	hc := &hyperv1.HostedCluster{ObjectMeta: objectMeta("clusters", "demo")}
	hc.Status.Conditions = []metav1.Condition{
		isTrue(hyperv1.HostedClusterReady), isTrue(hyperv1.HostedClusterAvailable), isTrue(hyperv1.EtcdAvailable),
		isFalse(hyperv1.HostedClusterProgressing, "AsExpected", "all is well"), isFalse(hyperv1.HostedClusterDegraded, "AsExpected", "all is well"),
		condition(hyperv1.DataPlaneConnectionAvailable, metav1.ConditionUnknown, hyperv1.NoNodesReason, "the cluster has no nodes"),
	}
	hc.Status.Version = &hyperv1.ClusterVersionStatus{}
	hc.Status.Version.History = append(hc.Status.Version.History, history("1.36.3"))
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: objectMeta(plane, "demo")}
	hcp.Status.Conditions = []metav1.Condition{isTrue(hyperv1.HostedControlPlaneAvailable), isTrue(hyperv1.EtcdAvailable), isFalse("Paused", "NotPaused", "")}
	pool := hyperv1.NodePool{ObjectMeta: objectMeta("clusters", "demo-a")}
	pool.Spec.ClusterName = "demo"
	pool.Spec.Replicas = new(int32)
	*pool.Spec.Replicas = 3
	pool.Status.Replicas, pool.Status.Version = 3, "1.36.3"
	pool.Status.Conditions = poolConditions(isTrue(hyperv1.NodePoolReadyCondition), isFalse(hyperv1.NodePoolUpdatingConfigCondition, "AsExpected", ""),
		isFalse(hyperv1.NodePoolAutoscalingEnabledCondition, "AsExpected", ""))
	es := hyperv1.AWSEndpointService{ObjectMeta: objectMeta(plane, "private-router")}
	es.Status = hyperv1.AWSEndpointServiceStatus{
		EndpointServiceName: "com.amazonaws.vpce.us-east-1.vpce-svc-1", EndpointID: "vpce-2", DNSZoneID: "Z3",
		DNSNames:   []string{"api.demo.hypershift.local", "*.apps.demo.hypershift.local"},
		Conditions: []metav1.Condition{isTrue(hyperv1.AWSEndpointServiceAvailable), isTrue(hyperv1.AWSEndpointAvailable)},
	}
	ready := isTrue(clusterv1.MachineReadyCondition)
	running := infrav1.InstanceState("running")
	return &Objects{
		HostedCluster: hc, HostedControlPlane: hcp,
		Components:       []hyperv1.ControlPlaneComponent{component("etcd", isTrue("Available")), component("kube-apiserver", isTrue("Available")), component("kube-scheduler", isTrue("Available")), component("router", isTrue("Available"))},
		Services:         []corev1.Service{balancer("private-router", "nlb-4.elb.us-east-1.amazonaws.com")},
		EndpointServices: []hyperv1.AWSEndpointService{es},
		NodePools:        []hyperv1.NodePool{pool},
		Machines:         []clusterv1.Machine{machine("demo-a-1", "demo-a", "ip-10-0-0-1", ready), machine("demo-a-2", "demo-a", "ip-10-0-0-2", ready), machine("demo-a-3", "demo-a", "ip-10-0-0-3", ready)},
		AWSMachines:      []infrav1.AWSMachine{{ObjectMeta: objectMeta(plane, "demo-a-1"), Status: infrav1.AWSMachineStatus{InstanceState: &running}}},
	}
}

// starting is a cluster with problems of its load balancer, of one component and of one machine.
func starting() *Objects {
	o := healthy()
	o.HostedCluster.Status.Version = nil
	o.HostedCluster.Status.Conditions = []metav1.Condition{
		isFalse(hyperv1.HostedClusterReady, "WaitingOnInfrastructureReady", "InfrastructureReady: Service private-router has no load balancer"),
		isFalse(hyperv1.HostedClusterAvailable, "WaitingOnInfrastructureReady", "InfrastructureReady: Service private-router has no load balancer"),
		isFalse(hyperv1.InfrastructureReady, "WaitingOnInfrastructureReady", "Service private-router has no load balancer"),
		condition(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, "Progressing", "rolling out 1.36.3"),
		isTrue(hyperv1.ValidReleaseImage),
	}
	o.Components[1] = component("kube-apiserver", isFalse("Available", "ContainerCrashed", "container kube-apiserver exits: \n unknown flag --foo"))
	o.Services[0] = balancer("private-router", "")
	o.Warnings = map[string]string{"private-router": "could not find any suitable subnets for creating the ELB"}
	o.EndpointServices = nil
	o.NodePools[0].Status.Replicas = 2
	o.NodePools[0].Status.Conditions = poolConditions(isFalse(hyperv1.NodePoolReadyCondition, "InsufficientInstanceCapacity", "1 of 3 (demo-a-3): EC2 has no capacity"),
		isFalse(hyperv1.NodePoolAllMachinesReadyCondition, "InsufficientInstanceCapacity", "1 of 3 (demo-a-3): EC2 has no capacity"))
	o.Machines[2] = machine("demo-a-3", "demo-a", "", isFalse(clusterv1.MachineReadyCondition, "NotReady", "* InfrastructureReady: EC2 has no capacity"),
		isFalse("InfrastructureReady", "InsufficientInstanceCapacity", "EC2 has no capacity"))
	o.Unreadable = map[string]error{"AWSMachine": errors.New("awsmachines is forbidden")}
	return o
}

// tenant is a user with permissions in the namespace of the HostedCluster only.
func tenant() *Objects {
	o := healthy()
	o.HostedControlPlane, o.Components, o.Services, o.EndpointServices, o.Machines, o.AWSMachines = nil, nil, nil, nil, nil, nil
	o.Unreadable = map[string]error{}
	for _, resource := range []string{"AWSMachine", "AWSEndpointService", "HostedControlPlane", "Service"} {
		o.Unreadable[resource] = apierrors.NewForbidden(schema.GroupResource{Resource: strings.ToLower(resource) + "s"}, "", errors.New("no role has it"))
	}
	return o
}

func deleting() *Objects {
	o := healthy()
	at := ago(2 * time.Minute)
	o.HostedCluster.DeletionTimestamp, o.NodePools[0].DeletionTimestamp = &at, &at
	o.HostedCluster.Status.Conditions = []metav1.Condition{isFalse(hyperv1.HostedClusterReady, "Deleting", "waiting for NodePool demo-a: 3 machines remain")}
	o.NodePools[0].Status.Conditions = poolConditions(condition(hyperv1.NodePoolDeletingCondition, metav1.ConditionTrue, "Deleting", "3 machines remain"))
	o.HostedControlPlane, o.Components, o.Services, o.EndpointServices = nil, nil, nil, nil
	o.Machines = append(o.Machines[:2:2], machine("demo-b-1", "demo-b", "", isTrue(clusterv1.MachineReadyCondition)))
	return o
}

func TestTrees(t *testing.T) {
	for name, c := range map[string]struct {
		objects *Objects
		options Options
		healthy bool
	}{
		"healthy":          {objects: healthy(), healthy: true},
		"healthy-all":      {objects: healthy(), options: Options{All: true}, healthy: true},
		"starting":         {objects: starting()},
		"starting-wrapped": {objects: starting(), options: Options{Width: 120}},
		"deleting":         {objects: deleting()},
		"tenant":           {objects: tenant()},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Now = now
			root := Build(c.objects)
			var out bytes.Buffer
			if err := Write(&out, root, c.options); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if out.String() != string(want) {
				t.Errorf("got\n%swant\n%s", out.String(), want)
			}
			if root.Healthy() != c.healthy {
				t.Errorf("Healthy is %t", root.Healthy())
			}
		})
	}
}

func TestJSONHasEveryConditionAndObject(t *testing.T) {
	text, err := json.Marshal(Build(starting()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"type":"ValidReleaseImage"`, `"name":"etcd"`, `"normal":false`, `"since":"2026-11-23T11:55:00Z"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
}

// objectsOf returns the objects of the API server.
func objectsOf(o *Objects) (all []client.Object) {
	all = append(all, o.HostedCluster, o.HostedControlPlane)
	for i := range o.Components {
		all = append(all, &o.Components[i])
	}
	for i := range o.Services {
		all = append(all, &o.Services[i])
	}
	for i := range o.NodePools {
		all = append(all, &o.NodePools[i])
	}
	for i := range o.Machines {
		all = append(all, &o.Machines[i])
	}
	return all
}

func TestGatherReadsTheObjectsOfOneCluster(t *testing.T) {
	o := starting()
	other := hyperv1.NodePool{ObjectMeta: objectMeta("clusters", "other")}
	other.Spec.ClusterName = "other"
	clusterIP := corev1.Service{ObjectMeta: objectMeta(plane, "kube-apiserver"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}}
	warning := &corev1.Event{
		ObjectMeta: objectMeta(plane, "warning"), Type: corev1.EventTypeWarning, Message: "no subnets", LastTimestamp: ago(time.Minute),
		InvolvedObject: corev1.ObjectReference{UID: o.Services[0].UID},
	}
	c := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(objectsOf(o)...).WithObjects(&other, &clusterIP, warning).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(obj client.Object) []string { return []string{string(obj.(*corev1.Event).InvolvedObject.UID)} }).
		WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*infrav1.AWSMachineList); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "awsmachines"}, "", nil)
			}
			return c.List(ctx, list, opts...)
		}}).Build()
	got, err := Gather(t.Context(), c, client.ObjectKey{Namespace: "clusters", Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.NodePools) != 1 || len(got.Services) != 1 || len(got.Machines) != 3 || len(got.Components) != 4 || got.HostedControlPlane == nil {
		t.Errorf("%d pools, %d services, %d machines, %d components", len(got.NodePools), len(got.Services), len(got.Machines), len(got.Components))
	}
	if got.Warnings["private-router"] != "no subnets" {
		t.Errorf("warnings: %v", got.Warnings)
	}
	if len(got.Unreadable) != 1 || !apierrors.IsForbidden(got.Unreadable["AWSMachine"]) {
		t.Errorf("unreadable: %v", got.Unreadable)
	}
}

func TestAWrongNameListsTheClustersThatExist(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(healthy().HostedCluster).Build()
	_, err := Gather(t.Context(), c, client.ObjectKey{Namespace: "clusters", Name: "dmeo"})
	var missing *NotFoundError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "there are clusters/demo") {
		t.Errorf("got %v", err)
	}
}

func history(version string) configv1.UpdateHistory {
	return configv1.UpdateHistory{State: configv1.CompletedUpdate, Version: version}
}

func TestProblemOfAnObjectWithoutConditions(t *testing.T) {
	o := healthy()
	o.Services[0] = balancer("private-router", "")
	if Build(o).Healthy() {
		t.Error("a Service without a load balancer is healthy")
	}
}
