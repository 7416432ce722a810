// Package apiservers lists the API servers of a control plane, one for each pod. Some facts are known only to the process, such as the
// keys that it has read from a file: a controller that depends on them connects to each pod. A Service would show one of them.
package apiservers

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// port is the port of the API server's pods.
const port = 6443

// A Server is the API server in one pod.
type Server struct {
	// Pod is the name of the pod, and Address its host and port.
	Pod, Address string
	// Name is the host name in the server's certificate.
	Name string
}

// List lists the pods of the API server, also those that are about to stop: they serve for some seconds. A pod without a node has
// mounted nothing yet. While a pod has no address, or there is none, the outcome is unknown, and is to be determined again after retry.
func List(ctx context.Context, reader client.Reader, namespace string, retry time.Duration) ([]Server, error) {
	pods, err := Pods(ctx, reader, namespace, names.KubeAPIServer)
	if err != nil {
		return nil, err
	}
	var servers []Server
	for _, pod := range pods {
		if pod.Status.PodIP == "" {
			return nil, reconcile.Unknown(retry, hyperv1.WaitingForAvailableReason, "pod %s has no address yet", pod.Name)
		}
		servers = append(servers, Server{
			Pod: pod.Name, Address: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port)), Name: names.KubeAPIServer + "." + namespace + ".svc",
		})
	}
	if len(servers) == 0 {
		return nil, reconcile.Unknown(retry, hyperv1.WaitingForAvailableReason, "no pod of %s runs", names.KubeAPIServer)
	}
	return servers, nil
}

// Pods lists the pods of a component that run, or are about to, in the order of their names.
func Pods(ctx context.Context, reader client.Reader, namespace, component string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app": component}); err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", component, err)
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.Spec.NodeName == ""
	})
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}
