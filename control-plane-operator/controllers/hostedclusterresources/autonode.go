package hostedclusterresources

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/karpenter"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// The kinds of Karpenter. They are not in the scheme: only hosted clusters with nodes on demand serve them.
var (
	nodeClaimKind = schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: "NodeClaim"}
	nodePoolKind  = schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: "NodePool"}
	nodeClassKind = schema.GroupVersionKind{Group: "karpenter.k8s.aws", Version: "v1", Kind: "EC2NodeClass"}
)

func listOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	return list
}

// A nodeClaim is a node that Karpenter has requested.
type nodeClaim struct {
	name    string
	uid     types.UID
	created metav1.Time
	deleted *metav1.Time
	// instance is the ID of the instance, and node the name of the Node; empty until they are known.
	instance, node string
	cpus           int64
}

// nodeExpected is how long a node is expected after its NodeClaim was created. Karpenter gives up after fifteen minutes.
const nodeExpected = 20 * time.Minute

// isExpected reports whether the node has not joined yet and still may.
func (c *nodeClaim) isExpected(now time.Time) bool {
	return c.node == "" && c.deleted == nil && now.Before(c.created.Add(nodeExpected))
}

func readNodeClaim(obj *unstructured.Unstructured) nodeClaim {
	c := nodeClaim{name: obj.GetName(), uid: obj.GetUID(), created: obj.GetCreationTimestamp(), deleted: obj.GetDeletionTimestamp(), node: field(obj, "status", "nodeName")}
	if id := field(obj, "status", "providerID"); strings.HasPrefix(id, "aws:///") {
		c.instance = id[strings.LastIndex(id, "/")+1:]
	}
	if cpus, err := resource.ParseQuantity(field(obj, "status", "capacity", "cpu")); err == nil {
		c.cpus = cpus.Value()
	}
	return c
}

// count returns a number for a status field, which is not negative. Administrators of the hosted cluster can write any capacity into a
// NodeClaim: a number that overflows would make the whole status invalid.
func count(n int64) int32 {
	return int32(min(max(n, 0), math.MaxInt32))
}

// findNodeClaims reads the nodes on demand. A cluster without the kinds of Karpenter has none.
func (r *Reconciler) findNodeClaims(ctx context.Context, s *scope) error {
	s.hcp.Status.AutoNode = nil
	if s.hcp.Spec.AutoNode.Karpenter() == nil {
		return nil
	}
	list := listOf(nodeClaimKind)
	err := s.hosted.client.List(ctx, list)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing NodeClaims: %w", err)
	}
	s.claimsVersion = list.GetResourceVersion()
	nodes, vcpus := int64(0), int64(0)
	for i := range list.Items {
		c := readNodeClaim(&list.Items[i])
		s.claims = append(s.claims, c)
		if c.node != "" {
			nodes++
			vcpus += int64(count(c.cpus))
		}
	}
	s.hcp.Status.AutoNode = &hyperv1.AutoNodeStatus{NodeCount: ptr.To(count(nodes)), NodeClaimCount: ptr.To(count(int64(len(list.Items)))), VCPUs: ptr.To(count(vcpus))}
	return nil
}

// karpenterCRDs are the kinds of Karpenter. They are not deleted with spec.autoNode: users may have objects of them.
var karpenterCRDs = part{
	name: "karpenter-crds",
	desired: func(*Reconciler, context.Context, *scope) (objs []client.Object, err error) {
		for _, crd := range karpenter.CRDs() {
			objs = append(objs, crd.DeepCopy())
		}
		return objs, nil
	},
}

// karpenterDefaults are the EC2NodeClass and the NodePool that every cluster with nodes on demand has.
var karpenterDefaults = part{
	name:    "karpenter-defaults",
	kinds:   []client.ObjectList{listOf(nodePoolKind), listOf(nodeClassKind)},
	desired: desiredKarpenter,
}

// karpenterInterval is the interval for checking what is not watched.
const karpenterInterval = 10 * time.Second

// ensureAutoNode applies what Karpenter needs in the hosted cluster, and reports whether nodes are created on demand. What is
// missing delays only these nodes: it is no error of the other objects.
func (r *Reconciler) ensureAutoNode(ctx context.Context, s *scope) error {
	reconcileNodes := r.autoNodeCondition
	if s.hcp.Annotations[hyperv1.AutoNodeRemovedAnnotation] == yes {
		reconcileNodes = r.removeAutoNode
	}
	c, err := reconcileNodes(ctx, s)
	if err != nil {
		return err
	}
	if c.Status == "" {
		s.hcp.Status.AutoNode = nil
		meta.RemoveStatusCondition(&s.hcp.Status.Conditions, hyperv1.AutoNodeEnabled)
		return nil
	}
	if c.Status != metav1.ConditionTrue {
		s.requeueAfter(karpenterInterval)
	}
	c.Type, c.ObservedGeneration = hyperv1.AutoNodeEnabled, s.hcp.Generation
	reconcile.SetCondition(&s.hcp.Status.Conditions, c, r.Clock.Now())
	return nil
}

// removeAutoNode deletes the nodes on demand after spec.autoNode was removed, with the NodePools that would create them again.
// Karpenter drains each node. The condition is empty when nothing is left.
func (r *Reconciler) removeAutoNode(ctx context.Context, s *scope) (c metav1.Condition, err error) {
	left := &cloudResources{}
	if err := left.listNodes(ctx, s.hosted.client); err != nil || left.empty() {
		return c, err
	}
	if err := left.removeNodes(ctx, s.hosted.client, true); err != nil {
		return c, err
	}
	var remaining []string
	for _, l := range left.leftovers() {
		remaining = append(remaining, l.String())
	}
	return metav1.Condition{
		Status: metav1.ConditionFalse, Reason: hyperv1.CloudResourcesRemainingReason,
		Message: "spec.autoNode was removed: waiting until Karpenter has drained and removed " + cmp.Or(summarize(remaining), "the NodePools"),
	}, nil
}

// autoNodeCondition applies what Karpenter needs, and returns the condition AutoNodeEnabled. It is empty without spec.autoNode.
func (r *Reconciler) autoNodeCondition(ctx context.Context, s *scope) (c metav1.Condition, err error) {
	if s.hcp.Spec.AutoNode.Karpenter() == nil {
		return c, nil
	}
	no := func(reason, format string, args ...any) (metav1.Condition, error) {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}, nil
	}
	payload, err := r.resolve(ctx, s)
	if err != nil {
		return c, err
	}
	if payload.Components[names.Karpenter] == "" {
		return no(hyperv1.MissingReleaseImagesReason, "release %s has no image %s: choose a release that has it, or remove spec.autoNode", payload.Version, names.Karpenter)
	}
	if err := r.ensure(ctx, s, karpenterCRDs); err != nil {
		return c, err
	}
	if s.node, err = r.nodeOnDemand(ctx, s); err != nil {
		return c, err
	}
	switch {
	case s.node == nil:
		return no(hyperv1.WaitingForReason, "waiting for the user data of nodes: Secret %s does not exist in namespace %s", names.AutoNode, s.hcp.Namespace)
	case s.node.image == "":
		return no(hyperv1.NodePoolImageUnknownReason, "release %s names no machine image for arch amd64 in region %s: choose another release", payload.Version, s.hcp.Spec.Platform.AWS.Region)
	case s.node.subnets == nil:
		return no(hyperv1.WaitingForReason, "no subnet for nodes is known: set spec.platform.aws.cloudProviderConfig.subnet.id, or create a node pool")
	case s.node.securityGroup == "":
		return no(hyperv1.WaitingForReason, "waiting for the security group of the workers: see condition %s", hyperv1.AWSDefaultSecurityGroupCreated)
	}
	err = r.ensure(ctx, s, karpenterDefaults)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return no(hyperv1.WaitingForReason, "waiting until the API server serves the kinds of Karpenter")
	}
	if err != nil {
		return c, err
	}
	component := &hyperv1.ControlPlaneComponent{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.Karpenter}, component)
	if client.IgnoreNotFound(err) != nil {
		return c, fmt.Errorf("getting ControlPlaneComponent %s: %w", names.Karpenter, err)
	}
	if !meta.IsStatusConditionTrue(component.Status.Conditions, hyperv1.ControlPlaneComponentAvailable) {
		return no(hyperv1.WaitingForAvailableReason, "waiting for Deployment %s in namespace %s", names.Karpenter, s.hcp.Namespace)
	}
	class := &unstructured.Unstructured{}
	class.SetGroupVersionKind(nodeClassKind)
	if err := s.hosted.client.Get(ctx, client.ObjectKey{Name: karpenterDefault}, class); err != nil {
		return c, fmt.Errorf("getting EC2NodeClass %s: %w", karpenterDefault, err)
	}
	if ready, why := isKarpenterReady(class); !ready {
		return no(hyperv1.WaitingForAvailableReason, "EC2NodeClass %s of the hosted cluster is not ready: %s", karpenterDefault, why)
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: reconcile.AllIsWell}, nil
}

// isKarpenterReady reads the condition Ready of an object of Karpenter.
func isKarpenterReady(obj *unstructured.Unstructured) (ready bool, why string) {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" {
			return c["status"] == "True", fmt.Sprint(c["message"])
		}
	}
	return false, "Karpenter has not reconciled it yet"
}

// A nodeOnDemand is what the default EC2NodeClass is made from.
type nodeOnDemand struct {
	userData, image, rootDevice string
	subnets                     []string
	securityGroup               string
}

// defaultRootDevice is the root device of the images of Amazon Linux, Debian and Flatcar. EC2 would make an additional volume for the
// mapping of another device, and the root volume would keep the size of the image.
const defaultRootDevice = "/dev/xvda"

// nodeOnDemand reads it; it is nil while the hypershift-operator has not written it.
func (r *Reconciler) nodeOnDemand(ctx context.Context, s *scope) (*nodeOnDemand, error) {
	secret, err := r.autoNodeSecret(ctx, s)
	if secret == nil || err != nil {
		return nil, err
	}
	n := &nodeOnDemand{
		userData: string(secret.Data[names.AutoNodeUserData]), image: string(secret.Data[names.AutoNodeImage]),
		rootDevice: cmp.Or(string(secret.Data[names.AutoNodeRootDevice]), defaultRootDevice),
	}
	if text := string(secret.Data[names.AutoNodeSubnets]); text != "" {
		n.subnets = strings.Split(text, ",")
	}
	if p := s.hcp.Status.Platform; p != nil && p.AWS != nil {
		n.securityGroup = p.AWS.DefaultWorkerSecurityGroupID
	}
	return n, nil
}

// autoNodeSecret returns the Secret of the hypershift-operator, or nil.
func (r *Reconciler) autoNodeSecret(ctx context.Context, s *scope) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.AutoNode}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.AutoNode, err)
	}
	return secret, nil
}

// karpenterDefault is the name of the EC2NodeClass and of the NodePool. Users can add others.
const karpenterDefault = "default"

func desiredKarpenter(_ *Reconciler, _ context.Context, s *scope) ([]client.Object, error) {
	return []client.Object{desiredNodeClass(s.hcp, s.node), desiredNodePool()}, nil
}

// desiredNodeClass selects resources by their IDs: a tag that another cluster shares must not lend its subnets.
func desiredNodeClass(hcp *hyperv1.HostedControlPlane, n *nodeOnDemand) *unstructured.Unstructured {
	var subnets []any
	for _, id := range n.subnets {
		subnets = append(subnets, map[string]any{"id": id})
	}
	tags := map[string]any{}
	for _, t := range hcp.Spec.Platform.AWS.ResourceTags {
		if t.Key != names.ClusterTag(hcp.Spec.InfraID) { // Karpenter sets it, and rejects it here
			tags[t.Key] = t.Value
		}
	}
	return object(nodeClassKind, map[string]any{
		"amiFamily":                  "Custom",
		"amiSelectorTerms":           []any{map[string]any{"id": n.image}},
		"subnetSelectorTerms":        subnets,
		"securityGroupSelectorTerms": []any{map[string]any{"id": n.securityGroup}},
		"instanceProfile":            names.InstanceProfile(hcp.Spec.InfraID),
		"userData":                   n.userData,
		"tags":                       tags,
		// As of the machines of node pools.
		"metadataOptions": map[string]any{"httpEndpoint": "enabled", "httpProtocolIPv6": "disabled", "httpPutResponseHopLimit": int64(1), "httpTokens": "required"},
		"blockDeviceMappings": []any{map[string]any{
			"deviceName": n.rootDevice, "rootVolume": true,
			"ebs": map[string]any{"volumeSize": "120Gi", "volumeType": "gp3", "encrypted": true, "deleteOnTermination": true},
		}},
		// The default of the kubelet. Karpenter assumes the limit of the VPC CNI otherwise.
		"kubelet": map[string]any{"maxPods": int64(110)},
	})
}

// desiredNodePool creates nodes for every pod that fits on a current machine of AWS.
func desiredNodePool() *unstructured.Unstructured {
	in := func(key string, values ...any) any {
		return map[string]any{"key": key, "operator": "In", "values": values}
	}
	return object(nodePoolKind, map[string]any{
		"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": nodeClassKind.Group, "kind": nodeClassKind.Kind, "name": karpenterDefault},
			"requirements": []any{
				in(corev1.LabelArchStable, "amd64"), in(corev1.LabelOSStable, "linux"), in("karpenter.sh/capacity-type", "on-demand"),
				in("karpenter.k8s.aws/instance-category", "c", "m", "r"),
				map[string]any{"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": []any{"4"}},
			},
		}},
		"disruption": map[string]any{"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "30s"},
	})
}

func object(kind schema.GroupVersionKind, spec map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(kind)
	obj.SetName(karpenterDefault)
	return obj
}

// autoNodeToken returns the token of the nodes on demand for the hosted cluster. All of them have it in their user data,
// because Karpenter has no user data of one machine, and a new token would replace all nodes. It exists in the hosted cluster only
// while a node is expected, and yields only the certificate of an expected node (approveJoining).
func (r *Reconciler) autoNodeToken(ctx context.Context, s *scope) (*corev1.Secret, error) {
	var last time.Time
	for i := range s.claims {
		if c := &s.claims[i]; c.isExpected(r.Clock.Now()) && c.created.After(last) {
			last = c.created.Time
		}
	}
	if last.IsZero() {
		return nil, nil
	}
	secret, err := r.autoNodeSecret(ctx, s)
	if secret == nil || err != nil {
		return nil, err
	}
	ends := last.Add(nodeExpected)
	s.requeueAfter(ends.Sub(r.Clock.Now()))
	return inside(tokenOnDemand(secret, ends), r.Clock.Now()), nil
}
