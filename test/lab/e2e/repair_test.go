//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// TestNodesThatDoNotJoin closes the network of the workers. Their pool reports the cause that the machine writes on its console,
// and the machine is replaced. Once the network is open again, the next machine joins.
func TestNodesThatDoNotJoin(t *testing.T) {
	begin(t)
	h := newHosted(t, "repair", on.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
	h.create()
	pool := h.nodePool("repair", 0) // its subnet gets the endpoint
	pool.Spec.Management.AutoRepair = true
	// Longer than it takes until the machine is examined.
	pool.Annotations = map[string]string{hyperv1.MachineHealthCheckNodeStartupTimeoutAnnotation: "4m"}
	h.must(h.management.Create(t.Context(), pool))
	h.available()
	var group string
	h.eventually("the workers have a security group", func(context.Context) (err error) {
		group, err = h.workerSecurityGroup()
		return err
	})
	everything := []ec2types.IpPermission{{IpProtocol: aws.String("-1"), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}}}
	_, err := h.ec2().RevokeSecurityGroupEgress(t.Context(), &ec2.RevokeSecurityGroupEgressInput{GroupId: &group, IpPermissions: everything})
	h.must(err)

	h.updatePool("repair", func(np *hyperv1.NodePool) { np.Spec.Replicas = ptr.To[int32](1) })
	h.eventually("the pool has an instance", func(context.Context) error {
		if n := len(h.ids("repair")); n != 1 {
			return fmt.Errorf("there are %d instances", n)
		}
		return nil
	})
	first := h.ids("repair")[0]
	causes := []string{hyperv1.NodePoolAPIServerUnreachableReason, hyperv1.NodePoolNodeProgramsUnavailableReason}
	h.eventually("the condition has the cause", func(context.Context) error {
		for _, c := range h.pool("repair").Status.Conditions {
			if c.Type == hyperv1.NodePoolAllNodesHealthyCondition {
				if c.Status == corev1.ConditionFalse && slices.Contains(causes, c.Reason) && strings.Contains(c.Message, "the machine reports") {
					t.Logf("%s: %s", c.Reason, c.Message)
					return nil
				}
				return fmt.Errorf("%s is %s %s: %s", c.Type, c.Status, c.Reason, c.Message)
			}
		}
		return fmt.Errorf("there is no condition")
	})
	h.eventually("the machine is replaced", func(context.Context) error {
		if ids := h.ids("repair"); len(ids) != 1 || ids[0] == first {
			return fmt.Errorf("the instances are %v", ids)
		}
		return nil
	})
	np := h.pool("repair")
	if np.Status.Repair == nil || np.Status.Repair.Attempts != 1 {
		t.Errorf("the status records %+v", np.Status.Repair)
	}
	if err := h.poolEvent("repair", "MachineReplaced", "the machine reports"); err != nil {
		t.Error(err)
	}

	_, err = h.ec2().AuthorizeSecurityGroupEgress(t.Context(), &ec2.AuthorizeSecurityGroupEgressInput{GroupId: &group, IpPermissions: everything})
	h.must(err)
	h.eventually("the next machine joins", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	h.eventually("the back-off ends", func(context.Context) error {
		if r := h.pool("repair").Status.Repair; r != nil {
			return fmt.Errorf("the status records %+v", r)
		}
		return nil
	})
}

// poolEvent returns an error unless an event of that reason with those words exists for a pool.
func (h *hosted) poolEvent(pool, reason, words string) error {
	list := &eventsv1.EventList{}
	if err := h.management.List(h.t.Context(), list, client.InNamespace(h.hc.Namespace)); err != nil {
		return err
	}
	for _, e := range list.Items {
		if e.Regarding.Name == pool && e.Reason == reason && strings.Contains(e.Note, words) {
			return nil
		}
	}
	return fmt.Errorf("NodePool %s has no event %s: %s", pool, reason, words)
}
