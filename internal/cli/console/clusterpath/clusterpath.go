// Package clusterpath derives the path of a request through a hosted cluster: from etcd to the API server, to the load balancer, over
// PrivateLink, to the nodes in the customer's account. Each segment of the path has a state with its reason. Of is a pure function.
package clusterpath

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
)

// State is the state of a segment.
type State string

const (
	// OK: requests pass.
	OK State = "ok"
	// Waiting: the segment is being created or changed, and nothing is wrong.
	Waiting State = "waiting"
	// Broken: requests do not pass.
	Broken State = "broken"
	// Unknown: the state could not be determined.
	Unknown State = "unknown"
	// Absent: there is nothing to observe, such as the nodes of a cluster without NodePools.
	Absent State = "absent"
)

// Segment is one part of the path.
type Segment struct {
	// ID is unique in the path and stable.
	ID string
	// Title is a short name, and Detail identifies the object, such as a VPC endpoint's id.
	Title, Detail string
	State         State
	// Condition is the type of the condition that has the state; Reason and Message are its parts.
	Condition, Reason, Message string
	// Since is the last transition of the condition; zero: not known.
	Since time.Time
	// Docs is the path of the page, below the documentation's directory, that describes the segment.
	Docs string
	// Parts are the objects of the segment, such as machines.
	Parts []Part
}

// Part is an object of a segment.
type Part struct {
	Name, Detail string
	State        State
	Message      string
}

// Place is where segments are: the management account, PrivateLink or the internet, and the customer's account.
type Place struct {
	ID, Title string
	Segments  []Segment
}

// Path is the path in the order from etcd to the nodes. Others are segments that are not on it.
type Path struct {
	Places []Place
	Others []Segment
}

// Cut returns the id of the first segment that requests do not pass, or "".
func (p Path) Cut() string {
	for s := range p.Segments {
		if s.State == Broken || s.State == Waiting || s.State == Unknown {
			return s.ID
		}
	}
	return ""
}

// Segments iterates over the segments of the path from etcd to the nodes.
func (p Path) Segments(yield func(Segment) bool) {
	for _, place := range p.Places {
		for _, s := range place.Segments {
			if !yield(s) {
				return
			}
		}
	}
}

// pathComponents are the ControlPlaneComponents with a segment of their own.
var pathComponents = []string{"etcd", "kube-apiserver", "router"}

// Of returns the path of a hosted cluster.
func Of(o *clustertree.Objects) Path {
	b := builder{Objects: o, complete: rolledOut(o.HostedCluster)}
	management := Place{ID: "management", Title: "Management account"}
	management.Segments = append(management.Segments,
		b.condition("etcd", "etcd", "etcd.md", hyperv1.EtcdAvailable),
		b.condition("kube-apiserver", "API server", "api-server.md", hyperv1.KubeAPIServerAvailable))
	if s, exists := b.component("router", "Router", "architecture.md"); exists {
		management.Segments = append(management.Segments, s)
	}
	management.Segments = append(management.Segments, b.loadBalancers())

	between := Place{ID: "internet", Title: "Internet"}
	if o.HostedCluster.Spec.Platform.PrivateLink() {
		between = Place{ID: "privatelink", Title: "PrivateLink", Segments: []Segment{
			b.endpointServices("endpoint-service", "Endpoint service", hyperv1.AWSEndpointServiceAvailable, func(st *hyperv1.AWSEndpointServiceStatus) string {
				// The name begins with the region, and ends with the id.
				return st.EndpointServiceName[strings.LastIndex(st.EndpointServiceName, ".")+1:]
			}),
			b.endpointServices("endpoint", "VPC endpoint", hyperv1.AWSEndpointAvailable, func(st *hyperv1.AWSEndpointServiceStatus) string { return st.EndpointID }),
		}}
	} else {
		between.Segments = append(between.Segments, b.publicName())
	}

	customer := Place{ID: "customer", Title: "Customer account"}
	if o.HostedCluster.Spec.Platform.PrivateLink() {
		customer.Segments = append(customer.Segments, b.privateNames())
	}
	customer.Segments = append(customer.Segments,
		b.nodeCondition("node-connection", "Nodes to API server", hyperv1.ControlPlaneConnectionAvailable),
		b.nodeCondition("tunnel", "Tunnel to nodes", hyperv1.DataPlaneConnectionAvailable))
	for i := range o.NodePools {
		customer.Segments = append(customer.Segments, b.nodePool(&o.NodePools[i]))
	}
	if len(o.NodePools) == 0 {
		customer.Segments = append(customer.Segments, Segment{ID: "node-pools", Title: "Node pools", State: Absent, Message: "the cluster has no node pools", Docs: "node-pools.md"})
	}
	return Path{Places: []Place{management, between, customer}, Others: b.others()}
}

// builder derives segments. complete is true after the first release was rolled out: before, what is not available is being created.
type builder struct {
	*clustertree.Objects
	complete bool
}

func rolledOut(hc *hyperv1.HostedCluster) bool {
	return hc.Status.Version != nil && slices.ContainsFunc(hc.Status.Version.History, func(h configv1.UpdateHistory) bool { return h.State == configv1.CompletedUpdate })
}

// fill gives a segment the state of a condition.
func (b builder) fill(s Segment, kind string, c *metav1.Condition) Segment {
	if c == nil {
		s.State, s.Message = Unknown, "not reported yet"
		if !b.complete {
			s.State = Waiting
		}
		return s
	}
	s.Condition, s.Reason, s.Message, s.Since = c.Type, c.Reason, c.Message, c.LastTransitionTime.Time
	s.State = b.state(kind, c)
	return s
}

// pending are reasons of resources that AWS is creating.
var pending = []string{hyperv1.EndpointPendingReason, hyperv1.EndpointPendingAcceptanceReason, hyperv1.EndpointServicePendingReason}

func (b builder) state(kind string, c *metav1.Condition) State {
	normal := clustertree.IsNormal(kind, *c)
	switch {
	case normal && c.Status == metav1.ConditionUnknown:
		return Absent
	case normal:
		return OK
	case meta.IsStatusConditionTrue(b.HostedCluster.Status.Conditions, hyperv1.HostedClusterAsleep):
		return Absent // a control plane that sleeps has no pods
	case !b.HostedCluster.DeletionTimestamp.IsZero():
		return Waiting
	case c.Status == metav1.ConditionUnknown && b.complete:
		return Unknown
	case c.Status == metav1.ConditionUnknown, strings.HasPrefix(c.Reason, "Waiting"), slices.Contains(pending, c.Reason), !b.complete && !b.stalled():
		return Waiting
	}
	return Broken
}

func (b builder) stalled() bool {
	return meta.IsStatusConditionTrue(b.HostedCluster.Status.Conditions, hyperv1.HostedClusterStalled)
}

func (b builder) condition(id, title, docs, name string) Segment {
	return b.fill(Segment{ID: id, Title: title, Docs: docs}, "HostedCluster", meta.FindStatusCondition(b.HostedCluster.Status.Conditions, name))
}

// nodeCondition is a condition about nodes. A cluster that never had NodePools does not have it.
func (b builder) nodeCondition(id, title, name string) Segment {
	s := b.condition(id, title, "architecture.md", name)
	if s.Condition == "" && len(b.NodePools) == 0 {
		s.State, s.Message = Absent, "the cluster has no nodes"
	}
	return s
}

func (b builder) component(name, title, docs string) (Segment, bool) {
	for i := range b.Components {
		if c := &b.Components[i]; c.Name == name {
			s := b.fill(Segment{ID: name, Title: title, Docs: docs}, "ControlPlaneComponent", meta.FindStatusCondition(c.Status.Conditions, hyperv1.ControlPlaneComponentAvailable))
			return s, true
		}
	}
	return Segment{}, false
}

// loadBalancers has the state of InfrastructureReady, and one part for each Service.
func (b builder) loadBalancers() Segment {
	s := b.condition("load-balancer", "Load balancers", "troubleshooting.md", hyperv1.InfrastructureReady)
	if len(b.Services) == 1 {
		s.Title = "Load balancer"
	}
	for i := range b.Services {
		svc := &b.Services[i]
		part := Part{Name: svc.Name, State: OK}
		switch ingress := svc.Status.LoadBalancer.Ingress; {
		case svc.Spec.Type == corev1.ServiceTypeNodePort:
			part.Detail = "node port"
		case len(ingress) == 0:
			part.State, part.Message = Broken, cmp.Or(b.Warnings[svc.Name], "the load balancer does not exist")
			if !b.complete {
				part.State = Waiting
			}
		default:
			part.Detail = cmp.Or(ingress[0].Hostname, ingress[0].IP)
		}
		s.Parts = append(s.Parts, part)
	}
	exist := len(s.Parts) > 0 && !slices.ContainsFunc(s.Parts, func(p Part) bool { return p.State != OK })
	if s.State == Waiting && exist {
		// The condition also waits for the router's Routes.
		s.State, s.Reason, s.Message, s.Since = OK, "", "the load balancers exist", time.Time{}
	}
	if c := meta.FindStatusCondition(b.HostedCluster.Status.Conditions, hyperv1.KubeAPIServerReachable); s.State == OK && c != nil && c.Status == metav1.ConditionFalse {
		parts := s.Parts
		s = b.fill(Segment{ID: s.ID, Title: s.Title, Docs: s.Docs}, "HostedCluster", c)
		s.Parts = parts
	}
	return s
}

// endpointServices has the worst state of this condition of all AWSEndpointServices, and one part for each. A tenant may not read them: the
// HostedCluster has a summary.
func (b builder) endpointServices(id, title, condition string, detail func(*hyperv1.AWSEndpointServiceStatus) string) Segment {
	s := b.condition(id, title, "private-cluster.md", condition)
	for i := range b.EndpointServices {
		es := &b.EndpointServices[i]
		one := b.fill(Segment{}, "AWSEndpointService", meta.FindStatusCondition(es.Status.Conditions, condition))
		s.Parts = append(s.Parts, Part{Name: es.Name, Detail: detail(&es.Status), State: one.State, Message: one.Message})
		// The HostedCluster's copy of the condition follows a moment later.
		if one.State != OK && s.State == OK {
			s.State, s.Condition, s.Reason, s.Message, s.Since = one.State, one.Condition, one.Reason, one.Message, one.Since
		}
	}
	if len(s.Parts) == 1 {
		s.Detail, s.Parts = s.Parts[0].Detail, nil
	}
	return s
}

// privateNames are the records of the private hosted zone.
func (b builder) privateNames() Segment {
	s := b.condition("dns", "Private DNS", "private-cluster.md", hyperv1.AWSEndpointAvailable)
	for i := range b.EndpointServices {
		es := &b.EndpointServices[i]
		for _, name := range es.Status.DNSNames {
			s.Parts = append(s.Parts, Part{Name: name, Detail: es.Status.DNSZoneID, State: OK})
		}
	}
	// Records are created after the endpoint. While only the endpoint has a problem, the records remain.
	if len(s.Parts) > 0 && s.State != OK {
		s.State, s.Reason, s.Message, s.Since = OK, "", "the records exist", time.Time{}
	}
	return s
}

// publicName has the state of ExternalDNSReachable. Without host names in the spec, clients use the name of the load balancer.
func (b builder) publicName() Segment {
	c := meta.FindStatusCondition(b.HostedCluster.Status.Conditions, hyperv1.ExternalDNSReachable)
	endpoint := b.HostedCluster.Status.ControlPlaneEndpoint
	s := Segment{ID: "dns", Title: "Public DNS", Docs: "install.md", Detail: endpoint.Host}
	if c == nil || c.Status == metav1.ConditionUnknown {
		switch {
		case endpoint.Host != "":
			s.State, s.Message = OK, "clients use the load balancer's name"
		default:
			s.State, s.Message = Waiting, "the address is not known yet"
		}
		return s
	}
	return b.fill(s, "HostedCluster", c)
}

func (b builder) nodePool(np *hyperv1.NodePool) Segment {
	s := Segment{ID: "nodepool-" + np.Name, Title: "NodePool " + np.Name, Docs: "node-pools.md", Detail: fmt.Sprintf("%d nodes", np.Status.Replicas)}
	if np.Spec.Replicas != nil {
		s.Detail = fmt.Sprintf("%d of %d nodes", np.Status.Replicas, *np.Spec.Replicas)
	}
	s = b.fill(s, "NodePool", meta.FindStatusCondition(np.GetConditions(), hyperv1.NodePoolReadyCondition))
	never := np.Status.Version == ""
	if s.State == Broken && never && !meta.IsStatusConditionTrue(np.GetConditions(), hyperv1.NodePoolStalledCondition) {
		s.State = Waiting
	}
	if s.State == OK && np.Spec.Replicas != nil && *np.Spec.Replicas == 0 && np.Status.Replicas == 0 {
		s.State = Absent
	}
	for i := range b.Machines {
		if m := &b.Machines[i]; m.Labels[hyperv1.NodePoolLabel] == np.Name {
			s.Parts = append(s.Parts, b.machine(m))
		}
	}
	return s
}

func (b builder) machine(m *clusterv1.Machine) Part {
	part := Part{Name: cmp.Or(m.Status.NodeRef.Name, m.Name), Detail: m.Spec.ProviderID[strings.LastIndex(m.Spec.ProviderID, "/")+1:], State: Waiting, Message: m.Status.Phase}
	c := meta.FindStatusCondition(m.Status.Conditions, clusterv1.MachineReadyCondition)
	switch {
	case !m.DeletionTimestamp.IsZero():
		part.Message = "is being deleted"
	case c == nil:
	case c.Status == metav1.ConditionTrue:
		part.State, part.Message = OK, ""
	default:
		part.Message = c.Message
		// A machine whose node has joined is not being created any more.
		if m.Status.NodeRef.Name != "" {
			part.State = Broken
		}
	}
	for i := range b.AWSMachines {
		if a := &b.AWSMachines[i]; a.Name == m.Spec.InfrastructureRef.Name && a.Status.FailureMessage != nil && part.State != OK {
			part.State, part.Message = Broken, *a.Status.FailureMessage
		}
	}
	return part
}

// others are the components that are not on the path, and the public name of a cluster whose nodes use PrivateLink.
func (b builder) others() []Segment {
	s := Segment{ID: "components", Title: "Other components", State: OK, Docs: "hosted-cluster-resources.md"}
	for i := range b.Components {
		c := &b.Components[i]
		if slices.Contains(pathComponents, c.Name) {
			continue
		}
		one := b.fill(Segment{}, "ControlPlaneComponent", meta.FindStatusCondition(c.Status.Conditions, hyperv1.ControlPlaneComponentAvailable))
		s.Parts = append(s.Parts, Part{Name: c.Name, Detail: c.Status.Version, State: one.State, Message: one.Message})
		if one.State != OK && s.State == OK {
			s.State, s.Condition, s.Reason, s.Since = one.State, one.Condition, one.Reason, one.Since
			s.Message = c.Name + ": " + one.Message
		}
	}
	others := []Segment{}
	if len(s.Parts) > 0 {
		others = append(others, s)
	}
	if aws := b.HostedCluster.Spec.Platform.AWS; aws != nil && aws.EndpointAccess == hyperv1.PublicAndPrivate {
		public := b.publicName()
		public.ID = "public-dns"
		others = append(others, public)
	}
	return others
}
