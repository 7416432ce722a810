//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
	"github.com/hosted-control-planes/hypershift/test/lab/load"
)

// TestSharedRouter runs one cluster with the shared router, and one that moves to it and back with nodes and a user. No node may
// become NotReady, and no request of the user may fail. A program of one customer must not reach the other cluster through its endpoint.
func TestSharedRouter(t *testing.T) {
	begin(t)
	stays, moves := newHosted(t, "shared", on.Versions[0]), newHosted(t, "moves", on.Versions[0])
	pools := map[*hosted]*hyperv1.NodePool{}
	for _, h := range []*hosted{stays, moves} {
		h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
		h.hc.Annotations = map[string]string{hyperv1.PrivateRecordTTLAnnotation: "10s"}
		if h == stays {
			h.hc.Annotations[hyperv1.SharedRouterAnnotation] = "true"
		}
		h.create()
		pools[h] = h.nodePool(h.hc.Name, 2)
		h.must(h.management.Create(t.Context(), pools[h]))
	}
	for _, h := range []*hosted{stays, moves} {
		h.available()
		h.eventually("its machines are nodes", func(ctx context.Context) error { return h.poolReady(ctx, pools[h], 2) })
		h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
		h.waitForCondition(hyperv1.KubeAPIServerReachable, "True")
	}
	stays.must(stays.routedBy(t.Context(), sharedrouter.EndpointService))
	stays.startedOnce()
	runAll(t, stays.kubeconfig, onNodes(on.Images["busybox"]))

	moves.moveRouter("true", sharedrouter.EndpointService)
	runAll(t, moves.kubeconfig, onNodes(on.Images["busybox"]))
	moves.reachesOnlyItself(stays)
	stays.reachesOnlyItself(moves)
	moves.takesOver(stays)
	moves.moveRouter("false", names.PrivateRouter)

	// The last cluster takes the endpoint service along.
	stays.delete(t.Context())
	stays.eventually("the shared endpoint service is gone", func(ctx context.Context) error {
		services, err := ec2.NewFromConfig(on.AWS.Config(on.Management.Account)).DescribeVpcEndpointServiceConfigurations(ctx, &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
		if err != nil {
			return err
		}
		for _, s := range services.ServiceConfigurations {
			for _, tag := range s.Tags {
				if strings.HasPrefix(*tag.Value, sharedrouter.EndpointService) {
					return fmt.Errorf("%s is there", *s.ServiceId)
				}
			}
		}
		return nil
	})
}

// takesOver attempts, with the permissions of the cluster's control-plane-operator, to change the shared router and to get the connections
// of another cluster: it reports the endpoint of the other as its own.
func (h *hosted) takesOver(other *hosted) {
	h.t.Helper()
	for _, what := range [][]string{{"get", "configmaps"}, {"patch", "configmaps"}, {"patch", "services"}, {"patch", "deployments.apps"}, {"create", "pods"}, {"create", "pods/exec"}} {
		out, err := on.Kubectl(h.t.Context(), on.Kubeconfig, "", "auth", "can-i", what[0], what[1], "-n", hosting.Namespace, "--as="+h.asAccount(names.ControlPlaneOperator))
		if err == nil || !strings.HasPrefix(strings.TrimSpace(out), "no") {
			h.t.Errorf("a control-plane-operator may %v in the namespace of the shared router: %s", what, strings.TrimSpace(out))
		}
	}
	link := func(h *hosted) *hyperv1.AWSEndpointService {
		es := &hyperv1.AWSEndpointService{}
		h.must(h.management.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace(), Name: sharedrouter.EndpointService}, es))
		return es
	}
	mine, stolen := link(h).Status.EndpointID, link(other).Status.EndpointID
	config := rest.CopyConfig(h.on.Config)
	config.Impersonate.UserName = h.asAccount(names.ControlPlaneOperator)
	operator, err := client.New(config, client.Options{Scheme: h.management.Scheme()})
	h.must(err)
	report := func(endpoint string) {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"endpointID":%q}}`, endpoint))
		h.must(operator.Status().Patch(h.t.Context(), link(h), patch))
	}
	report(stolen)
	h.never("the endpoint of "+other.hc.Name+" leads to another cluster", func() bool {
		table := &corev1.ConfigMap{}
		h.must(h.management.Get(h.t.Context(), client.ObjectKey{Namespace: hosting.Namespace, Name: sharedrouter.Public}, table))
		return sharedrouter.Owners(table.Data)[stolen] != other.namespace()
	})
	report(mine)
	h.available()
	other.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
}

// routedBy returns an error unless the cluster has exactly the router that an AWSEndpointService names: its own, or the shared one.
func (h *hosted) routedBy(ctx context.Context, by string) error {
	services, pods := &corev1.ServiceList{}, &corev1.PodList{}
	links := &hyperv1.AWSEndpointServiceList{}
	for _, list := range []client.ObjectList{services, pods, links} {
		if err := h.management.List(ctx, list, client.InNamespace(h.namespace())); err != nil {
			return err
		}
	}
	if len(links.Items) != 1 || links.Items[0].Name != by {
		return fmt.Errorf("it has %d AWSEndpointServices, and not %s alone", len(links.Items), by)
	}
	balanced := slices.ContainsFunc(services.Items, func(s corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeLoadBalancer })
	routed := slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Labels["app"] == names.PrivateRouter })
	if own := by == names.PrivateRouter; balanced != own || routed != own {
		return fmt.Errorf("it has load balancers: %t, routers: %t", balanced, routed)
	}
	return nil
}

// moveRouter moves the cluster to another router, and checks that neither its nodes nor a user notice.
func (h *hosted) moveRouter(shared, by string) {
	h.t.Helper()
	available, lost := h.staysAvailable(), h.watchUserNodes()
	before := h.load()
	began := time.Now()
	h.change(func(hc *hyperv1.HostedCluster) { hc.Annotations[hyperv1.SharedRouterAnnotation] = shared })
	h.eventually("the new endpoint is available", func(ctx context.Context) error {
		es := &hyperv1.AWSEndpointService{}
		if err := h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: by}, es); err != nil {
			return err
		}
		for _, c := range es.Status.Conditions {
			if c.Type == hyperv1.AWSEndpointAvailable && c.Status == metav1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("%+v", es.Status.Conditions)
	})
	h.t.Logf("%s: the new endpoint is available after %.0f s", by, time.Since(began).Seconds())
	kubeconfig, host := h.byNewRouter(by)
	h.eventually("the public name leads to the new load balancer", func(ctx context.Context) error {
		route := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "route.openshift.io/v1", "kind": "Route"}}
		if err := h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: names.KubeAPIServer}, route); err != nil {
			return err
		}
		ingress, _, err := unstructured.NestedSlice(route.Object, "status", "ingress")
		if err == nil && (len(ingress) == 0 || ingress[0].(map[string]any)["routerCanonicalHostname"] != host) {
			err = fmt.Errorf("it leads to %v", ingress)
		}
		return err
	})
	h.t.Logf("%s: users are led to it after %.0f s", by, time.Since(began).Seconds())
	// From now on users resolve the name to the new load balancer. Those who have the address of the former one still use it for a while.
	after, err := load.Start(h.t.Context(), kubeconfig)
	h.must(err)
	h.t.Cleanup(after.Stop)
	time.Sleep(30 * time.Second)
	for name, l := range map[string]*load.Load{"former": before, "new": after} {
		if count := l.Count(); count.Failed > 0 {
			h.t.Errorf("by the %s load balancer: %s", name, count)
		} else {
			h.t.Logf("by the %s load balancer: %s", name, count)
		}
	}
	before.Stop()
	h.eventually("the former router is gone", func(ctx context.Context) error { return h.routedBy(ctx, by) })
	h.t.Logf("%s: the former router is gone after %.0f s", by, time.Since(began).Seconds())
	h.available()
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	if count := after.Count(); count.Failed > 0 {
		h.t.Errorf("by the new load balancer: %s", count)
	}
	after.Stop()
	if nodes := lost(); len(nodes) > 0 {
		h.t.Errorf("nodes %v were NotReady", nodes)
	}
	available()
}

// byNewRouter writes the user's kubeconfig with the address of the public load balancer of a router, and returns it with the name of that.
func (h *hosted) byNewRouter(by string) (kubeconfig, host string) {
	h.t.Helper()
	service := client.ObjectKey{Namespace: h.namespace(), Name: names.Router}
	if by == sharedrouter.EndpointService {
		service = client.ObjectKey{Namespace: hosting.Namespace, Name: sharedrouter.Public}
	}
	file := h.kubeconfig + "." + by
	h.eventually("Service "+service.Name+" has a load balancer", func(ctx context.Context) error {
		svc := &corev1.Service{}
		if err := h.management.Get(ctx, service, svc); err != nil {
			return err
		}
		status, err := on.Status(ctx)
		if err != nil {
			return err
		}
		for _, b := range status.Cloud.LoadBalancers {
			if len(svc.Status.LoadBalancer.Ingress) > 0 && b.Host == svc.Status.LoadBalancer.Ingress[0].Hostname {
				config, err := clientcmd.LoadFromFile(h.kubeconfig)
				if err != nil {
					return err
				}
				for _, c := range config.Clusters {
					c.Server = "https://" + net.JoinHostPort(b.Address.String(), "443")
				}
				host = b.Host
				return clientcmd.WriteToFile(*config, file)
			}
		}
		return fmt.Errorf("%+v", svc.Status)
	})
	return file, host
}

// watchUserNodes reads the nodes all the time, as the user, on whatever router there is. The returned function returns those that were not
// ready at any time.
func (h *hosted) watchUserNodes() (lost func() []string) {
	h.t.Helper()
	ctx, stop := context.WithCancel(h.t.Context())
	done := make(chan []string)
	go func() {
		var seen []string
		for ctx.Err() == nil {
			kubeconfig, err := h.on.AdminKubeconfig(ctx, key(h.hc))
			if err == nil {
				nodes, _ := h.nodes(ctx, kubeconfig) // the load reports errors
				for _, n := range nodes {
					if !isReady(n) && !slices.Contains(seen, n.Name) {
						seen = append(seen, n.Name)
					}
				}
			}
			pause(ctx, time.Second)
		}
		done <- seen
	}()
	return func() []string {
		stop()
		return <-done
	}
}

// reachesOnlyItself connects from a pod of the cluster to its endpoint, with names of another cluster.
func (h *hosted) reachesOnlyItself(other *hosted) {
	h.t.Helper()
	config, err := clientcmd.LoadFromFile(other.kubeconfig)
	h.must(err)
	trust := ""
	for _, c := range config.Clusters {
		if trust = string(c.CertificateAuthorityData); trust == "" {
			text, err := os.ReadFile(c.CertificateAuthority)
			h.must(err)
			trust = string(text)
		}
	}
	mine, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "get", "configmap", "kube-root-ca.crt", "-o", `jsonpath={.data.ca\.crt}`)
	h.must(err)
	private := func(h *hosted) string { return names.LocalAPI(h.hc.Name) }
	public := func(h *hosted) string { return hyperv1.PublishingOf(h.hc.Spec.Services, hyperv1.APIServer).Hostname() }
	manifest := fmt.Sprintf(intruder, indent(trust), indent(mine), on.Images["busybox"])
	if out, err := on.Kubectl(h.t.Context(), h.kubeconfig, manifest, "apply", "-f", "-"); err != nil {
		h.t.Fatalf("%s: %v", out, err)
	}
	if out, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "wait", "pod/intruder", "--for=condition=Ready", "--timeout=120s"); err != nil {
		h.t.Fatalf("%s: %v", out, err)
	}
	endpoint, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "exec", "intruder", "--", "sh", "-c", "nslookup "+private(h)+" | tail -n +4 | sed -n 's/^Address[^:]*: *//p' | head -n 1")
	h.must(err)
	if endpoint = strings.TrimSpace(endpoint); endpoint == "" {
		h.t.Fatalf("pods of %s do not resolve %s", h.hc.Name, private(h))
	}
	// answers asks the server behind a name, which must have a certificate of an authority.
	answers := func(name, authority string) (bool, string) {
		if out, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "exec", "intruder", "--", "sh", "-c", "echo "+endpoint+" "+name+" >>/etc/hosts"); err != nil {
			return false, out
		}
		// The shell of busybox would run its own wget.
		out, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "exec", "intruder", "--", "wget", "-q", "-t", "1", "-T", "5", "-O", "-", "--ca-certificate=/trust/"+authority, "https://"+name+"/version")
		return err == nil && strings.Contains(out, "gitVersion"), out
	}
	h.eventually("the endpoint answers for its own cluster", func(context.Context) error {
		if ok, out := answers(private(h), "mine"); !ok {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	for _, name := range []string{private(other), public(other)} {
		if reached, out := answers(name, "theirs"); reached {
			h.t.Errorf("%s reaches %s of %s through its endpoint: %s", h.hc.Name, name, other.hc.Name, out)
		}
	}
	h.must(func() error {
		_, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "delete", "pod/intruder", "configmap/trust", "--grace-period=1")
		return err
	}())
}

func indent(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// intruder is a pod with the certificate authorities of two clusters.
const intruder = `
apiVersion: v1
kind: ConfigMap
metadata: {name: trust}
data:
  theirs: |
    %s
  mine: |
    %s
---
apiVersion: v1
kind: Pod
metadata: {name: intruder}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: shell
    image: %s
    command: [sleep, "3600"]
    volumeMounts: [{name: trust, mountPath: /trust}]
  volumes: [{name: trust, configMap: {name: trust}}]
`
