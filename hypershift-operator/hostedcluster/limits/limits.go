// Package limits defines the share of the management cluster, and of scarce resources around it, that one control plane may take. The
// installer chooses it by flags.
//
//	quota              objects of its namespace             ResourceQuota
//	container memory   of containers that set none          LimitRange
//	memory factor      memory limits of its containers      annotation of the HostedControlPlane
//	priority classes   that an annotation may choose        ValidConfiguration
package limits

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Limits of one control plane.
type Limits struct {
	// Quota is the quota of its namespace; empty for no limit.
	Quota corev1.ResourceList
	// Container is the memory of a container that sets none, and the largest memory that a container may set.
	Container ContainerMemory
	// MemoryFactor is the memory limit of a container as a multiple of its request,
	// and MaxMemoryFactor the largest value from an annotation. 0 for no limits.
	MemoryFactor, MaxMemoryFactor int64
	// PriorityClasses may be chosen by annotations, in addition to the default ones.
	PriorityClasses []string
}

// ContainerMemory is for a LimitRange. A zero value is no limit.
type ContainerMemory struct{ Request, Limit, Max resource.Quantity }

// Defaults of the flags. A highly available control plane of OpenShift has some 75
// pods, each of which may have a replacement during a rollout.
const (
	defaultQuota     = "pods=250,services=60,services.loadbalancers=10,services.nodeports=40,persistentvolumeclaims=20"
	defaultContainer = "request=32Mi,limit=8Gi,max=64Gi"
	defaultFactor    = 64
	defaultMaxFactor = 256
)

// Default returns the limits of the flags' defaults.
func Default() Limits {
	l := Limits{MemoryFactor: defaultFactor, MaxMemoryFactor: defaultMaxFactor}
	l.Quota, _ = parseQuota(defaultQuota)             // a test reads it too
	l.Container, _ = parseContainer(defaultContainer) // a test reads it too
	return l
}

// Bind adds the flags, with their defaults.
func (l *Limits) Bind(fs *flag.FlagSet) {
	*l = Default()
	fs.Func("control-plane-quota", "what the namespace of one control plane may hold: resource=quantity,..., empty for no limit (default "+defaultQuota+")", func(text string) (err error) {
		l.Quota, err = parseQuota(text)
		return err
	})
	fs.Func("control-plane-container-memory", "memory of containers in the namespace of a control plane that set none, and what one may set at most: request=,limit=,max=, empty for no limit (default "+defaultContainer+")", func(text string) (err error) {
		l.Container, err = parseContainer(text)
		return err
	})
	fs.Int64Var(&l.MemoryFactor, "memory-limit-factor", l.MemoryFactor, "memory limit of the containers of a control plane, as a multiple of what they request; 0 for none")
	fs.Int64Var(&l.MaxMemoryFactor, "max-memory-limit-factor", l.MaxMemoryFactor, "what the annotation hypershift.openshift.io/memory-limit-factor of a HostedCluster may be at most")
	fs.Func("allowed-priority-classes", "PriorityClasses that annotations of HostedClusters may choose, beside the default ones: name,name", func(text string) (err error) {
		l.PriorityClasses, err = parseNames(text)
		return err
	})
}

// Check finds values that contradict each other.
func (l *Limits) Check() error {
	if l.MemoryFactor < 0 || l.MaxMemoryFactor < l.MemoryFactor {
		return errors.New("--memory-limit-factor must not be negative, and --max-memory-limit-factor not smaller")
	}
	return nil
}

// Factor reads the annotation by which a HostedCluster chooses another memory
// factor; empty for the default.
func (l *Limits) Factor(text string) (int64, error) {
	if text == "" {
		return l.MemoryFactor, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > l.MaxMemoryFactor {
		return l.MemoryFactor, fmt.Errorf("is %q: write a whole number from 1 to %d", text, l.MaxMemoryFactor)
	}
	return n, nil
}

func parseQuota(text string) (corev1.ResourceList, error) {
	quota := corev1.ResourceList{}
	err := pairs(text, func(name string, q resource.Quantity) error {
		if len(validation.IsQualifiedName(name)) > 0 {
			return fmt.Errorf("%q is not the name of a resource", name)
		}
		quota[corev1.ResourceName(name)] = q
		return nil
	})
	return quota, err
}

func parseContainer(text string) (ContainerMemory, error) {
	var m ContainerMemory
	err := pairs(text, func(name string, q resource.Quantity) error {
		switch name {
		case "request":
			m.Request = q
		case "limit":
			m.Limit = q
		case "max":
			m.Max = q
		default:
			return fmt.Errorf("%q is none of request, limit and max", name)
		}
		return nil
	})
	switch {
	case err != nil:
		return m, err
	case !m.Limit.IsZero() && m.Request.Cmp(m.Limit) > 0, !m.Max.IsZero() && m.Limit.Cmp(m.Max) > 0:
		return m, errors.New("request must not be more than limit, nor limit more than max")
	case m.Request.IsZero() && !(m.Limit.IsZero() && m.Max.IsZero()), m.Limit.IsZero() && !m.Max.IsZero():
		// Kubernetes would take the maximum for the limit, and the limit for the request.
		return m, errors.New("limit needs request, and max needs limit")
	}
	return m, nil
}

func parseNames(text string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
			return nil, fmt.Errorf("%q is not the name of a PriorityClass: %s", name, strings.Join(faults, ", "))
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// pairs reads name=quantity,name=quantity.
func pairs(text string, add func(string, resource.Quantity) error) error {
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		q, err := resource.ParseQuantity(value)
		if err == nil && q.Sign() < 0 {
			err = errors.New("it is negative")
		}
		if err != nil {
			return fmt.Errorf("%q: write it like name=10: %w", pair, err)
		}
		if err := add(cmp.Or(name, pair), q); err != nil {
			return err
		}
	}
	return nil
}
