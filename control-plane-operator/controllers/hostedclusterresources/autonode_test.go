package hostedclusterresources

import (
	"context"
	"crypto/x509"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/autonode"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/certificaterequests/requesttest"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instance"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

const onDemandToken = "ondema"

// instances maps the IDs of running EC2 instances with the cluster's tag to their private names.
type instances map[string]string

func (i instances) DescribeInstances(_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	out := &ec2.DescribeInstancesOutput{}
	for _, id := range in.Filters[0].Values {
		if name, runs := i[id]; runs {
			out.Reservations = append(out.Reservations, types.Reservation{Instances: []types.Instance{{
				InstanceId: aws.String(id), PrivateDnsName: aws.String(name), PrivateIpAddress: aws.String(requesttest.NodeIP), LaunchTime: aws.Time(time.Now()),
			}}})
		}
	}
	return out, nil
}

// onDemand gives the cluster nodes on demand, and the objects that the hypershift-operator writes for them.
func (e *hostedCluster) onDemand() {
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.Region = "us-east-1"
		hcp.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "team", Value: "a"}, {Key: names.ClusterTag("demo-x"), Value: names.ClusterTagValue}}
		hcp.Spec.AutoNode = &hyperv1.AutoNode{Provisioner: hyperv1.ProvisionerConfig{Name: hyperv1.ProvisionerKarpenter, Karpenter: &hyperv1.KarpenterConfig{
			Platform: hyperv1.AWSPlatform, AWS: &hyperv1.KarpenterAWSConfig{RoleARN: "arn:aws:iam::222222222222:role/karpenter"},
		}}}
	})
	e.status(func(s *hyperv1.HostedControlPlaneStatus) {
		s.Platform = &hyperv1.PlatformStatus{AWS: &hyperv1.AWSPlatformStatus{DefaultWorkerSecurityGroupID: "sg-0a"}}
	})
	rel, err := e.releases.Resolve(e.T.Context(), oldImage, nil)
	e.Must(err)
	e.releases.Put(fakerelease.With(rel, func(rel *release.Release) { rel.Components[names.Karpenter] = "registry/karpenter:1" }))
	e.Create(secret(names.AutoNode, corev1.SecretTypeOpaque, map[string][]byte{
		names.AutoNodeUserData: []byte("user data"), names.AutoNodeImage: []byte("ami-0a"), names.AutoNodeRootDevice: []byte("/dev/sda1"), names.AutoNodeSubnets: []byte("subnet-0a,subnet-0b"),
		names.AutoNodeTokenID: []byte(onDemandToken), names.AutoNodeTokenSecret: []byte("0123456789abcdef"),
	}))
}

// With the real CRDs and permissions: the default objects are valid, a node that Karpenter has launched joins and no other one, and
// a deleted cluster removes them.
func TestNodesOnDemandOnARealAPIServer(t *testing.T) {
	t.Parallel()
	a := startAPIServer(t)
	running := instances{"i-0a": requesttest.NodeName, "i-0b": requesttest.OtherNode}
	a.reconciler.Instances = func(context.Context, *hyperv1.HostedControlPlane) (instance.DescribeAPI, error) { return running, nil }
	a.onDemand()
	for range 10 {
		a.Once()
	}
	master := a.client(a.as("test", "system:masters"))
	a.expectAutoNode(hyperv1.WaitingForAvailableReason)
	class := a.object(master, autonode.EC2NodeClass.Kind, "default")
	for path, want := range map[string]string{"userData": "user data", "instanceProfile": "demo-x-worker"} {
		if got := nested(class, "spec", path); got != want {
			t.Errorf("%s of the EC2NodeClass is %q", path, got)
		}
	}
	if devices, _, _ := unstructured.NestedSlice(class.Object, "spec", "blockDeviceMappings"); len(devices) != 1 || devices[0].(map[string]any)["deviceName"] != "/dev/sda1" {
		t.Errorf("its volumes are %v, want one at the root device of the image", devices)
	}
	if tags, _, _ := unstructured.NestedStringMap(class.Object, "spec", "tags"); len(tags) != 1 || tags["team"] != "a" {
		t.Errorf("its tags are %v", tags)
	}
	a.object(master, autonode.NodePool.Kind, "default")

	karpenter := a.client(a.as(names.KarpenterUser))
	operator := a.client(a.as(names.ControlPlaneOperatorUser, names.ControlPlaneOperatorGroup))
	for _, c := range []struct {
		who               client.Client
		verb, group, kind string
		want              bool
	}{
		{karpenter, "create", "karpenter.sh", "nodeclaims", true},
		{karpenter, "patch", "karpenter.k8s.aws", "ec2nodeclasses/status", true},
		{karpenter, "create", "", "pods/eviction", true},
		{karpenter, "get", "", "secrets", false},
		{karpenter, "create", "karpenter.sh", "nodepools", false},
		{karpenter, "update", "certificates.k8s.io", "certificatesigningrequests/approval", false},
		{karpenter, "patch", "apiextensions.k8s.io", "customresourcedefinitions", false},
		{operator, "create", "karpenter.sh", "nodeclaims", false},
		{operator, "delete", "karpenter.sh", "nodeclaims", true},
		{operator, "delete", "apiextensions.k8s.io", "customresourcedefinitions", false},
	} {
		if got := a.may(c.who, c.verb, c.group, c.kind, "kube-system"); got != c.want {
			t.Errorf("may %s %s: %v", c.verb, c.kind, got)
		}
	}

	if a.hasToken(master) {
		t.Error("the token is valid although no node is expected")
	}
	claim := a.claim(karpenter, "default-1", "i-0a")
	a.Once()
	if !a.hasToken(master) {
		t.Error("a node is expected, and there is no token")
	}
	a.requests(master, "of-the-node", requesttest.NodeName)
	a.requests(master, "of-an-instance-without-claim", requesttest.OtherNode)
	a.requests(master, "of-no-instance", "ip-10-9-9-9.ec2.internal")
	a.Once()
	for name, want := range map[string]bool{"of-the-node": true, "of-an-instance-without-claim": false, "of-no-instance": false} {
		if got := a.isApproved(master, name); got != want {
			t.Errorf("the request %s is approved: %v", name, got)
		}
	}
	a.requests(master, "with-another-key", requesttest.NodeName)
	a.Once()
	if a.isApproved(master, "with-another-key") {
		t.Error("one instance got two certificates")
	}

	a.Must(unstructured.SetNestedField(claim.Object, requesttest.NodeName, "status", "nodeName"))
	a.Must(karpenter.Status().Update(t.Context(), claim))
	a.Once()
	if a.hasToken(master) {
		t.Error("the node has joined, and the token is still valid")
	}
	hcp := &hyperv1.HostedControlPlane{}
	a.Must(a.Admin().Get(t.Context(), client.ObjectKeyFromObject(controlPlane()), hcp))
	if n := hcp.Status.AutoNode; n == nil || *n.NodeCount != 1 || *n.NodeClaimCount != 1 || *n.VCPUs != 2 {
		t.Errorf("the status counts %+v", n)
	}

	// The user keeps load balancers and volumes, but no instance may outlive its control plane.
	a.deleted(false)
	for range 5 {
		a.Once()
	}
	pools, claims := autonode.ListOf(autonode.NodePool), autonode.ListOf(autonode.NodeClaim)
	a.Must(master.List(t.Context(), pools))
	a.Must(master.List(t.Context(), claims))
	if len(pools.Items) != 0 {
		t.Errorf("%d NodePools are left, and would create nodes", len(pools.Items))
	}
	if len(claims.Items) != 1 || claims.Items[0].GetDeletionTimestamp() == nil || claims.Items[0].GetAnnotations()["karpenter.sh/nodeclaim-termination-timestamp"] == "" {
		t.Errorf("the NodeClaim is not being deleted: %v", claims.Items)
	}
	a.ExpectConditionText(destroyed, "False "+hyperv1.CloudResourcesRemainingReason+": instance i-0a of NodeClaim default-1")
	claims.Items[0].SetFinalizers(nil) // Karpenter has terminated the instance
	a.Must(master.Update(t.Context(), &claims.Items[0]))
	a.Once() // no finalizer of Karpenter keeps the EC2NodeClass
	a.Must(a.Admin().Get(t.Context(), client.ObjectKeyFromObject(controlPlane()), hcp))
	if !meta.IsStatusConditionTrue(hcp.Status.Conditions, destroyed) {
		t.Errorf("nothing is left, and the conditions are %v", hcp.Status.Conditions)
	}
}

// Without spec.autoNode, Karpenter drains and terminates its nodes: no program sets the time after which it would not wait for pods.
func TestRemovedAutoNodeDrainsItsNodes(t *testing.T) {
	t.Parallel()
	a := startAPIServer(t)
	a.reconciler.Instances = func(context.Context, *hyperv1.HostedControlPlane) (instance.DescribeAPI, error) {
		return instances{"i-0a": requesttest.NodeName}, nil
	}
	a.onDemand()
	for range 10 {
		a.Once()
	}
	master := a.client(a.as("test", "system:masters"))
	a.claim(a.client(a.as(names.KarpenterUser)), "default-1", "i-0a")
	a.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.AutoNodeRemovedAnnotation, yes)
	})
	for range 2 {
		a.Once()
	}
	a.expectAutoNode(hyperv1.CloudResourcesRemainingReason)
	pools, claims := autonode.ListOf(autonode.NodePool), autonode.ListOf(autonode.NodeClaim)
	a.Must(master.List(t.Context(), pools))
	a.Must(master.List(t.Context(), claims))
	if len(pools.Items) != 0 {
		t.Errorf("%d NodePools are left, and would create nodes", len(pools.Items))
	}
	if len(claims.Items) != 1 || claims.Items[0].GetDeletionTimestamp() == nil || claims.Items[0].GetAnnotations()["karpenter.sh/nodeclaim-termination-timestamp"] != "" {
		t.Fatalf("the NodeClaim is not being deleted in the usual way: %v", claims.Items)
	}
	claims.Items[0].SetFinalizers(nil) // Karpenter has terminated the instance
	a.Must(master.Update(t.Context(), &claims.Items[0]))
	a.Once()
	hcp := &hyperv1.HostedControlPlane{}
	a.Must(a.Admin().Get(t.Context(), client.ObjectKeyFromObject(controlPlane()), hcp))
	if c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.AutoNodeEnabled); c != nil || hcp.Status.AutoNode != nil {
		t.Errorf("nothing is left, and the status has %+v and counts %+v", c, hcp.Status.AutoNode)
	}
}

func (a *apiServer) object(c client.Client, kind, name string) *unstructured.Unstructured {
	a.T.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(autonode.NodePool)
	if kind == autonode.EC2NodeClass.Kind {
		obj.SetGroupVersionKind(autonode.EC2NodeClass)
	}
	a.Must(c.Get(a.T.Context(), client.ObjectKey{Name: name}, obj))
	return obj
}

func (a *apiServer) expectAutoNode(reason string) {
	a.T.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	a.Must(a.Admin().Get(a.T.Context(), client.ObjectKeyFromObject(controlPlane()), hcp))
	if c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.AutoNodeEnabled); c == nil || c.Reason != reason || c.Status != metav1.ConditionFalse {
		a.T.Fatalf("%s is %+v, want reason %s; the conditions are %v", hyperv1.AutoNodeEnabled, c, reason, hcp.Status.Conditions)
	}
}

// claim returns a NodeClaim with an instance that Karpenter has launched.
func (a *apiServer) claim(karpenter client.Client, name, id string) *unstructured.Unstructured {
	a.T.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"nodeClassRef": map[string]any{"group": autonode.EC2NodeClass.Group, "kind": autonode.EC2NodeClass.Kind, "name": "default"},
		"requirements": []any{map[string]any{"key": corev1.LabelArchStable, "operator": "In", "values": []any{"amd64"}}},
	}}}
	obj.SetGroupVersionKind(autonode.NodeClaim)
	obj.SetName(name)
	obj.SetFinalizers([]string{"karpenter.sh/termination"})
	a.Must(karpenter.Create(a.T.Context(), obj))
	obj.Object["status"] = map[string]any{"providerID": "aws:///us-east-1a/" + id, "capacity": map[string]any{"cpu": "2"}}
	a.Must(karpenter.Status().Update(a.T.Context(), obj))
	return obj
}

func (a *apiServer) hasToken(c client.Client) bool {
	a.T.Helper()
	err := c.Get(a.T.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: bootstrapapi.BootstrapTokenSecretPrefix + onDemandToken}, &corev1.Secret{})
	a.Must(client.IgnoreNotFound(err))
	return err == nil
}

// requests is a request with the shared token, which the API server fills in as the user.
func (a *apiServer) requests(master client.Client, name, node string) {
	a.T.Helper()
	csr := requesttest.Joining(a.T, func(r *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) {
		r.Subject.CommonName = requesttest.NodeUser + node
	})
	csr.Name = name
	config := a.as(bootstrapapi.BootstrapUserPrefix+onDemandToken, bootstrapapi.BootstrapDefaultGroup)
	a.Must(a.client(config).Create(a.T.Context(), csr))
}

func (a *apiServer) isApproved(c client.Client, name string) bool {
	a.T.Helper()
	csr := &certificatesv1.CertificateSigningRequest{}
	a.Must(c.Get(a.T.Context(), client.ObjectKey{Name: name}, csr))
	for _, condition := range csr.Status.Conditions {
		if condition.Type == certificatesv1.CertificateApproved {
			return true
		}
	}
	return false
}

func nested(obj *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(obj.Object, path...)
	return text
}
