// Package sizes gives control planes the requests of CPU and memory that an installation has for their number of nodes. A control plane grows as
// soon as its cluster has the nodes of the next size, and shrinks only when it has a fifth less than its own size begins with: a change replaces
// pods, and the number of nodes of an autoscaler goes up and down.
package sizes

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// A Size is what control planes get from a number of nodes on.
type Size struct {
	Nodes int32 `json:"nodes"`
	// Requests are the values of the annotations resource-request-override.hypershift.openshift.io, by <workload>.<container>.
	Requests map[string]string `json:"requests"`
}

// Sizes are in the order of their nodes.
type Sizes []Size

// Parse reads a list in JSON.
func Parse(text string) (Sizes, error) {
	var all Sizes
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("a list of sizes in JSON is expected: %w", err)
	}
	slices.SortFunc(all, func(a, b Size) int { return cmp.Compare(a.Nodes, b.Nodes) })
	for i, s := range all {
		if s.Nodes < 0 {
			return nil, fmt.Errorf("a size begins with %d nodes: choose 0 or more", s.Nodes)
		}
		if i > 0 && s.Nodes == all[i-1].Nodes {
			return nil, fmt.Errorf("two sizes begin with %d nodes", s.Nodes)
		}
		for _, container := range slices.Sorted(maps.Keys(s.Requests)) {
			if err := check(container, s.Requests[container]); err != nil {
				return nil, fmt.Errorf("the size from %d nodes on: %w", s.Nodes, err)
			}
		}
	}
	return all, nil
}

func check(container, requests string) error {
	if workload, name, _ := strings.Cut(container, "."); workload == "" || name == "" {
		return fmt.Errorf("%q names no container: write <workload>.<container>, such as kube-apiserver.kube-apiserver", container)
	}
	if requests == "" {
		return fmt.Errorf("%s has no requests", container)
	}
	if _, err := hyperv1.ParseResourceRequests(requests); err != nil {
		return errors.Join(fmt.Errorf("%s has %q: write requests such as cpu=500m,memory=2Gi", container, requests), err)
	}
	return nil
}

// Fit returns an error for a request above the largest memory that the installation allows for a container; 0 for no bound.
func (s Sizes) Fit(most resource.Quantity) error {
	for _, size := range s {
		for _, container := range slices.Sorted(maps.Keys(size.Requests)) {
			requests, _ := hyperv1.ParseResourceRequests(size.Requests[container]) // Parse has checked it
			if memory := requests[corev1.ResourceMemory]; !most.IsZero() && memory.Cmp(most) > 0 {
				return fmt.Errorf("the size from %d nodes on gives %s %s of memory, and a container can have %s", size.Nodes, container, memory.String(), most.String())
			}
		}
	}
	return nil
}

// Annotate adds the annotations of the size for a cluster with that many nodes, or of the size that its control plane has and keeps. Annotations
// of the user have precedence.
func (s Sizes) Annotate(annotations map[string]string, current *hyperv1.HostedControlPlane) {
	i := s.index(current)
	if i < 0 {
		return
	}
	annotations[hyperv1.ControlPlaneSizeAnnotation] = strconv.Itoa(int(s[i].Nodes))
	for container, requests := range s[i].Requests {
		key := hyperv1.ResourceRequestOverrideAnnotationPrefix + "/" + container
		if _, exists := annotations[key]; !exists {
			annotations[key] = requests
		}
	}
}

// index returns the index of the size, or -1 if there is none for so few nodes.
func (s Sizes) index(current *hyperv1.HostedControlPlane) int {
	nodes, now := int32(0), -1
	if current != nil {
		if current.Status.NodeCount != nil {
			nodes = *current.Status.NodeCount
		}
		now = slices.IndexFunc(s, func(size Size) bool {
			return strconv.Itoa(int(size.Nodes)) == current.Annotations[hyperv1.ControlPlaneSizeAnnotation]
		})
		if now >= 0 && current.Status.NodeCount == nil {
			return now // the number is not known at present
		}
	}
	wanted := -1
	for i, size := range s {
		if nodes >= size.Nodes {
			wanted = i
		}
	}
	if wanted < now && int64(nodes)*5 >= int64(s[now].Nodes)*4 {
		return now
	}
	return wanted
}
