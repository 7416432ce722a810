package clusterdump

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// Resource is a resource that an API server lists.
type Resource struct {
	schema.GroupVersionResource
	Namespaced bool
}

// name returns the name of the directory.
func (r Resource) name() string { return r.GroupResource().String() }

// Source is an API server.
type Source interface {
	// Resources returns the resources that it serves. With an error, the result contains the resources that could be read.
	Resources(context.Context) ([]Resource, error)
	// List returns the objects of a namespace, or all if it is empty.
	List(ctx context.Context, r Resource, namespace string) ([]unstructured.Unstructured, error)
	// Logs returns the last lines of a container.
	Logs(ctx context.Context, namespace, pod, container string, previous bool) ([]byte, error)
}

type server struct {
	discovery discovery.DiscoveryInterface
	objects   dynamic.Interface
	logs      kubernetes.Interface
}

// NewSource returns the API server of a configuration.
func NewSource(config *rest.Config) (Source, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	logs, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &server{discovery: logs.Discovery(), objects: objects, logs: logs}, nil
}

// unwanted are resources without objects of their own, or with the objects of another resource.
var unwanted = []schema.GroupResource{
	{Resource: "componentstatuses"}, {Resource: "bindings"}, {Group: "events.k8s.io", Resource: "events"},
	{Group: "metrics.k8s.io", Resource: "nodes"}, {Group: "metrics.k8s.io", Resource: "pods"},
}

func (s *server) Resources(context.Context) ([]Resource, error) {
	lists, err := s.discovery.ServerPreferredResources()
	var all []Resource
	for _, list := range lists {
		gv, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		if parseErr != nil {
			continue
		}
		for _, r := range list.APIResources {
			one := Resource{gv.WithResource(r.Name), r.Namespaced}
			if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") && !slices.Contains(unwanted, one.GroupResource()) {
				all = append(all, one)
			}
		}
	}
	return all, err
}

// page is the number of objects of one request.
const page = 500

func (s *server) List(ctx context.Context, r Resource, namespace string) (all []unstructured.Unstructured, _ error) {
	options := metav1.ListOptions{Limit: page}
	for {
		list, err := s.objects.Resource(r.GroupVersionResource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return all, err
		}
		all = append(all, list.Items...)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}

// tail is how many lines of a log are read, and maxLog how many bytes.
const (
	tail   = 20_000
	maxLog = 16 << 20
)

func (s *server) Logs(ctx context.Context, namespace, pod, container string, previous bool) ([]byte, error) {
	stream, err := s.logs.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container: container, Previous: previous, Timestamps: true, TailLines: ptr.To[int64](tail),
	}).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return io.ReadAll(io.LimitReader(stream, maxLog))
}
