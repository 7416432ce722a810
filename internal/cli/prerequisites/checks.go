package prerequisites

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/accountcheck"
)

// Status is the result of a check.
type Status string

const (
	Passed Status = "passed"
	// Failed: something does not work, or will not.
	Failed Status = "failed"
	// Warning: it works, with a restriction.
	Warning Status = "warning"
	// Unknown: it could not be checked.
	Unknown Status = "unknown"
)

// Result is the result of a check.
type Result struct {
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	// Action is the remedy; empty if the check passed.
	Action string `json:"action,omitempty"`
}

func passed(format string, args ...any) Result {
	return Result{Status: Passed, Message: fmt.Sprintf(format, args...)}
}

func failed(action, format string, args ...any) Result {
	return Result{Status: Failed, Message: fmt.Sprintf(format, args...), Action: action}
}

func warning(action, format string, args ...any) Result {
	return Result{Status: Warning, Message: fmt.Sprintf(format, args...), Action: action}
}

func unknown(action, format string, args ...any) Result {
	return Result{Status: Unknown, Message: fmt.Sprintf(format, args...), Action: action}
}

// check is a check that uses these facts. If one of them could not be read, it is not run.
type check struct {
	name string
	uses []string
	run  func(*Facts) Result
	// clusters: the check is about the clusters that exist, and not made for a new one.
	clusters bool
}

var checks = []check{
	{"Kubernetes version", []string{"ServerVersion"}, (*Facts).kubernetes, false},
	{"CRDs", []string{"ServedKinds"}, (*Facts).crds, false},
	{"Operator", []string{"Operator", "Lease"}, (*Facts).operator, false},
	{"Operator version", []string{"Operator"}, (*Facts).operatorVersion, false},
	{"Nodes", []string{"Nodes"}, (*Facts).nodes, false},
	{"Storage class", []string{"StorageClasses"}, (*Facts).storage, false},
	{"Load balancers", []string{"Services", "Deployments", "DaemonSets"}, (*Facts).balancers, false},
	{"NetworkPolicies", []string{"HostedClusters"}, (*Facts).networkPolicies, true},
	{"Images", []string{"Pods"}, (*Facts).images, true},
	{zonesCheck, nil, (*Facts).zones, false},
	{"Private clusters", []string{"Operator"}, (*Facts).privateLink, false},
	{"OIDC bucket", []string{"Operator"}, (*Facts).oidcBucket, false},
	{"OIDC documents", []string{"HostedClusters"}, (*Facts).oidcDocuments, true},
	{"Trust policies", []string{"HostedClusters"}, (*Facts).trust, true},
	{"Hosted clusters", []string{"HostedClusters"}, (*Facts).clusters, true},
}

// Run runs all checks. For a new cluster, problems of the installation are warnings: the user may not see all of it, and may not change it.
func Run(f *Facts) (results []Result) {
	for _, c := range checks {
		if c.clusters && f.creating() {
			continue
		}
		r := c.run
		for _, fact := range c.uses {
			if err := f.Errors[fact]; err != nil {
				r = func(*Facts) Result { return unknown("check the connection and your permissions", "%v", err) }
				break
			}
		}
		result := r(f)
		result.Check = c.name
		if f.creating() && result.Status == Failed && c.name != zonesCheck {
			result.Status = Warning
		}
		results = append(results, result)
	}
	if f.AWS != nil {
		results = append(results, f.AWS.run()...)
	}
	return results
}

// minKubernetes is kubeVersion of the chart.
var minKubernetes = version.MustParseGeneric("1.31.0")

func (f *Facts) kubernetes() Result {
	v, err := version.ParseGeneric(f.ServerVersion)
	if err != nil {
		return unknown("check the version of the management cluster", "version %q cannot be read", f.ServerVersion)
	}
	if v.LessThan(minKubernetes) {
		return failed("upgrade the management cluster", "%s is older than %s", f.ServerVersion, minKubernetes)
	}
	return passed("%s", f.ServerVersion)
}

func (f *Facts) crds() Result {
	var missing []string
	by := map[string]bool{}
	count := 0
	for _, r := range required {
		for _, kind := range r.kinds {
			count++
			if !f.ServedKinds[kind+"."+r.group] {
				missing = append(missing, kind+" ("+r.group+")")
				by[r.installedBy] = true
			}
		}
	}
	if len(missing) > 0 {
		return failed("docs/install.md has what installs them: "+strings.Join(slices.Sorted(maps.Keys(by)), ", "), "not served: %s", strings.Join(missing, ", "))
	}
	return passed("all %d kinds are served", count)
}

// leaseGrace is how old the lease of a running operator may be.
const leaseGrace = time.Minute

func (f *Facts) operator() Result {
	const install = "docs/install.md describes the installation; --operator-namespace selects another namespace"
	d := f.Operator
	if d == nil {
		return failed(install, "namespace %s has no Deployment hypershift-operator", f.Namespace)
	}
	if d.Status.AvailableReplicas == 0 {
		return failed(fmt.Sprintf("kubectl describe pod -n %s -l app=hypershift-operator", f.Namespace), "no replica is available")
	}
	// A single replica runs without leader election.
	if f.Lease != nil && f.Lease.Spec.RenewTime != nil && f.argument("leader-elect") != "false" && f.Now.Sub(f.Lease.Spec.RenewTime.Time) > leaseGrace {
		return failed(fmt.Sprintf("kubectl logs -n %s -l app=hypershift-operator", f.Namespace), "no replica is the leader since %s", f.Lease.Spec.RenewTime.UTC().Format(time.RFC3339))
	}
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	if d.Status.AvailableReplicas < wanted {
		return warning(fmt.Sprintf("kubectl describe pod -n %s -l app=hypershift-operator", f.Namespace), "%d of %d replicas are available", d.Status.AvailableReplicas, wanted)
	}
	return passed("%d replicas are available", d.Status.AvailableReplicas)
}

// VersionOf returns the version of the operator, which the chart writes into a label.
func (f *Facts) VersionOf() string {
	if f.Operator == nil {
		return ""
	}
	return f.Operator.Labels["app.kubernetes.io/version"]
}

func (f *Facts) operatorVersion() Result {
	operator := f.VersionOf()
	switch {
	case operator == "":
		return unknown("install the operator with the chart", "the Deployment of the operator has no version label")
	case operator == f.ClientVersion:
		return passed("%s", operator)
	}
	// A build without a version cannot be compared.
	if _, err := version.ParseSemantic(f.ClientVersion); err != nil || strings.HasPrefix(f.ClientVersion, "v0.0.0-") {
		return passed("%s; this command line has no release version", operator)
	}
	return warning("use the command line of the same version, or upgrade the operator", "the operator is %s, this command line is %s", operator, f.ClientVersion)
}

const zoneLabel = corev1.LabelTopologyZone

func (f *Facts) nodes() Result {
	zones, ready := map[string]bool{}, 0
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Spec.Unschedulable || !nodeReady(n) {
			continue
		}
		ready++
		zones[n.Labels[zoneLabel]] = true
	}
	delete(zones, "")
	switch {
	case ready == 0:
		return failed("add nodes to the management cluster", "no node of %d is ready and schedulable", len(f.Nodes))
	case len(zones) < 3:
		return warning("add nodes in three zones, or use controllerAvailabilityPolicy SingleReplica", "%d nodes are ready, in %d zones: highly available control planes spread over three", ready, len(zones))
	}
	return passed("%d nodes are ready, in %d zones", ready, len(zones))
}

func nodeReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

const defaultClass = "storageclass.kubernetes.io/is-default-class"

func (f *Facts) storage() Result {
	var defaults []string
	for _, c := range f.StorageClasses {
		if c.Annotations[defaultClass] == "true" {
			defaults = append(defaults, c.Name+" ("+c.Provisioner+")")
		}
	}
	switch {
	case len(f.StorageClasses) == 0:
		return failed("install a CSI driver and a storage class: etcd needs a volume", "there is no storage class")
	case len(defaults) == 0:
		return warning("set the annotation "+defaultClass+", or spec.etcd.managed.storage of each HostedCluster", "none of %d storage classes is the default", len(f.StorageClasses))
	}
	slices.Sort(defaults)
	return passed("default: %s", strings.Join(defaults, ", "))
}

// controllers are the names of Deployments and DaemonSets that create load balancers.
var controllers = []string{"aws-load-balancer-controller", "aws-cloud-controller-manager", "cloud-controller-manager"}

// balancerGrace is how long a new load balancer may take.
const balancerGrace = 5 * time.Minute

func (f *Facts) balancers() Result {
	const see = "docs/install.md, section Load balancers"
	served, waiting := 0, ""
	for i := range f.Services {
		s := &f.Services[i]
		if len(s.Status.LoadBalancer.Ingress) > 0 {
			served++
			continue
		}
		if waiting == "" && f.Now.Sub(s.CreationTimestamp.Time) > balancerGrace {
			key := client.ObjectKeyFromObject(s)
			waiting = fmt.Sprintf("Service %s has no load balancer: %s", key, cmp.Or(f.Warnings[key], "no event has the reason"))
		}
	}
	if waiting != "" {
		return failed("see the events of the Service, and "+see, "%s", waiting)
	}
	if served > 0 {
		return passed("%d Services have one", served)
	}
	var found []string
	for i := range f.Deployments {
		if slices.Contains(controllers, f.Deployments[i].Name) && f.Deployments[i].Status.AvailableReplicas > 0 {
			found = append(found, f.Deployments[i].Name)
		}
	}
	for i := range f.DaemonSets {
		if slices.Contains(controllers, f.DaemonSets[i].Name) && f.DaemonSets[i].Status.NumberAvailable > 0 {
			found = append(found, f.DaemonSets[i].Name)
		}
	}
	if len(found) > 0 {
		slices.Sort(found)
		return passed("%s runs; no Service has tried it yet", strings.Join(found, ", "))
	}
	return unknown("create a Service of type LoadBalancer, or install a controller: "+see, "no Service has a load balancer, and no known controller runs in the cluster; it may run elsewhere")
}

func (f *Facts) networkPolicies() Result {
	var untried *metav1.Condition
	for i := range f.HostedClusters {
		c := meta.FindStatusCondition(f.HostedClusters[i].Status.Conditions, hyperv1.NetworkPoliciesEnforced)
		switch {
		case c == nil:
		case c.Status == metav1.ConditionTrue:
			return passed("they are enforced")
		case c.Status == metav1.ConditionFalse:
			return failed("make the network of the management cluster enforce them: docs/isolation.md", "%s", c.Message)
		default:
			untried = c
		}
	}
	if untried != nil {
		return unknown("run the command again when a control plane runs", "%s", untried.Message)
	}
	return unknown("run the command again when the first HostedCluster exists", "the operator checks them with connections to a control plane, and there is none yet")
}

func (f *Facts) images() Result {
	waiting := map[string]string{}
	for i := range f.Pods {
		p := &f.Pods[i]
		for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if w := s.State.Waiting; w != nil && (w.Reason == "ImagePullBackOff" || w.Reason == "ErrImagePull" || w.Reason == "InvalidImageName") {
				waiting[s.Image] = cmp.Or(waiting[s.Image], p.Namespace+"/"+p.Name+": "+w.Message)
			}
		}
	}
	if len(waiting) > 0 {
		var lines []string
		for _, image := range slices.Sorted(maps.Keys(waiting)) {
			lines = append(lines, image+" (pod "+waiting[image]+")")
		}
		return failed("compare the images with the registry, the pull secret, and the value registryOverrides of the chart", "cannot be pulled: %s", strings.Join(lines, "; "))
	}
	return passed("no pod of %d waits for an image", len(f.Pods))
}

func (f *Facts) privateLink() Result {
	if f.argument("private-platform") == "AWS" {
		return passed("aws.privateLink is set")
	}
	return warning("set aws.privateLink of the chart for private clusters", "HostedClusters on AWS can be Public only")
}

func (f *Facts) oidcBucket() Result {
	bucket, region := f.bucket()
	if bucket == "" {
		return warning("set oidc.bucket of the chart for clusters on AWS", "the operator has no bucket for OIDC documents")
	}
	switch err := f.Documents[bucketURL(bucket, region)]; {
	case errors.Is(err, errNoBucket):
		return failed("create the bucket, or correct oidc.bucket and oidc.region of the chart", "%s in %s: %v", bucket, region, err)
	case err != nil:
		return unknown("check it where S3 can be reached", "%s in %s: %v", bucket, region, err)
	}
	return passed("%s in %s exists", bucket, region)
}

func (f *Facts) oidcDocuments() Result {
	var broken, unread []string
	count := 0
	for i := range f.HostedClusters {
		hc := &f.HostedClusters[i]
		key := hc.Namespace + "/" + hc.Name
		if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidOIDCConfiguration); c != nil && c.Status == metav1.ConditionFalse {
			broken = append(broken, key+": "+c.Message)
			continue
		}
		err, checked := f.Documents[documentURL(hc.Spec.IssuerURL)]
		if !checked {
			continue
		}
		if count++; err != nil {
			unread = append(unread, key+": "+err.Error())
		}
	}
	switch {
	case len(broken) > 0:
		return failed("see ValidOIDCConfiguration in docs/conditions.md", "%s", strings.Join(broken, "; "))
	case len(unread) > 0:
		return unknown("AWS reads the documents without credentials: check the policy of the bucket, and that this machine reaches it", "%s", strings.Join(unread, "; "))
	}
	return passed("%d issuers answer", count)
}

// trust reports the operators' findings when they use their tokens, which is more than a comparison of policies.
func (f *Facts) trust() Result {
	var refused, open []string
	for i := range f.HostedClusters {
		hc := &f.HostedClusters[i]
		key := hc.Namespace + "/" + hc.Name
		if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidAWSIdentityProvider); c != nil && c.Status == metav1.ConditionFalse {
			refused = append(refused, key+": "+c.Message)
		}
		if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.AWSRolesIsolated); c != nil && c.Status == metav1.ConditionFalse {
			open = append(open, key+": "+c.Message)
		}
	}
	switch {
	case len(refused) > 0:
		return failed("run `hypershift create iam aws` again, which repairs the provider and the trust policies", "%s", strings.Join(refused, "; "))
	case len(open) > 0:
		return warning("docs/permissions.md, section Trust policies", "%s", strings.Join(open, "; "))
	}
	return passed("AWS accepts the tokens of all clusters that have reported")
}

func (f *Facts) clusters() Result {
	var blocked []string
	for i := range f.HostedClusters {
		hc := &f.HostedClusters[i]
		if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.SupportedHostedCluster); c != nil && c.Status == metav1.ConditionFalse {
			blocked = append(blocked, hc.Namespace+"/"+hc.Name+": "+c.Message)
		}
	}
	if len(blocked) > 0 {
		return failed("set the values of the chart that the messages name", "%s", strings.Join(blocked, "; "))
	}
	return passed("%d exist, and the installation supports all of them", len(f.HostedClusters))
}

func (a *AWS) run() (results []Result) {
	add := func(name string, r Result) {
		r.Check = name + " in " + a.Account + ", " + a.Region
		results = append(results, r)
	}
	if a.Caller.ARN != "" {
		add("Credentials", a.identity())
		add("Clock", a.clock())
	}
	c := a.Cluster
	if c == nil || !c.Continued {
		add("Elastic IP addresses", a.addresses())
		for _, q := range a.Quotas {
			add(q.Name, a.quota(q))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.Zones)) {
		if err := a.Zones[id]; err != nil {
			add("Hosted zone "+id, failed("correct spec.dns of the HostedCluster, or the zone", "%v", err))
			continue
		}
		add("Hosted zone "+id, passed("it exists and has the right name"))
	}
	if c == nil {
		return results
	}
	if c.Release != nil {
		add("Release image", a.releaseImage(c.Release))
	}
	for i, facts := range a.machines {
		add("Instance type "+c.Machines[i].InstanceType, a.offered(c.Machines[i], facts))
		if facts.AMI != "" {
			add("Machine image "+facts.AMI, a.image(c.Machines[i], facts))
		}
	}
	if c.Spot {
		add("Spot instances", a.spot())
	}
	if c.New && a.Caller.ARN != "" {
		add("Permissions", a.permissions())
	}
	return results
}

// needs returns the needs of the new cluster, or else of a usual cluster.
func (a *AWS) needs() accountcheck.Needs {
	if c := a.Cluster; c != nil && c.New {
		return c.Needs
	}
	return accountcheck.Usual
}

func (a *AWS) addresses() Result {
	const action = "raise the quota L-0263D0A3 of service ec2 in Service Quotas, or use --single-nat-gateway for new clusters"
	need := a.needs().Addresses
	switch err := a.Errors["addresses"]; {
	case err != nil:
		return unknown("check the credentials", "%v", err)
	case a.AddressQuota > 0 && a.AddressQuota-a.Addresses < need:
		return a.short(action, "%d of %d are in use; the NAT gateways of a new cluster need one for each zone, here %d", a.Addresses, a.AddressQuota, need)
	}
	return passed("%d of %d are in use", a.Addresses, a.AddressQuota)
}

// short is a failure if the cluster to be created does not fit, and a warning if another one does not fit: those that exist go on.
func (a *AWS) short(action, format string, args ...any) Result {
	if a.Cluster != nil && a.Cluster.New {
		return failed(action, format, args...)
	}
	return warning(action, format, args...)
}

func (a *AWS) quota(q accountcheck.Quota) Result {
	if q.Err != nil {
		return unknown("allow the calls in config/iam/commandline/doctor.json, and check the region", "%v", q.Err)
	}
	text := fmt.Sprintf("%d of %d are in use", q.Used, q.Limit)
	if q.Where != "" {
		text += " in " + q.Where
	}
	if !q.Exhausted() {
		return passed("%s", text)
	}
	of := "a new cluster in three zones, with a node in each,"
	if a.Cluster != nil && a.Cluster.New {
		of = "the cluster"
	}
	return a.short(fmt.Sprintf("raise the %s, or delete what is not needed: `hypershift leftovers aws` lists what clusters left behind", q.Raise),
		"%s; %s needs %d", text, of, q.Needed)
}
