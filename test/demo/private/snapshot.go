package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// The places of things in the output.
const (
	inKubernetes = "kubernetes"
	inManagement = "management account"
	inCustomer   = "customer account"
)

// thing is one object or AWS resource.
type thing struct {
	place, kind, name string
	state             string // one conditionText, or empty
	dying             bool
	conditions        map[string]condition
	object            *unstructured.Unstructured // nil in AWS
}

type condition struct{ status, message string }

// snapshot are all things at one moment. The key is unique and constant during the life of the thing.
type snapshot map[string]thing

// keys are sorted by place, kind and name.
func (p snapshot) keys() []string {
	return slices.SortedFunc(maps.Keys(p), func(a, b string) int {
		x, y := p[a], p[b]
		return cmp.Or(cmp.Compare(x.place, y.place), cmp.Compare(x.kind, y.kind), cmp.Compare(x.name, y.name), cmp.Compare(a, b))
	})
}

// of returns the things of a kind, by name.
func (p snapshot) of(place, kind string) []thing {
	var found []thing
	for _, key := range p.keys() {
		if t := p[key]; t.place == place && t.kind == kind {
			found = append(found, t)
		}
	}
	return found
}

// watched is a kind of object that the demo prints.
type watched struct {
	resource schema.GroupVersionResource
	kind     string
	// shown selects objects; nil selects all.
	shown func(unstructured.Unstructured) bool
	// state returns a word for the state of an object; nil for kinds with conditions.
	state func(unstructured.Unstructured) string
}

var cast = []watched{
	{resource: hypershift("hostedclusters"), kind: "HostedCluster"},
	{resource: hypershift("nodepools"), kind: "NodePool", state: nodeCount},
	{resource: hypershift("hostedcontrolplanes"), kind: "HostedControlPlane"},
	{resource: hypershift("awsendpointservices"), kind: "AWSEndpointService", state: subnets},
	{resource: schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machines"}, kind: "Machine", state: phase},
	{resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, kind: "Namespace", shown: ofControlPlane},
	{resource: schema.GroupVersionResource{Version: "v1", Resource: "services"}, kind: "Service", shown: isLoadBalancer, state: hostname},
	{resource: schema.GroupVersionResource{Group: "route.openshift.io", Version: "v1", Resource: "routes"}, kind: "Route", state: host},
	{resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, kind: "Deployment", state: ready},
}

func hypershift(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "hypershift.openshift.io", Version: "v1beta1", Resource: resource}
}

func ofControlPlane(o unstructured.Unstructured) bool {
	_, ok := o.GetLabels()["hypershift.openshift.io/hosted-control-plane"]
	return ok
}

func isLoadBalancer(o unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "type")
	return kind == "LoadBalancer"
}

const noAddress = "no address yet"

func hostname(o unstructured.Unstructured) string {
	ingress, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress")
	if len(ingress) == 0 {
		return noAddress
	}
	first, _ := ingress[0].(map[string]any)
	name, _ := first["hostname"].(string)
	return name
}

func host(o unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "host")
	return name
}

func subnets(o unstructured.Unstructured) string {
	ids, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "subnetIDs")
	return fmt.Sprintf("%d subnets", len(ids))
}

// nodeCount is the number of available nodes of a pool.
func nodeCount(o unstructured.Unstructured) string {
	have, _, _ := unstructured.NestedInt64(o.Object, "status", "replicas")
	want, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return fmt.Sprintf("%d of %d nodes", have, want)
}

func phase(o unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return cmp.Or(phase, "new")
}

func ready(o unstructured.Unstructured) string {
	available, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
	if available == 0 {
		return "starting"
	}
	return "running"
}

// camera takes snapshots.
type camera struct {
	objects  dynamic.Interface
	aws      *awsemulator.Emulator
	accounts map[string]string // place -> account id
	own      map[string]bool   // objects that existed before, such as the operator itself
}

func (c *camera) take(ctx context.Context) (snapshot, error) {
	p := snapshot{}
	for _, w := range cast {
		list, err := c.objects.Resource(w.resource).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", w.resource.Resource, err)
		}
		for _, o := range list.Items {
			if w.shown == nil || w.shown(o) {
				p[string(o.GetUID())] = object(w, o)
			}
		}
	}
	for place, account := range c.accounts {
		resources, err := c.aws.Resources(ctx, account)
		if err != nil {
			return nil, err
		}
		for _, r := range resources {
			if kind, ok := awsKinds[r.Kind]; ok {
				p[account+"/"+r.Kind+"/"+r.ID] = thing{place: place, kind: kind.noun, name: kind.name(r), state: r.State}
			}
		}
	}
	return p, nil
}

// awsKinds are the kinds of AWS resources in the output: those that the operators create, without those that AWS creates by
// itself.
var awsKinds = map[string]struct {
	noun string
	name func(awsemulator.Resource) string
}{
	"load-balancer":    {"load balancer", byName},
	"endpoint-service": {"endpoint service", byID},
	"vpc-endpoint":     {"VPC endpoint", byID},
	"security-group":   {"security group", byName},
	"record":           {"DNS record", byName},
	"instance":         {"EC2 instance", byID},
	"object":           {"S3 object", byID},
}

func byID(r awsemulator.Resource) string   { return r.ID }
func byName(r awsemulator.Resource) string { return strings.TrimSuffix(r.Name, ".") }

func object(w watched, o unstructured.Unstructured) thing {
	t := thing{place: inKubernetes, kind: w.kind, name: o.GetName(), conditions: conditions(o), object: &o, dying: o.GetDeletionTimestamp() != nil}
	if ns := o.GetNamespace(); ns != "" {
		t.name = ns + "/" + t.name
	}
	if w.state != nil {
		t.state = w.state(o)
	}
	return t
}

func conditions(o unstructured.Unstructured) map[string]condition {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	found := map[string]condition{}
	for _, item := range list {
		c, ok := item.(map[string]any)
		if !ok {
			continue
		}
		kind, _ := c["type"].(string)
		status, _ := c["status"].(string)
		message, _ := c["message"].(string)
		found[kind] = condition{status, message}
	}
	return found
}
