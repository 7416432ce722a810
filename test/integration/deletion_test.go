package integration

import (
	"errors"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/bed/stage"
)

// A HostedCluster can be deleted whenever its owner likes. Each test ends with vanish, which finds what is left.
func TestDeletionAtEveryStage(t *testing.T) {
	for name, comes := range map[string]func(*cluster) error{
		"at once": func(*cluster) error { return nil },
		"when there is a control plane operator": func(c *cluster) error {
			return c.deployed(names.ControlPlaneOperator)
		},
		"when the load balancer has an address": func(c *cluster) error {
			return c.published(names.PrivateRouter)
		},
		"when there is an endpoint service": func(c *cluster) error {
			for _, es := range c.endpointServices() {
				if es.Status.EndpointServiceName != "" {
					return nil
				}
			}
			return errors.New("no AWSEndpointService has an endpoint service")
		},
		"when the endpoint is made": func(c *cluster) error {
			_, err := c.endpoint()
			return err
		},
		"when it is connected": func(c *cluster) error { return c.connected(1) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, hyperv1.Private)
			c.start()
			c.pool("a", 0)
			eventually(t.Context(), t, "the stage comes", func() error { return comes(c) })
		})
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

func TestDeletionWhileTheOperatorsCrash(t *testing.T) {
	c := newCluster(t, hyperv1.Private)
	c.start()
	c.pool("a", 0)
	eventually(t.Context(), t, "the cluster is connected", func() error { return c.connected(1) })

	// Both operators die as soon as the deletion has begun, and again when they are back.
	gone := make(chan struct{})
	var killed sync.WaitGroup
	for _, operator := range []types.NamespacedName{
		{Namespace: c.controlPlane(), Name: names.ControlPlaneOperator},
		{Namespace: stage.OperatorNamespace, Name: stage.Operator},
	} {
		killed.Go(func() { killOften(t, operator, gone) })
	}
	c.vanish()
	close(gone)
	killed.Wait()
}

// killOften kills an operator at once and then every 25 seconds, which is often enough that it never works in peace, and seldom
// enough that it works at all: each time it first waits for the lease of its dead self.
func killOften(t *testing.T, operator types.NamespacedName, gone <-chan struct{}) {
	if err := on.Pods.Kill(operator.Namespace, operator.Name); err != nil {
		t.Error(err)
	}
	again := time.NewTicker(25 * time.Second)
	defer again.Stop()
	for {
		select {
		case <-gone:
			return
		case <-again.C:
			// An error: it is not there any more, or not there yet.
			_ = on.Pods.Kill(operator.Namespace, operator.Name)
		}
	}
}

func TestDeletionWhileAWSThrottles(t *testing.T) {
	c := newCluster(t, hyperv1.Private)
	c.start()
	c.pool("a", 0)
	eventually(t.Context(), t, "the cluster is connected", func() error { return c.connected(1) })
	// Only the customer's account: the other tests share the management account.
	err := on.AWS.Fault(t.Context(), awsemulator.Fault{Kind: awsemulator.Throttle, Account: c.customer.Account, Count: 20})
	if err != nil {
		t.Fatal(err)
	}
}
