package clusterdump

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/cli/redact"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Dump holds the collected objects.
type Dump struct {
	Tree       *clustertree.Objects
	Management Source
	// OperatorNamespace is the hypershift-operator's namespace.
	OperatorNamespace string
	// Hosted is the API server of the hosted cluster, or nil.
	Hosted Source
	// HostedProblem is why Hosted is nil.
	HostedProblem error
	// AWS are files about the resources in AWS, by path. They are redacted as everything else.
	AWS map[string][]byte
	// AWSProblem is why AWS has not all of them.
	AWSProblem error
	Now        time.Time
	// Progress gets a line for each part.
	Progress func(string)
}

// parallel is how many requests are made at the same time.
const parallel = 8

// requestTimeout is of one list or log. The logs of a hosted cluster pass the tunnel to a node, which may not answer.
const requestTimeout = 30 * time.Second

type collector struct {
	Dump
	sink     Sink
	redactor *redact.Redactor
	tokens   chan struct{}

	mu       sync.Mutex
	problems []string
	// forbidden are the kinds that the user may not list, by the place.
	forbidden map[string][]string
	failed    error // of the sink
}

// Missing counts the parts that a dump lacks. The file problems.txt lists them.
type Missing struct {
	// Unreadable parts failed to be read. Forbidden are the places, such as namespaces, that the user's permissions do not include.
	Unreadable, Forbidden int
}

// Run writes the dump.
func Run(ctx context.Context, d Dump, sink Sink) (Missing, error) {
	hc := d.Tree.HostedCluster
	plane := names.ControlPlaneNamespace(hc.Namespace, hc.Name)
	public := []string{hc.Name, hc.Namespace, plane, hc.Spec.InfraID, d.OperatorNamespace}
	if hc.Spec.Platform.AWS != nil {
		public = append(public, hc.Spec.Platform.AWS.Region)
	}
	c := &collector{Dump: d, sink: sink, redactor: redact.New(public...), tokens: make(chan struct{}, parallel), forbidden: map[string][]string{}}

	c.Progress("reading the Secrets, to remove their values from everything else")
	for _, namespace := range []string{hc.Namespace, plane, d.OperatorNamespace} {
		c.learn(ctx, d.Management, namespace)
	}
	if d.Hosted != nil {
		c.learn(ctx, d.Hosted, "kube-system")
	}
	c.redactor.Prepare()

	c.tree()
	c.Progress("namespace " + plane)
	c.namespace(ctx, d.Management, "management", plane, nil)
	c.Progress("namespace " + hc.Namespace)
	c.namespace(ctx, d.Management, "management", hc.Namespace, c.belongs)
	c.Progress("the operator and the nodes of the management cluster")
	c.operator(ctx)
	c.clusterScoped(ctx, d.Management, "management", managementResources)
	if d.Hosted != nil {
		c.Progress("the hosted cluster")
		c.clusterScoped(ctx, d.Hosted, "hosted", hostedResources)
		c.namespace(ctx, d.Hosted, "hosted", "kube-system", nil)
	} else if d.HostedProblem != nil {
		c.problem("hosted", d.HostedProblem)
	}
	for name, text := range d.AWS {
		c.write(path.Join("aws", name), c.redactor.Text(text))
	}
	if d.AWSProblem != nil {
		c.problem("aws", d.AWSProblem)
	}
	if err := ctx.Err(); err != nil {
		return Missing{}, fmt.Errorf("reading the objects of the dump: %w", err)
	}
	missing := Missing{Unreadable: len(c.problems), Forbidden: len(c.forbidden)}
	for place, parts := range c.forbidden {
		c.problems = append(c.problems, fmt.Sprintf("%s: your permissions do not include %d kinds of objects: %s", place, len(parts), strings.Join(parts, ", ")))
	}
	slices.Sort(c.problems)
	c.write("problems.txt", c.redactor.Text([]byte(strings.Join(append(c.problems, ""), "\n"))))
	return missing, c.failed
}

// problem records a read that failed. The dump goes on.
func (c *collector) problem(what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, what+": "+strings.Join(strings.Fields(err.Error()), " "))
}

func (c *collector) write(name string, text []byte) {
	if err := c.sink.Write(name, text); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.failed = errors.Join(c.failed, err)
	}
}

// each runs work at the same time, within the limit.
func (c *collector) each(work []func()) {
	var group sync.WaitGroup
	for _, f := range work {
		c.tokens <- struct{}{}
		group.Go(func() {
			defer func() { <-c.tokens }()
			f()
		})
	}
	group.Wait()
}

var secrets = Resource{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, true}

// learn makes the values of Secrets known to the redactor.
func (c *collector) learn(ctx context.Context, source Source, namespace string) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := source.List(ctx, secrets, namespace)
	if err != nil {
		c.problem("Secrets of "+namespace+" (without them, secrets are recognized by their form only)", err)
	}
	for i := range list {
		data, _, _ := unstructured.NestedStringMap(list[i].Object, "data") // another type has no values
		for _, encoded := range data {
			if value, err := base64.StdEncoding.DecodeString(encoded); err == nil {
				c.redactor.Add(value)
			}
		}
	}
}

func (c *collector) tree() {
	root := clustertree.Build(c.Tree)
	var short, long bytes.Buffer
	err := errors.Join(clustertree.Write(&short, root, clustertree.Options{Now: c.Now}), clustertree.Write(&long, root, clustertree.Options{Now: c.Now, All: true}))
	if err != nil {
		c.problem("tree", err)
	}
	c.write("problems-of-the-cluster.txt", c.redactor.Text(short.Bytes()))
	c.write("conditions.txt", c.redactor.Text(long.Bytes()))
}

// belongs keeps the objects of the user's namespace that are about this cluster. Other clusters may be in the same namespace.
func (c *collector) belongs(r Resource, u *unstructured.Unstructured) bool {
	hc := c.Tree.HostedCluster
	pools := map[string]bool{}
	for i := range c.Tree.NodePools {
		pools[c.Tree.NodePools[i].Name] = true
	}
	switch r.Resource {
	case "hostedclusters":
		return u.GetName() == hc.Name
	case "nodepools":
		return pools[u.GetName()]
	case "secrets", "configmaps":
		// Objects that the cluster refers to have names that the user chose. Most begin with the name of the cluster or of a pool.
		return u.GetName() == hc.Name || strings.HasPrefix(u.GetName(), hc.Name+"-")
	case "events":
		kind, _, _ := unstructured.NestedString(u.Object, "involvedObject", "kind")
		name, _, _ := unstructured.NestedString(u.Object, "involvedObject", "name")
		return kind == "HostedCluster" && name == hc.Name || kind == "NodePool" && pools[name]
	}
	return false
}

// namespace writes the objects of a namespace that keep accepts, or all, and the logs of their pods.
func (c *collector) namespace(ctx context.Context, source Source, root, namespace string, keep func(Resource, *unstructured.Unstructured) bool) {
	resources, err := source.Resources(ctx)
	if err != nil {
		c.problem("the list of all resources of the cluster ("+root+")", err)
	}
	var work []func()
	for _, r := range resources {
		if !r.Namespaced {
			continue
		}
		work = append(work, func() {
			list := c.list(ctx, source, r, namespace)
			for i := range list {
				if keep == nil || keep(r, &list[i]) {
					c.object(path.Join(root, "namespaces", fileName(namespace), r.name(), fileName(list[i].GetName())+".yaml"), &list[i])
				}
			}
		})
	}
	c.each(work)
	if keep == nil {
		c.logs(ctx, source, root, namespace, nil)
	}
}

var pods = Resource{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, true}

func (c *collector) list(ctx context.Context, source Source, r Resource, namespace string) []unstructured.Unstructured {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := source.List(ctx, r, namespace)
	switch {
	case apierrors.IsForbidden(err):
		place := "namespace " + namespace
		if namespace == "" {
			place = "objects without a namespace"
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forbidden[place] = append(c.forbidden[place], r.name())
		slices.Sort(c.forbidden[place])
	case err != nil:
		c.problem(strings.TrimSpace(r.name()+" "+namespace), err)
	}
	return list
}

func (c *collector) object(name string, u *unstructured.Unstructured) {
	c.redactor.Object(u)
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		c.problem(name, err)
		return
	}
	// The names of fields may be values of Secrets, too.
	c.write(name, c.redactor.Text(text))
}

// logs writes the logs of the pods of a namespace. filter, if there is one, keeps the lines about the cluster.
func (c *collector) logs(ctx context.Context, source Source, root, namespace string, filter func([]byte) []byte) {
	var work []func()
	for _, u := range c.list(ctx, source, pods, namespace) {
		pod := &corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, pod); err != nil {
			c.problem("pod "+u.GetName(), err)
			continue
		}
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			for _, previous := range []bool{false, true} {
				if previous && status.RestartCount == 0 || !previous && status.State.Waiting != nil && status.RestartCount == 0 {
					continue // it does not exist
				}
				name := status.Name
				if previous {
					name += ".previous"
				}
				work = append(work, func() {
					ctx, cancel := context.WithTimeout(ctx, requestTimeout)
					defer cancel()
					text, err := source.Logs(ctx, namespace, pod.Name, status.Name, previous)
					if err != nil {
						c.problem(fmt.Sprintf("log %s of pod %s/%s", name, namespace, pod.Name), err)
					}
					if filter != nil {
						text = filter(text)
					}
					if len(text) > 0 {
						c.write(path.Join(root, "namespaces", fileName(namespace), "logs", fileName(pod.Name), fileName(name)+".log"), c.redactor.Text(text))
					}
				})
			}
		}
	}
	c.each(work)
}

// operator writes the Deployment, the pods, the events and the logs of the operator. Its logs are about all clusters: only the lines
// about this one are kept.
func (c *collector) operator(ctx context.Context) {
	hc := c.Tree.HostedCluster
	words := []string{hc.Namespace + "/" + hc.Name, names.ControlPlaneNamespace(hc.Namespace, hc.Name), `"name":"` + hc.Name + `"`, "panic", hc.Spec.InfraID}
	for _, r := range []Resource{
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, true}, pods,
		{schema.GroupVersionResource{Version: "v1", Resource: "events"}, true},
		{schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, true},
	} {
		list := c.list(ctx, c.Management, r, c.OperatorNamespace)
		for i := range list {
			c.object(path.Join("management", "namespaces", fileName(c.OperatorNamespace), r.name(), fileName(list[i].GetName())+".yaml"), &list[i])
		}
	}
	c.logs(ctx, c.Management, "management", c.OperatorNamespace, func(log []byte) []byte { return redact.Lines(log, words...) })
}

// Resources without a namespace that are dumped: in the management cluster the dependencies of control planes, in the hosted cluster
// the dependencies of nodes and pods.
var (
	managementResources = []string{"nodes", "storageclasses.storage.k8s.io", "priorityclasses.scheduling.k8s.io"}
	hostedResources     = []string{
		"nodes", "namespaces", "certificatesigningrequests.certificates.k8s.io", "persistentvolumes", "storageclasses.storage.k8s.io",
		"csidrivers.storage.k8s.io", "csinodes.storage.k8s.io", "volumeattachments.storage.k8s.io", "apiservices.apiregistration.k8s.io",
		"mutatingwebhookconfigurations.admissionregistration.k8s.io", "validatingwebhookconfigurations.admissionregistration.k8s.io",
		"nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws",
	}
)

func (c *collector) clusterScoped(ctx context.Context, source Source, root string, wanted []string) {
	resources, _ := source.Resources(ctx) // the error is reported with the namespaces
	var work []func()
	for _, r := range resources {
		if r.Namespaced || !slices.Contains(wanted, r.name()) {
			continue
		}
		work = append(work, func() {
			list := c.list(ctx, source, r, "")
			for i := range list {
				c.object(path.Join(root, "cluster", r.name(), fileName(list[i].GetName())+".yaml"), &list[i])
			}
		})
	}
	c.each(work)
}
