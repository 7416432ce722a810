package clustertree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Node is an object, or a resource of AWS that the status of an object names.
type Node struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Detail identifies the object elsewhere, such as an instance.
	Detail string `json:"detail,omitempty"`
	// State summarizes the object: one of its conditions, or a summary of its status. nil: it has no state.
	State      *Condition  `json:"state,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	Children   []*Node     `json:"children,omitempty"`
}

// Condition is a condition with the judgement whether its status is normal.
type Condition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason,omitempty"`
	Message string                 `json:"message,omitempty"`
	Since   *metav1.Time           `json:"since,omitempty"`
	Normal  bool                   `json:"normal"`
}

// Titles of kinds that are not of Kubernetes.
const (
	endpointServiceKind = "VPCEndpointService"
	endpointKind        = "VPCEndpoint"
	recordKind          = "DNSRecord"
)

// Build makes the tree.
func Build(o *Objects) *Node {
	root := newNode("HostedCluster", &o.HostedCluster.ObjectMeta, o.HostedCluster.Status.Conditions)
	root.summarize(hyperv1.HostedClusterReady, hyperv1.HostedClusterAvailable)
	root.Detail = versionOf(o.HostedCluster)
	if text := o.HostedCluster.Unreadable(); text != "" {
		root.State = problem("Unreadable", text)
	}
	root.add(o.controlPlane())
	for i := range o.NodePools {
		root.add(o.nodePool(&o.NodePools[i]))
	}
	pools := map[string]bool{}
	for i := range o.NodePools {
		pools[o.NodePools[i].Name] = true
	}
	for i := range o.Machines {
		// The NodePool was deleted without its finalizer, or its list could not be read.
		if m := &o.Machines[i]; !pools[m.Labels[hyperv1.NodePoolLabel]] {
			root.add(o.machine(m))
		}
	}
	root.add(o.unreadable()...)
	return root
}

// unreadable returns a node for each kind that could not be listed. Users with permissions in the namespace of the HostedCluster only get
// one node for the namespace of the control plane.
func (o *Objects) unreadable() []*Node {
	var nodes []*Node
	var forbidden []string
	for _, kind := range slices.Sorted(maps.Keys(o.Unreadable)) {
		err := o.Unreadable[kind]
		if apierrors.IsForbidden(err) && kind != "NodePool" {
			forbidden = append(forbidden, kind)
			continue
		}
		nodes = append(nodes, &Node{Kind: kind, Name: "?", State: &Condition{
			Status: metav1.ConditionUnknown, Reason: "CannotBeListed", Message: err.Error(),
		}})
	}
	if len(forbidden) > 0 {
		nodes = append(nodes, &Node{Kind: "Namespace", Name: names.ControlPlaneNamespace(o.HostedCluster.Namespace, o.HostedCluster.Name), State: &Condition{
			Status: metav1.ConditionUnknown, Reason: "Forbidden",
			Message: "your permissions do not include the control plane (" + strings.Join(forbidden, ", ") + "): the conditions of the HostedCluster and of its NodePools summarize it",
		}})
	}
	return nodes
}

func versionOf(hc *hyperv1.HostedCluster) string {
	if hc.Status.Version == nil {
		return ""
	}
	for _, h := range hc.Status.Version.History {
		if h.State == configv1.CompletedUpdate {
			return h.Version
		}
	}
	return ""
}

func newNode(kind string, m *metav1.ObjectMeta, conditions []metav1.Condition) *Node {
	n := &Node{Kind: kind, Namespace: m.Namespace, Name: m.Name}
	for _, c := range conditions {
		since := c.LastTransitionTime
		n.Conditions = append(n.Conditions, Condition{
			Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, Since: &since, Normal: IsNormal(kind, c),
		})
	}
	slices.SortStableFunc(n.Conditions, func(a, b Condition) int { return cmp.Compare(a.Type, b.Type) })
	if m.DeletionTimestamp != nil {
		n.State = &Condition{Status: metav1.ConditionFalse, Reason: "Deleting", Since: m.DeletionTimestamp}
	}
	return n
}

func (n *Node) condition(name string) *Condition {
	for i := range n.Conditions {
		if n.Conditions[i].Type == name {
			return &n.Conditions[i]
		}
	}
	return nil
}

// summarize makes the first of these conditions that the object has its state. An object that is being deleted gets only the
// message of the condition.
func (n *Node) summarize(types ...string) {
	for _, t := range types {
		c := n.condition(t)
		switch {
		case c == nil:
		case n.State != nil:
			n.State.Message = c.Message
			return
		default:
			state := *c
			n.State = &state
			return
		}
	}
	if n.State == nil {
		n.State = &Condition{Status: metav1.ConditionUnknown, Reason: hyperv1.StatusUnknownReason, Message: "the object has no conditions yet"}
	}
}

func (n *Node) add(children ...*Node) {
	for _, c := range children {
		if c != nil {
			n.Children = append(n.Children, c)
		}
	}
}

func problem(reason, message string) *Condition {
	return &Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func (o *Objects) controlPlane() *Node {
	hcp := o.HostedControlPlane
	if hcp == nil {
		if o.Unreadable["HostedControlPlane"] != nil {
			return nil
		}
		return &Node{
			Kind: "HostedControlPlane", Namespace: names.ControlPlaneNamespace(o.HostedCluster.Namespace, o.HostedCluster.Name), Name: o.HostedCluster.Name,
			State: problem("NotFound", "the object does not exist"),
		}
	}
	n := newNode("HostedControlPlane", &hcp.ObjectMeta, hcp.Status.Conditions)
	n.summarize(hyperv1.HostedControlPlaneAvailable)
	// The HostedCluster contains a copy of most conditions. They are shown once, there.
	copied := map[string]bool{}
	for _, c := range o.HostedCluster.Status.Conditions {
		copied[c.Type] = true
	}
	n.Conditions = slices.DeleteFunc(n.Conditions, func(c Condition) bool { return copied[c.Type] })
	for i := range o.Components {
		c := &o.Components[i]
		child := newNode("ControlPlaneComponent", &c.ObjectMeta, c.Status.Conditions)
		child.Detail = c.Status.Version
		child.summarize(hyperv1.ControlPlaneComponentAvailable)
		n.add(child)
	}
	endpoints := map[string]*hyperv1.AWSEndpointService{}
	for i := range o.EndpointServices {
		endpoints[o.EndpointServices[i].Name] = &o.EndpointServices[i]
	}
	for i := range o.Services {
		s := &o.Services[i]
		child := o.service(s)
		if es := endpoints[s.Name]; es != nil {
			child.add(endpointService(es))
			delete(endpoints, s.Name)
		}
		n.add(child)
	}
	for _, name := range slices.Sorted(maps.Keys(endpoints)) {
		n.add(endpointService(endpoints[name]))
	}
	return n
}

func (o *Objects) service(s *corev1.Service) *Node {
	n := newNode("Service", &s.ObjectMeta, s.Status.Conditions)
	if n.State != nil {
		return n
	}
	if s.Spec.Type == corev1.ServiceTypeNodePort {
		var ports []string
		for _, p := range s.Spec.Ports {
			ports = append(ports, fmt.Sprint(p.NodePort))
		}
		n.Detail = "node port " + strings.Join(ports, ", ")
		n.State = &Condition{Status: metav1.ConditionTrue, Normal: true}
		return n
	}
	if len(s.Status.LoadBalancer.Ingress) == 0 {
		n.State = problem("NoLoadBalancer", cmp.Or(o.Warnings[s.Name], "the cloud controller manager of the management cluster has not created the load balancer"))
		n.State.Since = &s.CreationTimestamp
		return n
	}
	first := s.Status.LoadBalancer.Ingress[0]
	n.Detail = cmp.Or(first.Hostname, first.IP)
	n.State = &Condition{Status: metav1.ConditionTrue, Normal: true}
	return n
}

func endpointService(es *hyperv1.AWSEndpointService) *Node {
	n := newNode("AWSEndpointService", &es.ObjectMeta, es.Status.Conditions)
	if n.State == nil {
		n.State = worst(n.condition(hyperv1.AWSEndpointServiceAvailable), n.condition(hyperv1.AWSEndpointAvailable))
	}
	resource := func(kind, name, condition string) *Node {
		if name == "" {
			return nil
		}
		child := &Node{Kind: kind, Name: name}
		if c := n.condition(condition); c != nil {
			child.State = &Condition{Status: c.Status, Since: c.Since, Normal: c.Normal}
		}
		return child
	}
	// The name begins with the region, and ends with the id: com.amazonaws.vpce.us-east-1.vpce-svc-0123456789abcdef0. It would be the widest row.
	id := es.Status.EndpointServiceName[strings.LastIndex(es.Status.EndpointServiceName, ".")+1:]
	service := resource(endpointServiceKind, id, hyperv1.AWSEndpointServiceAvailable)
	endpoint := resource(endpointKind, es.Status.EndpointID, hyperv1.AWSEndpointAvailable)
	n.add(service, endpoint)
	for _, record := range es.Status.DNSNames {
		child := resource(recordKind, record, hyperv1.AWSEndpointAvailable)
		child.Detail = es.Status.DNSZoneID
		n.add(child)
	}
	return n
}

// worst returns the first condition that is not normal, else the last one.
func worst(conditions ...*Condition) *Condition {
	state := &Condition{Status: metav1.ConditionUnknown, Reason: hyperv1.StatusUnknownReason, Message: "the object has no conditions yet"}
	for _, c := range conditions {
		if c == nil {
			continue
		}
		one := *c
		if !one.Normal {
			return &one
		}
		state = &one
	}
	return state
}

func (o *Objects) nodePool(np *hyperv1.NodePool) *Node {
	n := newNode("NodePool", &np.ObjectMeta, np.GetConditions())
	n.summarize(hyperv1.NodePoolReadyCondition)
	// The message of this condition reports the progress of a deletion.
	if c := n.condition(hyperv1.NodePoolDeletingCondition); c != nil && np.DeletionTimestamp != nil {
		n.State.Message = c.Message
	}
	n.Detail = fmt.Sprintf("%d nodes", np.Status.Replicas)
	if np.Spec.Replicas != nil {
		n.Detail = fmt.Sprintf("%d of %d nodes", np.Status.Replicas, *np.Spec.Replicas)
	}
	if np.Status.Version != "" {
		n.Detail += ", " + np.Status.Version
	}
	for i := range o.Machines {
		if m := &o.Machines[i]; m.Labels[hyperv1.NodePoolLabel] == np.Name {
			n.add(o.machine(m))
		}
	}
	return n
}

func (o *Objects) machine(m *clusterv1.Machine) *Node {
	n := newNode("Machine", &m.ObjectMeta, m.Status.Conditions)
	n.summarize(clusterv1.MachineReadyCondition)
	var details []string
	i := slices.IndexFunc(o.AWSMachines, func(a infrav1.AWSMachine) bool { return a.Name == m.Spec.InfrastructureRef.Name })
	if id := m.Spec.ProviderID; id != "" {
		instance := id[strings.LastIndex(id, "/")+1:]
		if i >= 0 && o.AWSMachines[i].Status.InstanceState != nil {
			instance += " " + string(*o.AWSMachines[i].Status.InstanceState)
		}
		details = append(details, instance)
	}
	if node := m.Status.NodeRef.Name; node != "" {
		details = append(details, "node "+node)
	} else if m.Status.Phase != "" {
		details = append(details, m.Status.Phase)
	}
	n.Detail = strings.Join(details, ", ")
	if i >= 0 && n.State.Status != metav1.ConditionTrue && o.AWSMachines[i].Status.FailureMessage != nil {
		n.State.Message = *o.AWSMachines[i].Status.FailureMessage
	}
	return n
}
