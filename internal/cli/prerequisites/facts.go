// Package prerequisites checks the prerequisites of an installation and its hosted clusters, and returns the remedy for each problem.
// Gather reads the facts; the checks are pure functions of them.
package prerequisites

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/accountcheck"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/zone"
	"github.com/hosted-control-planes/hypershift/internal/events"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Facts are the inputs of the checks.
type Facts struct {
	Now           time.Time
	ClientVersion string
	// Namespace is the operator's namespace.
	Namespace string

	ServerVersion  string
	ServedKinds    map[string]bool // kinds, as Kind.group/version
	Operator       *appsv1.Deployment
	Lease          *coordinationv1.Lease
	StorageClasses []storagev1.StorageClass
	Nodes          []corev1.Node
	Deployments    []appsv1.Deployment
	DaemonSets     []appsv1.DaemonSet
	// Services are the Services of type LoadBalancer, and Warnings the latest events about Services without a load balancer.
	Services []corev1.Service
	Warnings map[client.ObjectKey]string
	// Pods are the pods of the operator and of control planes.
	Pods           []corev1.Pod
	HostedClusters []hyperv1.HostedCluster
	// EndpointServices have the zones that load balancers serve.
	EndpointServices []hyperv1.AWSEndpointService
	// PublishedZones are the ids of zones that the operator publishes for users without permission to read Nodes and EndpointServices.
	PublishedZones []string
	// Documents are the answers of issuers, and of the bucket, by URL.
	Documents map[string]error
	// AWS are the facts of an account, if an account is checked.
	AWS *AWS
	// Errors are the errors of failed reads, by the name of the field.
	Errors map[string]error

	mu sync.Mutex
}

// creating is true if the facts are about a cluster that does not exist yet.
func (f *Facts) creating() bool { return f.AWS != nil && f.AWS.Cluster != nil && f.AWS.Cluster.New }

// report records that a fact could not be read.
func (f *Facts) report(name string, err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Errors == nil {
		f.Errors = map[string]error{}
	}
	f.Errors[name] = err
}

// AWS are facts of the customer's account.
type AWS struct {
	Account, Region string
	// Addresses are the elastic IP addresses in use and the quota, which is 0 if it is not known.
	Addresses, AddressQuota int
	// Quotas are the other quotas that a cluster needs.
	Quotas []accountcheck.Quota
	// Caller is the identity of the credentials, and Skew by how much the clock of AWS is ahead.
	Caller awsgraph.Caller
	Skew   time.Duration
	// machines are in the order of the cluster's machines.
	machines []machineFacts
	spotRole bool
	// denied are actions that dry runs were refused, and refused actions that the simulation denied.
	denied, refused []string
	// AvailabilityZones are the region's zones, with the names that the account has for them.
	AvailabilityZones zone.List
	// Nodes is true if the nodes of the management cluster are instances of this account.
	Nodes bool
	// Cluster is the cluster that the account is checked for. Nil: any.
	Cluster *Cluster
	// Zones are the hosted zones of a HostedCluster by id; the error is the problem of the zone.
	Zones map[string]error
	// Errors are the errors of failed reads.
	Errors map[string]error
}

// Cluster is a cluster that exists, or that will be created.
type Cluster struct {
	// New: the cluster will be created. Continued: a part of it exists.
	New, Continued bool
	// Private: nodes reach the API server through an endpoint.
	Private bool
	// Zones are the zones of the node pools' subnets.
	Zones    zone.List
	Machines []Machines
	// Release is the release image of a new cluster. Spot: spot instances are possible.
	Release *Release
	Spot    bool
	// Owner holds the tags of the resources to create, and Policies are the policies of the commands that create them.
	Owner    awsgraph.Owner
	Policies []string
	// Needs are its needs of quotas.
	Needs accountcheck.Needs
}

// required are the kinds that the operator needs, and their installer: a chart, or a value of the operator's chart.
var required = []struct {
	installedBy, group string
	kinds              []string
}{
	{"the chart hypershift-crds", hyperv1.GroupVersion.String(), []string{"HostedCluster", "NodePool", "HostedControlPlane", "ControlPlaneComponent", "AWSEndpointService", "NodeBootstrap", "NodeBootstrapTemplate"}},
	{"the value crds.clusterAPI", "cluster.x-k8s.io/v1beta2", []string{"Cluster", "Machine", "MachineSet", "MachineDeployment", "MachineHealthCheck"}},
	{"the value crds.clusterAPI", "infrastructure.cluster.x-k8s.io/v1beta2", []string{"AWSCluster", "AWSMachine", "AWSMachineTemplate"}},
	{"the value crds.route", "route.openshift.io/v1", []string{"Route"}},
}

// httpTimeout is of one document.
const httpTimeout = 10 * time.Second

// Gather reads the facts. Failed reads are in Errors.
func Gather(ctx context.Context, reader client.Reader, server discovery.DiscoveryInterface, web *http.Client, f *Facts) {
	f.ServedKinds, f.Warnings, f.Documents, f.Errors = map[string]bool{}, map[client.ObjectKey]string{}, map[string]error{}, map[string]error{}
	var group sync.WaitGroup
	get := func(name string, read func() error) {
		group.Go(func() { f.report(name, read()) })
	}
	get("ServerVersion", func() error {
		v, err := server.ServerVersion()
		if err == nil {
			f.ServerVersion = v.GitVersion
		}
		return err
	})
	get("ServedKinds", func() error {
		for _, r := range required {
			list, err := server.ServerResourcesForGroupVersion(r.group)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			for _, one := range list.APIResources {
				f.ServedKinds[one.Kind+"."+r.group] = true
			}
		}
		return nil
	})
	get("Operator", func() error {
		d := &appsv1.Deployment{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: names.HypershiftOperator}, d)
		if err == nil {
			f.Operator = d
		}
		return client.IgnoreNotFound(err)
	})
	get("Lease", func() error {
		l := &coordinationv1.Lease{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: names.HypershiftOperator}, l)
		if err == nil {
			f.Lease = l
		}
		return client.IgnoreNotFound(err)
	})
	classes, deployments, daemons := &storagev1.StorageClassList{}, &appsv1.DeploymentList{}, &appsv1.DaemonSetList{}
	services, clusters := &corev1.ServiceList{}, &hyperv1.HostedClusterList{}
	get("StorageClasses", func() error { return reader.List(ctx, classes) })
	group.Go(func() { GatherZones(ctx, reader, f) })
	get("Deployments", func() error { return reader.List(ctx, deployments) })
	get("DaemonSets", func() error { return reader.List(ctx, daemons) })
	get("Services", func() error { return reader.List(ctx, services) })
	get("HostedClusters", func() error { return reader.List(ctx, clusters) })
	group.Wait()
	f.StorageClasses, f.Deployments, f.DaemonSets, f.HostedClusters = classes.Items, deployments.Items, daemons.Items, clusters.Items
	for i := range services.Items {
		s := &services.Items[i]
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		f.Services = append(f.Services, *s)
		if len(s.Status.LoadBalancer.Ingress) == 0 {
			if text, err := events.LatestWarning(ctx, reader, s); err == nil && text != "" {
				f.Warnings[client.ObjectKeyFromObject(s)] = text
			}
		}
	}
	namespaces := []string{f.Namespace}
	for i := range f.HostedClusters {
		if f.creating() {
			break // the pods of other clusters do not decide about a new one
		}
		namespaces = append(namespaces, names.ControlPlaneNamespace(f.HostedClusters[i].Namespace, f.HostedClusters[i].Name))
	}
	for _, namespace := range namespaces {
		list := &corev1.PodList{}
		if err := reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
			f.Errors["Pods"] = err
		}
		f.Pods = append(f.Pods, list.Items...)
	}
	f.gatherDocuments(ctx, web)
}

// gatherDocuments requests the documents as AWS does: without credentials.
func (f *Facts) gatherDocuments(ctx context.Context, web *http.Client) {
	var urls []string
	if bucket, region := f.bucket(); bucket != "" {
		urls = append(urls, bucketURL(bucket, region))
	}
	for i := range f.HostedClusters {
		if f.creating() {
			break
		}
		if issuer := f.HostedClusters[i].Spec.IssuerURL; strings.HasPrefix(issuer, "https://") && f.HostedClusters[i].Spec.Platform.AWS != nil {
			urls = append(urls, documentURL(issuer))
		}
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, url := range urls {
		group.Go(func() {
			err := fetch(ctx, web, url)
			mu.Lock()
			defer mu.Unlock()
			f.Documents[url] = err
		})
	}
	group.Wait()
}

func bucketURL(bucket, region string) string {
	return fmt.Sprintf("https://%s.s3.%s.amazonaws.com/", bucket, region)
}

func documentURL(issuer string) string {
	return strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
}

// errNoBucket is returned for a bucket that does not exist in the region.
var errNoBucket = errors.New("the bucket does not exist in this region")

func fetch(ctx context.Context, web *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, httpTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return err
	}
	response, err := web.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	document := strings.HasSuffix(url, "/openid-configuration")
	switch {
	case response.StatusCode == http.StatusOK, response.StatusCode == http.StatusForbidden && !document:
		return nil // the objects of the bucket are public, and its list is not
	case !document && (response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusMovedPermanently):
		return errNoBucket
	}
	return fmt.Errorf("the response is %s", response.Status)
}

// argument returns the value of an argument of the operator.
func (f *Facts) argument(name string) string {
	if f.Operator == nil {
		return ""
	}
	for _, c := range f.Operator.Spec.Template.Spec.Containers {
		for _, arg := range c.Args {
			if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
				return value
			}
		}
	}
	return ""
}

func (f *Facts) bucket() (name, region string) {
	return f.argument("oidc-storage-provider-s3-bucket-name"), f.argument("oidc-storage-provider-s3-region")
}
