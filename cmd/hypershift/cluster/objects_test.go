package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	awsinfra "github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// managementCluster returns a management cluster with objects.
func managementCluster(existing ...client.Object) *management.API {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	return &management.API{Client: fake.NewClientBuilder().WithScheme(s).WithObjects(existing...).Build()}
}

// The exit code of a usage error means that no call was made. At this point, the network and the roles exist.
func TestObjectThatHasChangedMeanwhileIsNoUsageError(t *testing.T) {
	secret := func(value string) *corev1.Secret {
		return &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-pull-secret"}, Data: map[string][]byte{"key": []byte(value)},
		}
	}
	o := objects{existing: existing{API: managementCluster(secret("other"))}}
	_, err := o.node(secret("wanted")).Read(t.Context(), rg.Lookup{})
	var usage *operation.UsageError
	if err == nil || errors.As(err, &usage) || !strings.Contains(err.Error(), "data.key has another value") {
		t.Errorf("got %T %v", err, err)
	}
}

// graphOf returns the graph of a cluster in a VPC with one subnet. With exists, both exist already.
func graphOf(t *testing.T, m *management.API, vpcID, subnetID string, exists bool) *rg.Graph {
	t.Helper()
	created := func(id string) *rg.Node {
		observed := rg.Observed{ID: map[string]string{"vpc": vpcID, "subnet": subnetID}[id]}
		return &rg.Node{
			ID: id, Kind: "Thing", Name: id,
			Read: func(context.Context, rg.Lookup) (rg.Observed, error) {
				if exists {
					return observed, nil
				}
				return rg.Observed{}, nil
			},
			Create: func(context.Context, rg.Creation) (rg.Observed, error) { return observed, nil },
		}
	}
	network := func(ids rg.IDs) awsinfra.Output {
		return awsinfra.Output{InfraID: "demo-x", Name: "demo", Region: "us-east-1", VPCID: ids("vpc"), Zones: []awsinfra.OutputZone{{Name: "us-east-1a", SubnetID: ids("subnet")}}}
	}
	draft := clustermanifests.Cluster{Namespace: "clusters", Name: "demo", PullSecret: []byte(clustermanifests.EmptyPullSecret), EncryptionKey: make([]byte, 32)}
	draft.Infra = network(func(node string) string {
		return map[string]string{"vpc": "vpc-00000000000000000", "subnet": "subnet-00000000000000000"}[node]
	})
	o := objects{existing: existing{API: m, infraID: "demo-x"}, draft: draft, network: network, after: []string{"vpc", "subnet"}}
	graph, err := rg.New(append([]*rg.Node{created("vpc"), created("subnet")}, o.nodes()...)...)
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

func run(t *testing.T, graph *rg.Graph) error {
	t.Helper()
	e := rg.NewEngine(graph, rg.NewMemory(), rg.Options{Classify: func(error) rg.Class { return rg.Fatal }})
	plan, err := e.Plan(t.Context())
	if err != nil {
		return err
	}
	return e.Apply(t.Context(), plan)
}

func TestObjectsHaveTheIDsOfTheNetwork(t *testing.T) {
	m := managementCluster()
	if err := run(t, graphOf(t, m, "vpc-1", "subnet-1", false)); err != nil {
		t.Fatal(err)
	}
	hc, pools := &hyperv1.HostedCluster{}, &hyperv1.NodePoolList{}
	if err := errors.Join(m.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc), m.List(t.Context(), pools)); err != nil {
		t.Fatal(err)
	}
	if got := hc.Spec.Platform.AWS.CloudProviderConfig.VPC; got != "vpc-1" || len(pools.Items) != 1 || *pools.Items[0].Spec.Platform.AWS.Subnet.ID != "subnet-1" {
		t.Errorf("VPC %s, pools %+v", got, pools.Items)
	}
	if err := run(t, graphOf(t, m, "vpc-1", "subnet-1", true)); err != nil {
		t.Errorf("the same command again: %v", err)
	}
}

// Someone has deleted the network, and the command has created another one.
func TestObjectsOfADeletedNetworkAreAnError(t *testing.T) {
	m := managementCluster()
	if err := run(t, graphOf(t, m, "vpc-1", "subnet-1", false)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		exists bool
		want   string
	}{
		"the new one does not exist yet": {false, `HostedCluster clusters/demo (clusters/demo) has spec.platform.aws.cloudProviderConfig.vpc "vpc-1" instead of that of a resource that does not exist yet`},
		"the new one exists":             {true, `has spec.platform.aws.cloudProviderConfig.vpc "vpc-1" instead of "vpc-2"`},
	} {
		if err := run(t, graphOf(t, m, "vpc-2", "subnet-2", c.exists)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A user may have permission to create Secrets and not to read them, and a namespace that an administrator has created.
func TestObjectsAreCreatedWithoutPermissionToReadThem(t *testing.T) {
	m := managementCluster(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}})
	m.Client = interceptor.NewClient(m.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			return apierrors.NewForbidden(corev1.Resource(fmt.Sprintf("%T", obj)), key.Name, nil)
		},
	})
	if err := run(t, graphOf(t, m, "vpc-1", "subnet-1", false)); err != nil {
		t.Fatal(err)
	}
	secrets := &corev1.SecretList{}
	if err := m.List(t.Context(), secrets); err != nil || len(secrets.Items) != 2 {
		t.Errorf("%d Secrets, %v", len(secrets.Items), err)
	}
}

func TestHostedClusterIsCreatedAfterEverythingItRefersTo(t *testing.T) {
	for _, n := range graphOf(t, managementCluster(), "vpc-1", "subnet-1", false).Nodes() {
		if n.Kind != "HostedCluster" {
			continue
		}
		for _, id := range []string{"vpc", "subnet", "Namespace clusters", "Secret clusters/demo-pull-secret", "Secret clusters/demo-etcd-encryption-key"} {
			if !slices.Contains(n.DependsOn, id) {
				t.Errorf("the HostedCluster depends on %v, want %s", n.DependsOn, id)
			}
		}
	}
}

func TestClassesOfErrorsOfTheAPIServer(t *testing.T) {
	secrets := corev1.Resource("secrets")
	for name, c := range map[string]struct {
		err  error
		want rg.Class
	}{
		"an earlier attempt": {apierrors.NewAlreadyExists(secrets, "a"), rg.Exists},
		"too many requests":  {apierrors.NewTooManyRequests("later", 1), rg.Throttled},
		"no answer":          {apierrors.NewTimeoutError("late", 1), rg.Unknown},
		"forbidden":          {apierrors.NewForbidden(secrets, "a", nil), rg.Fatal},
		"invalid":            {apierrors.NewBadRequest("no"), rg.Fatal},
	} {
		if got := classify(c.err); got != c.want {
			t.Errorf("%s: class %d, want %d", name, got, c.want)
		}
	}
}
