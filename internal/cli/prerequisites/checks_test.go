package prerequisites

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/accountcheck"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/zone"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/servedzones"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func node(zone string) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-" + zone, Labels: map[string]string{zoneLabel: zone, servedzones.NodeLabel: "use1-" + zone}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

func operator(args ...string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "hypershift-operator", Labels: map[string]string{"app.kubernetes.io/version": "1.2.3"}}}
	d.Spec.Replicas = new(int32)
	*d.Spec.Replicas = 2
	d.Status.AvailableReplicas = 2
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "operator", Args: args}}
	return d
}

var renewed = metav1.NewMicroTime(now.Add(-5 * time.Second))

func loadBalancer(host string, age time.Duration) corev1.Service {
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "router", CreationTimestamp: metav1.NewTime(now.Add(-age))}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	if host != "" {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}}
	}
	return s
}

func cluster(conditions ...metav1.Condition) hyperv1.HostedCluster {
	hc := hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}
	hc.Spec.IssuerURL = "https://issuer.example.com/demo"
	hc.Spec.Platform.AWS = &hyperv1.AWSPlatformSpec{}
	hc.Status.Conditions = conditions
	return hc
}

func condition(name string, status metav1.ConditionStatus, message string) metav1.Condition {
	return metav1.Condition{Type: name, Status: status, Message: message}
}

func waitingPod(image string) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "etcd-0"}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Image: image, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}}}
	return p
}

const (
	bucketArg = "--oidc-storage-provider-s3-bucket-name=docs"
	regionArg = "--oidc-storage-provider-s3-region=us-east-1"
)

// accountZones are zones as an account sees them: us-east-1a is not a zone of the nodes.
var accountZones = zone.List{{Name: "us-east-1a", ID: "use1-az4"}, {Name: "us-east-1b", ID: "use1-az1"}, {Name: "us-east-1c", ID: "use1-az2"}}

// endpointService has reported the zones of its load balancer.
func endpointService(name string, age time.Duration, zones ...string) hyperv1.AWSEndpointService {
	es := hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age))}}
	es.Status.AvailabilityZoneIDs = zones
	return es
}

// sound are facts with which every check passes.
func sound() *Facts {
	f := &Facts{
		Now: now, ClientVersion: "1.2.3", Namespace: "hypershift", ServerVersion: "v1.36.3-eks-1", ServedKinds: map[string]bool{},
		Operator:       operator("--private-platform=AWS", bucketArg, regionArg),
		Lease:          &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}},
		StorageClasses: []storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "gp3", Annotations: map[string]string{defaultClass: "true"}}, Provisioner: "ebs.csi.aws.com"}},
		Nodes:          []corev1.Node{node("az1"), node("az2"), node("az3")},
		Services:       []corev1.Service{loadBalancer("nlb", time.Hour)},
		HostedClusters: []hyperv1.HostedCluster{cluster(condition(hyperv1.NetworkPoliciesEnforced, metav1.ConditionTrue, ""), condition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, ""))},
		Documents:      map[string]error{"https://docs.s3.us-east-1.amazonaws.com/": nil, "https://issuer.example.com/demo/.well-known/openid-configuration": nil},
		Errors:         map[string]error{}, Warnings: map[client.ObjectKey]string{},
		AWS: &AWS{Account: "222222222222", Region: "us-east-1", Caller: awsgraph.Caller{ARN: "arn:aws:iam::222222222222:user/me", Account: "222222222222", Partition: "aws"}, AvailabilityZones: accountZones, Cluster: &Cluster{Private: true, Zones: accountZones[1:3]}, Addresses: 1, AddressQuota: 5, Zones: map[string]error{"Z1": nil}, Errors: map[string]error{}},
	}
	for _, r := range required {
		for _, kind := range r.kinds {
			f.ServedKinds[kind+"."+r.group] = true
		}
	}
	return f
}

func TestSoundInstallationPasses(t *testing.T) {
	for _, r := range Run(sound()) {
		if r.Status != Passed || r.Action != "" || r.Message == "" {
			t.Errorf("%+v", r)
		}
	}
}

func TestEachProblemHasOneResultWithWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts)
		check  string
		status Status
		words  string
	}{
		"an old management cluster":            {func(f *Facts) { f.ServerVersion = "v1.30.9" }, "Kubernetes version", Failed, "older"},
		"a CRD that is missing":                {func(f *Facts) { delete(f.ServedKinds, "Machine.cluster.x-k8s.io/v1beta2") }, "CRDs", Failed, "Machine (cluster"},
		"no operator":                          {func(f *Facts) { f.Operator.Status.AvailableReplicas = 0 }, "Operator", Failed, "no replica"},
		"an operator without a leader":         {func(f *Facts) { f.Now = f.Now.Add(time.Hour) }, "Operator", Failed, "leader"},
		"an operator with one of two replicas": {func(f *Facts) { f.Operator.Status.AvailableReplicas = 1 }, "Operator", Warning, "1 of 2"},
		"an operator of another version":       {func(f *Facts) { f.ClientVersion = "1.3.0" }, "Operator version", Warning, "1.3.0"},
		"nodes in two zones":                   {func(f *Facts) { f.Nodes = f.Nodes[:2] }, "Nodes", Warning, "2 zones"},
		"no node that is schedulable": {func(f *Facts) {
			for i := range f.Nodes {
				f.Nodes[i].Spec.Unschedulable = true
			}
		}, "Nodes", Failed, "no node"},
		"no storage class":         {func(f *Facts) { f.StorageClasses = nil }, "Storage class", Failed, "no storage class"},
		"no default storage class": {func(f *Facts) { f.StorageClasses[0].Annotations = nil }, "Storage class", Warning, "default"},
		"a Service that waits for its balancer": {func(f *Facts) {
			f.Services = append(f.Services, loadBalancer("", time.Hour))
			f.Warnings[client.ObjectKey{Namespace: "clusters-demo", Name: "router"}] = "no subnets"
		}, "Load balancers", Failed, "no subnets"},
		"no controller of load balancers": {func(f *Facts) { f.Services = nil }, "Load balancers", Unknown, "no known controller"},
		"NetworkPolicies that are ignored": {func(f *Facts) {
			f.HostedClusters[0].Status.Conditions[0].Status = metav1.ConditionFalse
			f.HostedClusters[0].Status.Conditions[0].Message = "a connection passed"
		}, "NetworkPolicies", Failed, "passed"},
		"NetworkPolicies without a control plane": {func(f *Facts) { f.HostedClusters[0].Status.Conditions[0].Status = metav1.ConditionUnknown }, "NetworkPolicies", Unknown, ""},
		"an image that is missing":                {func(f *Facts) { f.Pods = append(f.Pods, waitingPod("etcd:9")) }, "Images", Failed, "etcd:9 (pod clusters-demo/etcd-0"},
		"a bucket that does not exist":            {func(f *Facts) { f.Documents["https://docs.s3.us-east-1.amazonaws.com/"] = errNoBucket }, "OIDC bucket", Failed, "docs"},
		"a bucket that cannot be reached":         {func(f *Facts) { f.Documents["https://docs.s3.us-east-1.amazonaws.com/"] = errors.New("timeout") }, "OIDC bucket", Unknown, "timeout"},
		"an issuer that does not answer": {func(f *Facts) {
			f.Documents["https://issuer.example.com/demo/.well-known/openid-configuration"] = errors.New("403")
		}, "OIDC documents", Unknown, "clusters/demo: 403"},
		"a role that refuses tokens": {func(f *Facts) {
			f.HostedClusters[0].Status.Conditions[1] = condition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionFalse, "denied")
		}, "Trust policies", Failed, "denied"},
		"a role that tenants can assume": {func(f *Facts) {
			f.HostedClusters[0].Status.Conditions[1] = condition(hyperv1.AWSRolesIsolated, metav1.ConditionFalse, "tenant")
		}, "Trust policies", Warning, "tenant"},
		"a cluster that is not supported": {func(f *Facts) {
			f.HostedClusters[0].Status.Conditions[1] = condition(hyperv1.SupportedHostedCluster, metav1.ConditionFalse, "aws.privateLink")
		}, "Hosted clusters", Failed, "aws.privateLink"},
		"a list that is forbidden": {func(f *Facts) { f.Errors["Nodes"] = errors.New("forbidden") }, "Nodes", Unknown, "forbidden"},
		"a private cluster in zones that are not served": {func(f *Facts) { f.AWS.Cluster.Zones = accountZones[:1] }, "Zones", Failed,
			"serve use1-az1 (us-east-1b), use1-az2 (us-east-1c), use1-az3 (label topology.k8s.aws/zone-id of the nodes), and the endpoint of a private cluster needs one of these zones. The zones of the cluster are us-east-1a (use1-az4)"},
		"a zone that is not served":               {func(f *Facts) { f.AWS.Cluster.Zones = accountZones }, "Zones", Warning, "us-east-1a (use1-az4) reach the API server through another zone"},
		"a management cluster elsewhere":          {func(f *Facts) { setZoneIDs(f, "euw1-az1") }, "Zones", Failed, "serve euw1-az1"},
		"nodes without zone ids":                  {func(f *Facts) { setZoneIDs(f, "") }, "Zones", Unknown, "no node has the label"},
		"zones of the account that are not known": {func(f *Facts) { f.AWS.Errors["zones"] = errors.New("AccessDenied") }, "Zones", Unknown, "AccessDenied"},
		"nodes of the account, in other zones": {func(f *Facts) {
			setZoneIDs(f, "")
			f.AWS.Nodes = true
			f.Nodes = []corev1.Node{inZone(f.Nodes[0], "us-east-1a"), inZone(f.Nodes[0], "x"), inZone(f.Nodes[0], "y")}
		}, "Zones", Failed, "serve use1-az4 (us-east-1a) (label topology.kubernetes.io/zone of the nodes, in account 222222222222)"},
		"an endpoint service in other zones than the nodes": {func(f *Facts) {
			f.EndpointServices = []hyperv1.AWSEndpointService{endpointService("old", time.Hour, "use1-az1"), endpointService("new", time.Minute, "use1-az4"), endpointService("starting", 0)}
		}, "Zones", Failed, "serve use1-az4 (us-east-1a) (endpoint service of AWSEndpointService clusters-demo/new)"},
		"an exhausted quota": {func(f *Facts) { f.AWS.Addresses = 3 }, "Elastic IP addresses in 222222222222, us-east-1", Warning, "3 of 5"},
		"a quota that another cluster would exceed": {func(f *Facts) {
			f.AWS.Quotas = []accountcheck.Quota{{Name: "NAT gateways", Where: "us-east-1a", Needed: 1, Used: 5, Limit: 5, Raise: "quota L-1 of service vpc in Service Quotas"}}
		}, "NAT gateways in 222222222222, us-east-1", Warning, "5 of 5 are in use in us-east-1a; a new cluster"},
		"a quota that may not be read": {func(f *Facts) {
			f.AWS.Quotas = []accountcheck.Quota{{Name: "VPCs", Needed: 1, Err: errors.New("AccessDenied")}}
		}, "VPCs in 222222222222, us-east-1", Unknown, "AccessDenied"},
		"a hosted zone of another domain": {func(f *Facts) { f.AWS.Zones["Z1"] = errors.New("other domain") }, "Hosted zone Z1 in 222222222222, us-east-1", Failed, "other domain"},
	} {
		f := sound()
		c.change(f)
		var problems []Result
		for _, r := range Run(f) {
			if r.Status != Passed {
				problems = append(problems, r)
			}
		}
		if len(problems) != 1 || problems[0].Check != c.check || problems[0].Status != c.status || !strings.Contains(problems[0].Message, c.words) || problems[0].Action == "" {
			t.Errorf("%s: %+v", name, problems)
		}
	}
}

// setZoneIDs changes the label of the nodes.
func setZoneIDs(f *Facts, id string) {
	for i := range f.Nodes {
		f.Nodes[i].Labels[servedzones.NodeLabel] = id
	}
}

// inZone returns the node in a zone without an id.
func inZone(n corev1.Node, name string) corev1.Node {
	n.Labels = map[string]string{zoneLabel: name}
	return n
}

// A public cluster has no endpoint, and a cluster that exists nowhere yet can choose.
func TestZonesAreComparedForEndpointsOnly(t *testing.T) {
	f := sound()
	f.AWS.Cluster = &Cluster{Zones: accountZones[:1]}
	if r := f.Zones(); r.Status != Passed {
		t.Errorf("a public cluster: %+v", r)
	}
	f.AWS.Cluster = nil
	if r := f.Zones(); r.Status != Passed || !strings.HasSuffix(r.Message, "private clusters can use --zones us-east-1b,us-east-1c") {
		t.Errorf("no cluster: %+v", r)
	}
	for endpoint, want := range map[bool]string{true: "us-east-1b", false: "us-east-1a"} {
		if z, err := f.FirstZone(endpoint); err != nil || z.Name != want {
			t.Errorf("first zone with an endpoint %v: %s, %v", endpoint, z, err)
		}
	}
}

// A tenant may read neither nodes nor the endpoint services of others.
func TestTenantsUseThePublishedZones(t *testing.T) {
	f := sound()
	f.Nodes, f.EndpointServices = nil, nil
	f.Errors = map[string]error{"Nodes": errors.New("nodes is forbidden"), "EndpointServices": errors.New("awsendpointservices is forbidden")}
	if z, err := f.FirstZone(true); err == nil || !strings.Contains(err.Error(), "pass --zones") {
		t.Errorf("zones that are not known: %s, %v", z, err)
	}
	if z, err := f.FirstZone(false); err != nil || z.Name != "us-east-1a" {
		t.Errorf("a public cluster: %s, %v", z, err)
	}
	f.PublishedZones = []string{accountZones[1].ID}
	if z, err := f.FirstZone(true); err != nil || z.Name != accountZones[1].Name {
		t.Errorf("published zones: %s, %v", z, err)
	}
	if r := f.Zones(); !strings.Contains(r.Message, "ConfigMap kube-public/hypershift-availability-zones") {
		t.Errorf("%+v", r)
	}
}

// rewrite sends all requests to one server.
type rewrite struct{ target string }

func (r rewrite) RoundTrip(request *http.Request) (*http.Response, error) {
	clone := request.Clone(request.Context())
	clone.URL.Scheme, clone.URL.Host = "http", r.target
	clone.Header.Set("X-Host", request.URL.Host)
	return http.DefaultTransport.RoundTrip(clone)
}

func TestGatherReadsAnInstallation(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch host := r.Header.Get("X-Host"); {
		case host == "docs.s3.us-east-1.amazonaws.com":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path != "/demo/.well-known/openid-configuration":
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	hc := cluster()
	service := loadBalancer("", time.Hour)
	pod := waitingPod("etcd:9")
	reader := fake.NewClientBuilder().WithScheme(clustertree.Scheme()).WithObjects(operator(bucketArg, regionArg), &hc, &service, &pod).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(obj client.Object) []string { return []string{string(obj.(*corev1.Event).InvolvedObject.UID)} }).Build()
	discovery := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}, FakedServerVersion: &version.Info{GitVersion: "v1.36.3"}}
	discovery.Resources = []*metav1.APIResourceList{{GroupVersion: "route.openshift.io/v1", APIResources: []metav1.APIResource{{Kind: "Route", Name: "routes"}}}}
	f := &Facts{Now: now, Namespace: "hypershift"}
	Gather(context.Background(), reader, discovery, &http.Client{Transport: rewrite{strings.TrimPrefix(server.URL, "http://")}}, f)
	if f.ServerVersion != "v1.36.3" || !f.ServedKinds["Route.route.openshift.io/v1"] || f.Operator == nil || len(f.Services) != 1 || len(f.Pods) != 1 || len(f.HostedClusters) != 1 {
		t.Errorf("%+v", f)
	}
	if len(f.Documents) != 2 {
		t.Errorf("documents: %v", f.Documents)
	}
	for url, err := range f.Documents {
		if err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	if len(f.Errors) != 0 {
		t.Errorf("errors: %v", f.Errors)
	}
}
