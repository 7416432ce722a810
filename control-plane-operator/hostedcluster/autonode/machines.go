package autonode

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instance"
)

// Instances returns a client of EC2 with the role of Karpenter, which may describe instances.
type Instances func(context.Context, *hyperv1.HostedControlPlane) (instance.DescribeAPI, error)

// Machines returns the nodes on demand in the form of Machines, for the checks that nodes of node pools have. The
// addresses come from EC2: users of the hosted cluster can write a NodeClaim. There are no addresses without a running
// instance with the cluster's tag.
func Machines(ctx context.Context, instances Instances, hcp *hyperv1.HostedControlPlane, claims []Claim) ([]clusterv1.Machine, error) {
	var ids []string
	for i := range claims {
		if claims[i].Instance != "" && claims[i].deleted == nil {
			ids = append(ids, claims[i].Instance)
		}
	}
	if len(ids) == 0 || instances == nil {
		return nil, nil
	}
	api, err := instances(ctx, hcp)
	if err != nil {
		return nil, fmt.Errorf("describing the instances of nodes on demand: %w", err)
	}
	running, err := instance.Describe(ctx, api, hcp.Spec.InfraID, ids)
	if err != nil {
		return nil, err
	}
	var machines []clusterv1.Machine
	for i := range claims {
		c := &claims[i]
		if at, runs := running[c.Instance]; runs && c.deleted == nil {
			machines = append(machines, machineOnDemand(c, at))
		}
	}
	return machines, nil
}

func machineOnDemand(c *Claim, at instance.Instance) clusterv1.Machine {
	m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: c.Name, UID: c.uid, CreationTimestamp: metav1.NewTime(at.Launched)}}
	m.Status.NodeRef.Name = c.node
	add := func(kind clusterv1.MachineAddressType, addresses ...string) {
		for _, a := range addresses {
			m.Status.Addresses = append(m.Status.Addresses, clusterv1.MachineAddress{Type: kind, Address: a})
		}
	}
	add(clusterv1.MachineInternalDNS, at.PrivateName)
	add(clusterv1.MachineHostName, at.PrivateName)
	add(clusterv1.MachineInternalIP, at.PrivateAddresses...)
	add(clusterv1.MachineExternalIP, at.PublicAddresses...)
	return m
}
