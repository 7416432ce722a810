package integration

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
)

// cluster is the hosted cluster of one test, in a namespace and a customer account of its own.
type cluster struct {
	t        *testing.T
	customer *accounts.Customer
	// hc is the object as it was created; get reads it again.
	hc *hyperv1.HostedCluster
}

// newCluster prepares everything for a hosted cluster and returns it before it is created, so that a test can change it.
// The end of the test deletes it, and fails if anything is left.
func newCluster(t *testing.T, access hyperv1.AWSEndpointAccessType) *cluster {
	t.Helper()
	t.Parallel()
	namespace := "it-" + rand.String(5)
	infraID := "example-" + namespace
	customer, err := on.newCustomer(t.Context(), "example", infraID)
	if err != nil {
		t.Fatal(err)
	}
	on.AWS.FailOnRefused(t, customer.Account)
	c := &cluster{t: t, customer: customer, hc: &hyperv1.HostedCluster{}}
	c.sample("hostedcluster-"+strings.ToLower(string(access))+".yaml", "HostedCluster", c.hc)
	c.hc.Namespace = namespace
	c.rename(namespace)

	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	c.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.hc.Spec.PullSecret.Name},
		StringData: map[string]string{corev1.DockerConfigJsonKey: `{"auths":{}}`},
	})
	t.Cleanup(c.vanish)
	return c
}

// rename gives the cluster host names of its own, because two clusters cannot share a host name.
func (c *cluster) rename(domain string) {
	for _, s := range c.hc.Spec.Services {
		if route := s.ServicePublishingStrategy.Route; route != nil {
			route.Hostname = strings.Replace(route.Hostname, ".example.", "."+domain+".", 1)
		}
	}
}

// sample reads the object of a kind from a file of config/samples, with the variables of this cluster.
func (c *cluster) sample(file, kind string, into client.Object) {
	c.t.Helper()
	content, err := os.ReadFile(on.path("config", "samples", file))
	c.must(err)
	filled, err := fixture.Substitute(string(content), c.customer.Variables)
	c.must(err)
	objects, err := fixture.Decode(filled)
	c.must(err)
	for _, o := range objects {
		if o.GetKind() != kind {
			continue
		}
		text, err := yaml.Marshal(o.Object)
		c.must(err)
		c.must(yaml.UnmarshalStrict(text, into))
		return
	}
	c.t.Fatalf("%s has no %s", file, kind)
}

// start creates the HostedCluster.
func (c *cluster) start() {
	c.t.Helper()
	c.create(c.hc)
}

// pool creates a NodePool in one of the customer's subnets.
func (c *cluster) pool(name string, subnet int, with ...func(*hyperv1.NodePool)) *hyperv1.NodePool {
	c.t.Helper()
	np := &hyperv1.NodePool{}
	c.sample("nodepool-third-zone.yaml", "NodePool", np)
	np.Namespace, np.Name = c.hc.Namespace, name
	np.Spec.Platform.AWS.Subnet = hyperv1.AWSResourceReference{ID: &c.customer.Subnets[subnet].ID}
	for _, change := range with {
		change(np)
	}
	c.create(np)
	return np
}

// endpointServices returns the AWSEndpointServices of this cluster's control plane.
func (c *cluster) endpointServices() []hyperv1.AWSEndpointService {
	c.t.Helper()
	list := &hyperv1.AWSEndpointServiceList{}
	c.must(kube.List(c.t.Context(), list, client.InNamespace(c.controlPlane())))
	return list.Items
}

// connected returns an error unless PrivateLink works for that many services.
func (c *cluster) connected(services int) error {
	found := c.endpointServices()
	if len(found) != services {
		return fmt.Errorf("there are %d AWSEndpointServices, not %d", len(found), services)
	}
	for _, es := range found {
		for _, kind := range []string{hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable} {
			if c := meta.FindStatusCondition(es.Status.Conditions, kind); c == nil || c.Status != metav1.ConditionTrue {
				return fmt.Errorf("%s of %s is not True: %+v", kind, es.Name, c)
			}
		}
	}
	return nil
}

// vanish deletes the cluster and fails if anything is left of it.
func (c *cluster) vanish() {
	t := c.t
	ctx := context.WithoutCancel(t.Context()) // the context of the test has ended when this runs
	if err := client.IgnoreNotFound(kube.Delete(ctx, c.hc.DeepCopy())); err != nil {
		t.Errorf("deleting the HostedCluster: %v", err)
		return
	}
	within(ctx, t, vanishing, "nothing is left of the cluster", func() error {
		hc := &hyperv1.HostedCluster{}
		if err := kube.Get(ctx, client.ObjectKeyFromObject(c.hc), hc); !apierrors.IsNotFound(err) {
			return cmp.Or(err, fmt.Errorf("the HostedCluster is still there: %+v", hc.Status.Conditions))
		}
		ns := &corev1.Namespace{}
		if err := kube.Get(ctx, client.ObjectKey{Name: c.controlPlane()}, ns); !apierrors.IsNotFound(err) {
			return cmp.Or(err, fmt.Errorf("namespace %s is still there", ns.Name))
		}
		left, err := on.AWS.Leftovers(ctx, c.customer.Account)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("left in the customer's account: %v", left)
		}
		return err
	})
}

func (c *cluster) create(o client.Object) {
	c.t.Helper()
	c.must(kube.Create(c.t.Context(), o))
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// published returns an error unless the control plane has exactly these Services of type LoadBalancer, all with an
// address.
func (c *cluster) published(want ...string) error {
	list := &corev1.ServiceList{}
	if err := kube.List(c.t.Context(), list, client.InNamespace(c.controlPlane())); err != nil {
		return err
	}
	var found []string
	for _, s := range list.Items {
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		if len(s.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("service %s has no address", s.Name)
		}
		found = append(found, s.Name)
	}
	slices.Sort(found)
	if !slices.Equal(found, want) {
		return fmt.Errorf("the Services of type LoadBalancer are %v, not %v", found, want)
	}
	return nil
}

// update changes the HostedCluster like a user.
func (c *cluster) update(change func(*hyperv1.HostedCluster)) {
	c.t.Helper()
	hc := &hyperv1.HostedCluster{}
	c.must(kube.Get(c.t.Context(), client.ObjectKeyFromObject(c.hc), hc))
	before := hc.DeepCopy()
	change(hc)
	c.must(kube.Patch(c.t.Context(), hc, client.MergeFrom(before)))
}

// controlPlane is the namespace of the cluster's control plane.
func (c *cluster) controlPlane() string {
	return names.ControlPlaneNamespace(c.hc.Namespace, c.hc.Name)
}

// deployed returns an error unless a Deployment of the control plane is available.
func (c *cluster) deployed(name string) error {
	d := &appsv1.Deployment{}
	if err := kube.Get(c.t.Context(), client.ObjectKey{Namespace: c.controlPlane(), Name: name}, d); err != nil {
		return err
	}
	if d.Status.AvailableReplicas == 0 {
		return fmt.Errorf("deployment %s is not available: %+v", name, d.Status.Conditions)
	}
	return nil
}
