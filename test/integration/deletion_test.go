package integration

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// A HostedCluster can be deleted at any time: each of these stages begins when the previous one has ended. Each test ends
// with vanish, which fails if anything is left.
func TestDeletionAtEveryStage(t *testing.T) {
	for _, stage := range []struct {
		name  string
		comes func(*cluster) error
	}{
		{"at once", func(*cluster) error { return nil }},
		{"when there is a namespace", (*cluster).hasNamespace},
		{"when there is a signing key", has[*corev1.Secret](names.ServiceAccountSigningKey)},
		{"when there is a control plane", has[*hyperv1.HostedControlPlane]("example")},
		{"when the OIDC documents are published", is(hyperv1.ValidOIDCConfiguration)},
		{"when there is a Deployment of the operator", has[*appsv1.Deployment](names.ControlPlaneOperator)},
		{"when the operator runs", func(c *cluster) error { return c.deployed(names.ControlPlaneOperator) }},
		{"when AWS lets the operator in", is(hyperv1.ValidAWSIdentityProvider)},
		{"when there is a Service", has[*corev1.Service](names.PrivateRouter)},
		{"when the load balancer has an address", func(c *cluster) error { return c.published(names.PrivateRouter) }},
		{"when PrivateLink is asked for", has[*hyperv1.AWSEndpointService](names.PrivateRouter)},
		{"when there is an endpoint service", linked("endpoint service", func(es hyperv1.AWSEndpointServiceStatus) string { return es.EndpointServiceName })},
		{"when the endpoint has a security group", linked("security group", func(es hyperv1.AWSEndpointServiceStatus) string { return es.SecurityGroupID })},
		{"when there is an endpoint", func(c *cluster) error { _, err := c.endpoint(); return err }},
		{"when it is connected", func(c *cluster) error { return c.connected(1) }},
		{"when the workers have a security group", func(c *cluster) error { _, err := c.workerSecurityGroup(); return err }},
		{"when Cluster API is to run", has[*appsv1.Deployment](names.ClusterAPI)},
		{"when Cluster API and its provider are available", func(c *cluster) error {
			return c.deployed(names.ClusterAPI)
		}},
		{"when machines are asked for", has[*clusterv1.MachineDeployment]("a")},
	} {
		t.Run(stage.name, func(t *testing.T) {
			c := newCluster(t, hyperv1.Private)
			c.start()
			c.pool("a", 0)
			within(t.Context(), t, making, "the stage is reached", func() error { return stage.comes(c) })
		})
	}
}

// has returns an error unless the control plane's namespace contains an object of that name.
func has[T client.Object](name string) func(*cluster) error {
	return func(c *cluster) error {
		object := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(client.Object)
		return kube.Get(c.t.Context(), client.ObjectKey{Namespace: c.controlPlane(), Name: name}, object)
	}
}

func (c *cluster) hasNamespace() error {
	return kube.Get(c.t.Context(), client.ObjectKey{Name: c.controlPlane()}, &corev1.Namespace{})
}

// is returns an error unless a condition of the HostedCluster is True.
func is(kind string) func(*cluster) error {
	return func(c *cluster) error {
		hc := &hyperv1.HostedCluster{}
		if err := kube.Get(c.t.Context(), client.ObjectKeyFromObject(c.hc), hc); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(hc.Status.Conditions, kind) {
			return fmt.Errorf("%s is %+v", kind, meta.FindStatusCondition(hc.Status.Conditions, kind))
		}
		return nil
	}
}

// linked returns an error unless an AWSEndpointService reports a part.
func linked(what string, part func(hyperv1.AWSEndpointServiceStatus) string) func(*cluster) error {
	return func(c *cluster) error {
		id := ""
		for _, es := range c.endpointServices() {
			id = cmp.Or(id, part(es.Status))
		}
		if id == "" {
			return errors.New("there is no " + what)
		}
		return nil
	}
}

func TestDeletionWithoutPools(t *testing.T) {
	c := newCluster(t, hyperv1.Private)
	c.start()
	eventually(t.Context(), t, "the endpoint service waits for subnets", func() error {
		if len(c.endpointServices()) == 0 {
			return errors.New("there is no AWSEndpointService")
		}
		return nil
	})
}

// The AWS provider of Cluster API looks at a terminated instance again after a minute, unless its AWSMachine changes.
func TestTerminatedInstancesAreCheckedSoon(t *testing.T) {
	c := newCluster(t, hyperv1.Private)
	c.start()
	np := c.pool("a", 0)
	within(t.Context(), t, making, "machines are requested", func() error { return has[*clusterv1.MachineDeployment](np.Name)(c) })
	// As Cluster API creates it. Its provider does not run here.
	instance := &infrav1.AWSMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.controlPlane(), Name: "a-x7k2p", Finalizers: []string{infrav1.MachineFinalizer},
		Labels:      map[string]string{hyperv1.NodePoolLabel: np.Name},
		Annotations: map[string]string{hyperv1.NodePoolAnnotation: np.Namespace + "/" + np.Name},
	}}
	instance.Spec.InstanceType = "m6i.large"
	c.create(instance)
	c.must(kube.Delete(t.Context(), np))
	c.must(kube.Delete(t.Context(), instance))
	within(t.Context(), t, 45*time.Second, "the instance is checked", func() error {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(instance), instance); err != nil {
			return err
		}
		if instance.Annotations["hypershift.openshift.io/termination-check"] == "" {
			return fmt.Errorf("its annotations are %v", instance.Annotations)
		}
		return nil
	})
	instance.Finalizers = nil
	c.must(kube.Update(t.Context(), instance))
}

func TestDeletionWhileTheOperatorsCrash(t *testing.T) {
	c := newCluster(t, hyperv1.Private)
	c.start()
	c.pool("a", 0)
	eventually(t.Context(), t, "the cluster is connected", func() error { return c.connected(1) })

	// Both operators are killed when the deletion begins, and again after their restart.
	gone := make(chan struct{})
	var killed sync.WaitGroup
	for _, operator := range []types.NamespacedName{
		{Namespace: c.controlPlane(), Name: names.ControlPlaneOperator},
		hypershiftOperator,
	} {
		killed.Go(func() { killOften(t, operator, gone) })
	}
	c.vanish()
	close(gone)
	killed.Wait()
}

// killOften kills an operator at once and then every 25 seconds. This is often enough to interrupt it always, and seldom
// enough to let it work at all.
func killOften(t *testing.T, operator types.NamespacedName, gone <-chan struct{}) {
	if err := on.operators.kill(operator); err != nil {
		t.Error(err)
	}
	again := time.NewTicker(25 * time.Second)
	defer again.Stop()
	for {
		select {
		case <-gone:
			return
		case <-again.C:
			// An error means that it does not run any more, or not yet.
			_ = on.operators.kill(operator)
		}
	}
}

func TestDeletionWhileAWSThrottles(t *testing.T) {
	c := newCluster(t, hyperv1.Private)
	c.start()
	c.pool("a", 0)
	eventually(t.Context(), t, "the cluster is connected", func() error { return c.connected(1) })
	// Only the customer's account: other tests share the management account.
	err := on.AWS.Fault(t.Context(), awsemulator.Fault{Kind: awsemulator.Throttle, Account: c.customer.Account, Count: 20})
	if err != nil {
		t.Fatal(err)
	}
}
