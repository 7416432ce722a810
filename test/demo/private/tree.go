package main

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// node is a line of the tree.
type node struct {
	text     string
	children []node
}

// draw prints a node and its children.
func (n node) draw(out io.Writer) { n.drawBelow(out, "", "") }

func (n node) drawBelow(out io.Writer, first, rest string) {
	fmt.Fprintln(out, first+n.text)
	for i, child := range n.children {
		if i == len(n.children)-1 {
			child.drawBelow(out, rest+"└─ ", rest+"   ")
		} else {
			child.drawBelow(out, rest+"├─ ", rest+"│  ")
		}
	}
}

// tree shows the relations of all things: from the HostedCluster to the AWS resources of both sides.
func tree(p snapshot) node {
	root := node{text: "nothing"}
	for _, hc := range p.of(inKubernetes, "HostedCluster") {
		root = node{text: "HostedCluster " + hc.name + conditionStatus(hc)}
		for _, np := range p.of(inKubernetes, "NodePool") {
			root.children = append(root.children, pool(p, np))
		}
		for _, hcp := range p.of(inKubernetes, "HostedControlPlane") {
			root.children = append(root.children, controlPlane(p, hcp))
		}
	}
	return root
}

// pool is a NodePool and its machines, from Kubernetes through AWS to the hosted cluster.
func pool(p snapshot, np thing) node {
	n := node{text: "NodePool " + np.name + ", " + np.state + conditionStatus(np)}
	for _, m := range p.of(inKubernetes, "Machine") {
		if m.object.GetLabels()["hypershift.openshift.io/nodePool"] != np.object.GetName() {
			continue
		}
		field := func(path ...string) string {
			value, _, _ := unstructured.NestedString(m.object.Object, path...)
			return value
		}
		provider := field("spec", "providerID")
		n.children = append(n.children, node{text: fmt.Sprintf("Machine %s, %s → EC2 instance %s (%s) → node %s",
			m.object.GetName(), m.state, provider[strings.LastIndex(provider, "/")+1:], inCustomer, field("status", "nodeRef", "name"))})
	}
	return n
}

func controlPlane(p snapshot, hcp thing) node {
	n := node{text: "HostedControlPlane " + hcp.name + conditionStatus(hcp), children: []node{{text: standIn}}}
	ns := hcp.object.GetNamespace() + "/"
	for _, service := range p.of(inKubernetes, "Service") {
		if strings.HasPrefix(service.name, ns) {
			n.children = append(n.children, loadBalancer(p, service))
		}
	}
	for _, route := range p.of(inKubernetes, "Route") {
		if strings.HasPrefix(route.name, ns) {
			n.children = append(n.children, node{text: "Route " + strings.TrimPrefix(route.name, ns) + " → " + route.state})
		}
	}
	for _, d := range p.of(inKubernetes, "Deployment") {
		if strings.HasPrefix(d.name, ns) {
			n.children = append(n.children, node{text: "Deployment " + strings.TrimPrefix(d.name, ns) + ", " + d.state})
		}
	}
	return n
}

// standIn names the simulated parts; everything else is real except AWS.
const standIn = "API server of the hosted cluster, and the kubelets of its machines: stand-ins of the test environment"

// loadBalancer is a Service and, for a private one, the PrivateLink connection through it.
func loadBalancer(p snapshot, service thing) node {
	n := node{text: "Service " + service.object.GetName() + " → " + service.state}
	for _, es := range p.of(inKubernetes, "AWSEndpointService") {
		if es.name == service.name {
			n.children = append(n.children, endpointService(es))
		}
	}
	return n
}

func endpointService(es thing) node {
	n := node{text: "AWSEndpointService " + es.object.GetName() + ", " + es.state + conditionStatus(es)}
	add := func(place, what string, value string) {
		if value != "" {
			n.children = append(n.children, node{text: fmt.Sprintf("%s %s (%s)", what, value, place)})
		}
	}
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(es.object.Object, "status", name)
		return value
	}
	add(inManagement, "endpoint service", field("endpointServiceName"))
	add(inCustomer, "VPC endpoint", field("endpointID"))
	add(inCustomer, "security group", field("securityGroupID"))
	names, _, _ := unstructured.NestedStringSlice(es.object.Object, "status", "dnsNames")
	add(inCustomer, "DNS records", strings.Join(names, ", "))
	return n
}

// conditionStatus returns whether each printed condition of a thing is True.
func conditionStatus(t thing) string {
	var all []string
	for _, text := range conditionTexts[t.kind] {
		c, found := t.conditions[text.condition]
		if !found { // not part of this access mode
			continue
		}
		sign := "✗"
		if c.status == "True" {
			sign = string(good)
		}
		all = append(all, sign+" "+text.condition)
	}
	if len(all) == 0 {
		return ""
	}
	return "  " + strings.Join(all, " ")
}
