//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// metadataServices are the addresses from which pods and instances of AWS get credentials: EC2, ECS and EKS Pod Identity.
var metadataServices = []string{"169.254.169.254", "169.254.170.2", "169.254.170.23"}

// prober is a pod from which an attacker opens connections.
type prober struct {
	h         *hosted
	namespace string
	name      string
}

// prober starts a pod with a shell in a namespace, with labels. It is never ready, so that no Service routes to it.
func (h *hosted) prober(namespace, name string, labels map[string]string) prober {
	h.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  ptr.To(false),
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "shell", Image: on.Images["busybox"], Command: []string{"sleep", "3600"},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"false"}}}, PeriodSeconds: 60},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
	h.must(h.management.Create(h.t.Context(), pod))
	h.t.Cleanup(func() {
		h.must(client.IgnoreNotFound(h.management.Delete(context.WithoutCancel(h.t.Context()), pod, client.GracePeriodSeconds(0))))
	})
	h.eventually("pod "+name+" runs", func(ctx context.Context) error {
		if err := h.management.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("its status is %+v", pod.Status)
		}
		return nil
	})
	return prober{h: h, namespace: namespace, name: name}
}

// likePod starts a prober in the control plane namespace that network policies cannot distinguish from the pods of a
// component.
func (h *hosted) likePod(app string) prober {
	h.t.Helper()
	labels := map[string]string{}
	for key, value := range h.podOf(app).Labels {
		if key != "pod-template-hash" && !strings.HasPrefix(key, "apps.kubernetes.io/") && !strings.HasPrefix(key, "statefulset.kubernetes.io/") &&
			key != "controller-revision-hash" {
			labels[key] = value
		}
	}
	return h.prober(h.namespace(), "like-"+app, labels)
}

// request sends one HTTP request and returns the response within 4 seconds. TLS servers written in Go answer plain HTTP
// with an error: any response proves that the port was reached.
func (p prober) request(method, address string, port int32, path string) string {
	p.h.t.Helper()
	script := fmt.Sprintf(`(printf '%s %s HTTP/1.0\r\nX-aws-ec2-metadata-token-ttl-seconds: 60\r\n\r\n'; sleep 2) | nc -w 4 %s %d 2>/dev/null; true`, method, path, address, port)
	out, err := on.Kubectl(p.h.t.Context(), on.Kubeconfig, "", "exec", "-n", p.namespace, p.name, "--", "sh", "-c", script)
	p.h.must(err)
	return strings.TrimSpace(out)
}

// closed fails the test if a port answers.
func (p prober) closed(what, address string, port int32) {
	p.h.t.Helper()
	if answer := p.request("GET", address, port, "/"); answer != "" {
		p.h.t.Errorf("%s/%s reaches %s (%s): %.80q", p.namespace, p.name, what, net.JoinHostPort(address, fmt.Sprint(port)), answer)
	}
}

// open fails the test if a port does not answer. It proves that an attempt on a closed port fails for no other reason.
func (p prober) open(what, address string, port int32) {
	p.h.t.Helper()
	if !p.h.within(attemptTime, func() bool { return p.request("GET", address, port, "/") != "" }) {
		p.h.t.Errorf("%s/%s does not reach %s (%s)", p.namespace, p.name, what, net.JoinHostPort(address, fmt.Sprint(port)))
	}
}

// routers are the pods that forward the connections of users and nodes.
func (h *hosted) routers() []corev1.Pod {
	h.t.Helper()
	pods, err := h.pods(h.t.Context())
	h.must(err)
	var found []corev1.Pod
	for _, p := range pods {
		if p.Labels["app"] == names.PrivateRouter || p.Labels["app"] == names.Router {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		h.t.Fatal("there is no router")
	}
	return found
}

// attackDrain requests /drain on every port that routers have used for it, from another namespace and from the API
// server's pods: by an audit webhook, a tenant can make the API server send requests to any address.
func (h *hosted) attackDrain() {
	outsider, inside := h.prober(metav1.NamespaceDefault, "outsider", nil), h.likePod(names.KubeAPIServer)
	var attempts sync.WaitGroup
	for _, router := range h.routers() {
		for _, from := range []prober{outsider, inside} {
			for _, port := range []int32{9445, 9444} {
				for _, method := range []string{"GET", "POST"} {
					attempts.Go(func() {
						if answer := from.request(method, router.Status.PodIP, port, "/drain"); strings.Contains(answer, " 200 ") {
							h.t.Errorf("%s answers %s %s:%d/drain: %.60q", router.Name, method, from.name, port, answer)
						}
					})
				}
			}
		}
	}
	attempts.Wait()
	if err := h.reachable(); err != nil {
		h.t.Errorf("users cannot reach the API server: %v", err)
		for _, router := range h.routers() {
			h.must(h.management.Delete(h.t.Context(), &router))
		}
		h.eventually("new routers serve", func(context.Context) error { return h.reachable() })
	}
}

// attackEtcd opens the ports of etcd from another namespace, and from a control plane pod that does not use etcd.
func (h *hosted) attackEtcd() {
	address := h.podOf(names.Etcd).Status.PodIP
	var attempts sync.WaitGroup
	for _, from := range []prober{h.prober(metav1.NamespaceDefault, "outsider", nil), h.likePod(names.KubeControllerManager)} {
		for _, port := range []int32{2379, 2380, 2381} {
			attempts.Go(func() { from.closed("etcd", address, port) })
		}
	}
	outsider := h.prober("kube-public", "outsider", map[string]string{"app": names.KubeAPIServer})
	attempts.Go(func() { outsider.closed("etcd", address, 2379) })
	attempts.Wait()
}

// attackMetadata requests credentials of the node that runs the pods. In this lab, a pod that no policy selects gets a
// response.
func (h *hosted) attackMetadata() {
	free := h.prober(metav1.NamespaceDefault, "free", nil)
	if free.request("PUT", metadataServices[0], 80, "/latest/api/token") == "" {
		h.t.Log("this lab has no metadata service, so that a refused request looks like any other")
	}
	var attempts sync.WaitGroup
	for _, app := range []string{names.KubeAPIServer, names.Etcd, names.ControlPlaneOperator, names.ClusterAPI, names.PrivateRouter} {
		from := h.likePod(app)
		for _, address := range metadataServices {
			attempts.Go(func() {
				if answer := from.request("PUT", address, 80, "/latest/api/token"); answer != "" {
					h.t.Errorf("%s gets %.80q from %s", app, answer, address)
				}
			})
		}
	}
	attempts.Wait()
}

// attackManagementAPI opens the management API server, by its Service and by its own addresses, from pods that do not use
// it.
func (h *hosted) attackManagementAPI() {
	service := &corev1.Service{}
	h.must(h.management.Get(h.t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}, service))
	slices := &discoveryv1.EndpointSliceList{}
	h.must(h.management.List(h.t.Context(), slices, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"}))
	user := h.likePod(names.ControlPlaneOperator)
	user.open("the management API server by its Service", service.Spec.ClusterIP, 443)
	var attempts sync.WaitGroup
	for _, app := range []string{names.KubeAPIServer, names.Etcd, names.PrivateRouter} {
		from := h.likePod(app)
		attempts.Go(func() { from.closed("the management API server by its Service", service.Spec.ClusterIP, 443) })
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				attempts.Go(func() {
					from.closed("the management API server by its address", endpoint.Addresses[0], *slice.Ports[0].Port)
				})
			}
		}
	}
	attempts.Wait()
}

// attackMetrics reads the metrics of the hypershift-operator, which contain the names of all tenants.
func (h *hosted) attackMetrics() {
	pods := &corev1.PodList{}
	h.must(h.management.List(h.t.Context(), pods, client.InNamespace(hosting.Namespace)))
	inside, outsider := h.likePod(names.KubeAPIServer), h.prober(metav1.NamespaceDefault, "outsider", nil)
	var attempts sync.WaitGroup
	for _, pod := range pods.Items {
		for _, from := range []prober{inside, outsider} {
			for _, port := range []int32{8080, 8443} {
				attempts.Go(func() {
					if answer := from.request("GET", pod.Status.PodIP, port, "/metrics"); strings.Contains(answer, "# HELP") {
						h.t.Errorf("%s reads the metrics of %s at port %d", from.name, pod.Name, port)
					}
				})
			}
		}
	}
	attempts.Wait()
	cpo := h.podOf(names.ControlPlaneOperator).Status.PodIP
	if answer := outsider.request("GET", cpo, 8080, "/metrics"); answer != "" {
		h.t.Errorf("a pod of another namespace reaches the metrics of the control-plane-operator: %.60q", answer)
	}
}
