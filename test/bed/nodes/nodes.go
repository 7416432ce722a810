package nodes

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Options say whose machines are played.
type Options struct {
	// EC2 sees the instances of the customer.
	EC2 *ec2.Client
	// InfraID is the cluster whose instances count.
	InfraID string
	// Address is where the API server of the cluster listens, whatever the machines call it.
	Address string
	// Admin is the administrator of that API server: the cloud controller.
	Admin *rest.Config
	// Kubelets gives the version of the kubelet in each machine image.
	Kubelets map[string]string
	// Progress gets a line for each node that comes and goes, and for what keeps one from coming; nil for silence.
	Progress io.Writer
}

// Nodes are the nodes of one hosted cluster.
type Nodes struct {
	options Options
	kube    kubernetes.Interface // as the cloud controller

	mu       sync.Mutex
	problems map[string]error             // instance -> why it has not joined
	keys     map[string]*ecdsa.PrivateKey // instance -> what its kubelet asks a certificate for

	stop    context.CancelFunc
	running sync.WaitGroup
}

// period is how often instances are looked at.
const period = 300 * time.Millisecond

// Start plays until Stop.
func Start(ctx context.Context, opts Options) (*Nodes, error) {
	if opts.Progress == nil {
		opts.Progress = io.Discard
	}
	kube, err := kubernetes.NewForConfig(opts.Admin)
	if err != nil {
		return nil, fmt.Errorf("playing the machines of %s: %w", opts.InfraID, err)
	}
	n := &Nodes{options: opts, kube: kube, problems: map[string]error{}, keys: map[string]*ecdsa.PrivateKey{}}
	// Not the caller's context: machines go on in the clean-up of a test, too.
	ctx, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	n.running.Go(func() {
		_ = wait.PollUntilContextCancel(ctx, period, true, func(ctx context.Context) (bool, error) {
			if err := n.pass(ctx); err != nil && ctx.Err() == nil {
				n.complain("all", err)
			}
			return false, nil
		})
	})
	return n, nil
}

// Stop ends the play; the nodes stay as they are.
func (n *Nodes) Stop() {
	n.stop()
	n.running.Wait()
}

// Problems says of each instance that has not joined why, for the message of a failure.
func (n *Nodes) Problems() map[string]error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.problems)
}

// complain keeps and tells a problem, once.
func (n *Nodes) complain(instance string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := n.problems[instance]; old == nil || old.Error() != err.Error() {
		fmt.Fprintf(n.options.Progress, "machine %s: %v\n", instance, err)
	}
	n.problems[instance] = err
}

func (n *Nodes) content(instance string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.problems, instance)
}

// pass brings the nodes up to date with the instances.
func (n *Nodes) pass(ctx context.Context) error {
	instances, err := n.instances(ctx)
	if err != nil {
		return err
	}
	known, err := n.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	n.content("all")
	nodes := map[string]*corev1.Node{}
	for i := range known.Items {
		nodes[known.Items[i].Spec.ProviderID] = &known.Items[i]
	}
	var joining sync.WaitGroup // they do not wait for one another, as machines do not
	for _, i := range instances {
		id, node := aws.ToString(i.InstanceId), nodes[providerID(i)]
		switch i.State.Name {
		case types.InstanceStateNameRunning:
			if node == nil {
				joining.Go(func() { n.try(id, n.join(ctx, i)) })
			} else {
				n.try(id, n.initialize(ctx, node, i))
			}
		case types.InstanceStateNameShuttingDown, types.InstanceStateNameTerminated:
			n.try(id, n.forget(ctx, node))
		}
	}
	joining.Wait()
	return nil
}

func (n *Nodes) try(instance string, err error) {
	if err != nil {
		n.complain(instance, err)
		return
	}
	n.content(instance)
}

// instances are those of the cluster, whatever their state.
func (n *Nodes) instances(ctx context.Context) ([]types.Instance, error) {
	pages := ec2.NewDescribeInstancesPaginator(n.options.EC2, &ec2.DescribeInstancesInput{
		Filters: []types.Filter{{Name: aws.String("tag-key"), Values: []string{names.ClusterTag(n.options.InfraID)}}},
	})
	var all []types.Instance
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing instances: %w", err)
		}
		for _, reservation := range page.Reservations {
			all = append(all, reservation.Instances...)
		}
	}
	return all, nil
}

func providerID(i types.Instance) string {
	return "aws:///" + aws.ToString(i.Placement.AvailabilityZone) + "/" + aws.ToString(i.InstanceId)
}
