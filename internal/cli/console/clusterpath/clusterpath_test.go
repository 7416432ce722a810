package clusterpath_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/clusterpath"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/consoletest"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func states(p clusterpath.Path) string {
	var all []string
	for s := range p.Segments {
		all = append(all, s.ID+" "+string(s.State))
	}
	return strings.Join(all, ", ")
}

func TestOf(t *testing.T) {
	set := func(name string, status metav1.ConditionStatus, reason string) func(*watch.Cluster) *watch.Cluster {
		return func(c *watch.Cluster) *watch.Cluster {
			return consoletest.SetCondition(c, name, status, reason, "because", now)
		}
	}
	neverRolledOut := func(c *watch.Cluster) *watch.Cluster {
		c = consoletest.SetCondition(c, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, "Waiting", "", now)
		c.HostedCluster.Status.Version = nil
		return c
	}
	const healthy = "etcd ok, kube-apiserver ok, router ok, load-balancer ok, endpoint-service ok, endpoint ok, dns ok, node-connection ok, tunnel ok, nodepool-demo-a ok"
	for name, c := range map[string]struct {
		change func(*watch.Cluster) *watch.Cluster
		states string
		cut    string
	}{
		"everything works": {func(c *watch.Cluster) *watch.Cluster { return c }, healthy, ""},
		"a rejected endpoint cuts the path, and its records remain": {
			set(hyperv1.AWSEndpointAvailable, metav1.ConditionFalse, "EndpointRejected"),
			strings.Replace(healthy, "endpoint ok", "endpoint broken", 1), "endpoint",
		},
		"an endpoint that AWS is creating is no failure": {
			set(hyperv1.AWSEndpointAvailable, metav1.ConditionFalse, hyperv1.EndpointPendingReason),
			strings.Replace(healthy, "endpoint ok", "endpoint waiting", 1), "endpoint",
		},
		"an unknown state is not a failure": {
			set(hyperv1.EtcdAvailable, metav1.ConditionUnknown, hyperv1.StatusUnknownReason),
			strings.Replace(healthy, "etcd ok", "etcd unknown", 1), "etcd",
		},
		"a load balancer that does not respond is broken, although it exists": {
			set(hyperv1.KubeAPIServerReachable, metav1.ConditionFalse, "Unreachable"),
			strings.Replace(healthy, "load-balancer ok", "load-balancer broken", 1), "load-balancer",
		},
		"without nodes there is no tunnel": {
			set(hyperv1.DataPlaneConnectionAvailable, metav1.ConditionUnknown, hyperv1.NoNodesReason),
			strings.Replace(healthy, "tunnel ok", "tunnel absent", 1), "",
		},
		"before the first rollout, what is not available is being created": {
			func(c *watch.Cluster) *watch.Cluster {
				return set(hyperv1.KubeAPIServerAvailable, metav1.ConditionFalse, "PodsNotReady")(neverRolledOut(c))
			},
			strings.Replace(healthy, "kube-apiserver ok", "kube-apiserver waiting", 1), "kube-apiserver",
		},
		"load balancers that exist do not wait for the condition": {
			func(c *watch.Cluster) *watch.Cluster {
				return set(hyperv1.InfrastructureReady, metav1.ConditionFalse, "WaitingOnInfrastructureReady")(neverRolledOut(c))
			},
			healthy, "",
		},
		"a cluster that sleeps is not broken": {
			func(c *watch.Cluster) *watch.Cluster {
				return set(hyperv1.HostedClusterAsleep, metav1.ConditionTrue, "Asleep")(set(hyperv1.EtcdAvailable, metav1.ConditionFalse, "Asleep")(c))
			},
			strings.Replace(healthy, "etcd ok", "etcd absent", 1), "",
		},
		"a cluster that is being deleted is not broken": {
			func(c *watch.Cluster) *watch.Cluster {
				c = set(hyperv1.EtcdAvailable, metav1.ConditionFalse, "PodsNotReady")(c)
				c.HostedCluster.DeletionTimestamp = &metav1.Time{Time: now}
				return c
			},
			strings.Replace(healthy, "etcd ok", "etcd waiting", 1), "etcd",
		},
		"a stalled cluster does not wait": {
			func(c *watch.Cluster) *watch.Cluster {
				c = set(hyperv1.KubeAPIServerAvailable, metav1.ConditionFalse, "ImageNotPulled")(neverRolledOut(c))
				return set(hyperv1.HostedClusterStalled, metav1.ConditionTrue, "ImageNotPulled")(c)
			},
			strings.Replace(healthy, "kube-apiserver ok", "kube-apiserver broken", 1), "kube-apiserver",
		},
		"the condition of an AWSEndpointService is newer than its copy": {
			func(c *watch.Cluster) *watch.Cluster {
				es := *c.EndpointServices[0].DeepCopy()
				es.Status.Conditions[1].Status, es.Status.Conditions[1].Reason = metav1.ConditionFalse, "EndpointRejected"
				c.EndpointServices = []hyperv1.AWSEndpointService{es}
				return c
			},
			strings.Replace(healthy, "endpoint ok", "endpoint broken", 1), "endpoint",
		},
		"a public cluster has no endpoint": {
			func(c *watch.Cluster) *watch.Cluster {
				c = set(hyperv1.ExternalDNSReachable, metav1.ConditionTrue, "AsExpected")(c)
				c.HostedCluster.Spec.Platform.AWS = &hyperv1.AWSPlatformSpec{EndpointAccess: hyperv1.Public}
				c.EndpointServices = nil
				return c
			},
			strings.Replace(healthy, "endpoint-service ok, endpoint ok, ", "", 1), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := clusterpath.Of(c.change(consoletest.Private("clusters", "demo", now)).Objects)
			if got := states(path); got != c.states {
				t.Errorf("got  %s\nwant %s", got, c.states)
			}
			if path.Cut() != c.cut {
				t.Errorf("cut at %q, want %q", path.Cut(), c.cut)
			}
		})
	}
}

func TestMachines(t *testing.T) {
	c := consoletest.Private("clusters", "demo", now)
	c.Machines[0].Status.Conditions[0].Status, c.Machines[0].Status.Conditions[0].Message = metav1.ConditionFalse, "kubelet stopped"
	c.Machines[1].Status.NodeRef.Name, c.Machines[1].Status.Phase, c.Machines[1].Status.Conditions = "", "Provisioning", nil
	path := clusterpath.Of(c.Objects)
	i := slices.IndexFunc(path.Places[2].Segments, func(s clusterpath.Segment) bool { return s.ID == "nodepool-demo-a" })
	parts := path.Places[2].Segments[i].Parts
	if len(parts) != 2 || parts[0].State != clusterpath.Broken || parts[0].Message != "kubelet stopped" || parts[1].State != clusterpath.Waiting || parts[1].Message != "Provisioning" {
		t.Errorf("got %+v", parts)
	}
}

func TestLoadBalancerThatDoesNotExistHasItsWarning(t *testing.T) {
	c := consoletest.Private("clusters", "demo", now)
	c.Services[0].Status.LoadBalancer = corev1.LoadBalancerStatus{}
	c.Warnings["private-router"] = "no subnets"
	for s := range clusterpath.Of(c.Objects).Segments {
		if s.ID == "load-balancer" && (len(s.Parts) != 1 || s.Parts[0].State != clusterpath.Broken || s.Parts[0].Message != "no subnets") {
			t.Errorf("got %+v", s)
		}
	}
}
