// Package consoletest has hosted clusters in memory, and addresses of pages, for tests of the console.
package consoletest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/timeline"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Source is a web.Source. It is safe for concurrent use.
type Source struct {
	watch.Broadcaster
	recorder *timeline.Recorder

	mu       sync.Mutex
	clusters map[types.NamespacedName]*watch.Cluster
	health   watch.Health
	now      func() time.Time
}

// NewSource returns a Source without clusters.
func NewSource(now func() time.Time) *Source {
	return &Source{recorder: timeline.NewRecorder(), clusters: map[types.NamespacedName]*watch.Cluster{}, now: now, health: watch.Health{Reached: now()}}
}

// Put adds or replaces a cluster. Its objects must not be changed afterwards.
func (s *Source) Put(c *watch.Cluster) {
	key := types.NamespacedName{Namespace: c.HostedCluster.Namespace, Name: c.HostedCluster.Name}
	s.recorder.Observe(key, "HostedCluster", key.Name, c.HostedCluster.Status.Conditions, s.now())
	for i := range c.NodePools {
		s.recorder.Observe(key, "NodePool", c.NodePools[i].Name, c.NodePools[i].GetConditions(), s.now())
	}
	s.mu.Lock()
	s.clusters[key] = c
	s.mu.Unlock()
	s.Notify(key)
}

// Delete removes a cluster.
func (s *Source) Delete(key types.NamespacedName) {
	s.mu.Lock()
	delete(s.clusters, key)
	s.mu.Unlock()
	s.Notify(key)
}

// SetHealth changes what Health returns.
func (s *Source) SetHealth(h watch.Health) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health = h
}

// Health returns that the source is current, or what SetHealth has set.
func (s *Source) Health() watch.Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.health
	if h.Err == nil {
		h.Reached = s.now()
	}
	return h
}

// Keys returns all clusters.
func (s *Source) Keys(context.Context) ([]types.NamespacedName, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.Collect(maps.Keys(s.clusters))
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return keys, nil
}

// Cluster returns a cluster, or nil.
func (s *Source) Cluster(_ context.Context, key types.NamespacedName) (*watch.Cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clusters[key], nil
}

// Detailed is Cluster.
func (s *Source) Detailed(ctx context.Context, key types.NamespacedName) (*watch.Cluster, error) {
	return s.Cluster(ctx, key)
}

// Lanes returns the recorded transitions.
func (s *Source) Lanes(key types.NamespacedName) []timeline.Lane { return s.recorder.Lanes(key) }

// Private returns a private cluster with two nodes in which everything works, since an hour before now.
func Private(namespace, name string, now time.Time) *watch.Cluster {
	since := metav1.NewTime(now.Add(-time.Hour))
	in := func(ns, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID("uid-" + ns + "-" + name), CreationTimestamp: since}
	}
	condition := func(name string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, Reason: hyperv1.AsExpectedReason, LastTransitionTime: since}
	}
	hc := &hyperv1.HostedCluster{ObjectMeta: in(namespace, name)}
	hc.Spec.InfraID = name + "-x7k2p"
	hc.Spec.Release.Image = "registry.example.com/release:1.37.2"
	hc.Spec.ControllerAvailabilityPolicy = hyperv1.SingleReplica
	hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{Region: "us-east-1", EndpointAccess: hyperv1.Private}}
	for _, c := range []string{
		hyperv1.HostedClusterReady, hyperv1.HostedClusterAvailable, hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable, hyperv1.InfrastructureReady,
		hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable, hyperv1.ControlPlaneConnectionAvailable, hyperv1.DataPlaneConnectionAvailable,
	} {
		hc.Status.Conditions = append(hc.Status.Conditions, condition(c, metav1.ConditionTrue))
	}
	hc.Status.Conditions = append(hc.Status.Conditions, condition(hyperv1.HostedClusterProgressing, metav1.ConditionFalse), condition(hyperv1.HostedClusterDegraded, metav1.ConditionFalse))
	done := metav1.NewTime(since.Add(2 * time.Minute))
	hc.Status.Version = &hyperv1.ClusterVersionStatus{History: []configv1.UpdateHistory{{State: configv1.CompletedUpdate, Version: "1.37.2", StartedTime: since, CompletionTime: &done}}}

	plane := names.ControlPlaneNamespace(namespace, name)
	o := &clustertree.Objects{HostedCluster: hc, HostedControlPlane: &hyperv1.HostedControlPlane{ObjectMeta: in(plane, name)}, Warnings: map[string]string{}}
	for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "router"} {
		o.Components = append(o.Components, hyperv1.ControlPlaneComponent{ObjectMeta: in(plane, component), Status: hyperv1.ControlPlaneComponentStatus{
			Version: "1.37.2", Conditions: []metav1.Condition{condition(hyperv1.ControlPlaneComponentAvailable, metav1.ConditionTrue)},
		}})
	}
	svc := corev1.Service{ObjectMeta: in(plane, "private-router"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "nlb-4.elb.us-east-1.amazonaws.com"}}
	o.Services = []corev1.Service{svc}
	es := hyperv1.AWSEndpointService{ObjectMeta: in(plane, "private-router"), Spec: hyperv1.AWSEndpointServiceSpec{SubnetIDs: []string{"subnet-1"}}}
	es.Status = hyperv1.AWSEndpointServiceStatus{
		EndpointServiceName: "com.amazonaws.vpce.us-east-1.vpce-svc-0123456789abcdef0", EndpointID: "vpce-0123456789abcdef0", DNSZoneID: "Z0123456789",
		AvailabilityZoneIDs: []string{"use1-az1"}, DNSNames: []string{"api." + name + ".hypershift.local"},
		Conditions: []metav1.Condition{condition(hyperv1.AWSEndpointServiceAvailable, metav1.ConditionTrue), condition(hyperv1.AWSEndpointAvailable, metav1.ConditionTrue)},
	}
	o.EndpointServices = []hyperv1.AWSEndpointService{es}
	np := hyperv1.NodePool{ObjectMeta: in(namespace, name+"-a")}
	np.Spec.ClusterName = name
	replicas := int32(2)
	np.Spec.Replicas, np.Status.Replicas, np.Status.Version = &replicas, replicas, "1.37.2"
	np.SetConditions([]metav1.Condition{condition(hyperv1.NodePoolReadyCondition, metav1.ConditionTrue)})
	o.NodePools = []hyperv1.NodePool{np}
	for i := range 2 {
		m := clusterv1.Machine{ObjectMeta: in(plane, fmt.Sprintf("%s-a-%d", name, i))}
		m.Labels = map[string]string{hyperv1.NodePoolLabel: np.Name}
		m.Spec.ProviderID = fmt.Sprintf("aws:///us-east-1a/i-0123456789abcdef%d", i)
		m.Spec.InfrastructureRef.Name = m.Name
		m.Status.NodeRef.Name = fmt.Sprintf("ip-10-0-0-%d.ec2.internal", i)
		m.Status.Conditions = []metav1.Condition{condition(clusterv1.MachineReadyCondition, metav1.ConditionTrue)}
		o.Machines = append(o.Machines, m)
		o.AWSMachines = append(o.AWSMachines, infrav1.AWSMachine{ObjectMeta: in(plane, m.Name), Spec: infrav1.AWSMachineSpec{InstanceType: "m6i.large"}})
	}
	return &watch.Cluster{Objects: o}
}

// SetCondition changes a condition of a HostedCluster in a copy of a cluster.
func SetCondition(c *watch.Cluster, name string, status metav1.ConditionStatus, reason, message string, at time.Time) *watch.Cluster {
	objects := *c.Objects
	objects.HostedCluster = c.HostedCluster.DeepCopy()
	conditions := slices.DeleteFunc(objects.HostedCluster.Status.Conditions, func(c metav1.Condition) bool { return c.Type == name })
	objects.HostedCluster.Status.Conditions = append(conditions, metav1.Condition{Type: name, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(at)})
	changed := *c
	changed.Objects = &objects
	return &changed
}

// Fleet puts n clusters into a source. One in ten has a problem.
func Fleet(s *Source, n int, now time.Time) {
	for i := range n {
		c := Private(fmt.Sprintf("team-%d", i%20), fmt.Sprintf("cluster-%04d", i), now)
		if i%10 == 3 {
			c = SetCondition(c, hyperv1.AWSEndpointAvailable, metav1.ConditionFalse, "EndpointRejected", "VPC endpoint vpce-0123456789abcdef0 is rejected", now.Add(-time.Duration(i)*time.Second))
			c = SetCondition(c, hyperv1.HostedClusterReady, metav1.ConditionFalse, "AWSEndpointAvailable", "AWSEndpointAvailable: VPC endpoint vpce-0123456789abcdef0 is rejected", now.Add(-time.Duration(i)*time.Second))
		}
		s.Put(c)
	}
}
