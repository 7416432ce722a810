package autonode

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
)

// A Claim is a node that Karpenter has requested.
type Claim struct {
	Name    string
	uid     types.UID
	created metav1.Time
	deleted *metav1.Time
	// Instance is the ID of the instance, and node the name of the Node; empty until they are known.
	Instance, node string
	cpus           int64
}

// nodeExpected is how long a node is expected after its NodeClaim was created. Karpenter gives up after fifteen minutes.
const nodeExpected = 20 * time.Minute

// isExpected reports whether the node has not joined yet and still may.
func (c *Claim) isExpected(now time.Time) bool {
	return c.node == "" && c.deleted == nil && now.Before(c.created.Add(nodeExpected))
}

// ReadClaim reads a NodeClaim.
func ReadClaim(obj *unstructured.Unstructured) Claim {
	c := Claim{Name: obj.GetName(), uid: obj.GetUID(), created: obj.GetCreationTimestamp(), deleted: obj.GetDeletionTimestamp(), node: field(obj, "status", "nodeName")}
	if id := field(obj, "status", "providerID"); strings.HasPrefix(id, "aws:///") {
		c.Instance = id[strings.LastIndex(id, "/")+1:]
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

// List returns the nodes on demand, and the resource version at which a watch of them begins. A cluster without the kinds of Karpenter has
// none, and no such version.
func List(ctx context.Context, cluster *connection.Cluster) (claims []Claim, resourceVersion string, err error) {
	list := ListOf(NodeClaim)
	err = cluster.Client.List(ctx, list)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("listing NodeClaims: %w", err)
	}
	for i := range list.Items {
		claims = append(claims, ReadClaim(&list.Items[i]))
	}
	return claims, list.GetResourceVersion(), nil
}

// Status returns the numbers for the status.
func Status(claims []Claim) *hyperv1.AutoNodeStatus {
	nodes, vcpus := int64(0), int64(0)
	for _, c := range claims {
		if c.node != "" {
			nodes++
			vcpus += int64(count(c.cpus))
		}
	}
	return &hyperv1.AutoNodeStatus{NodeCount: ptr.To(count(nodes)), NodeClaimCount: ptr.To(count(int64(len(claims)))), VCPUs: ptr.To(count(vcpus))}
}

func field(obj *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(obj.Object, path...)
	return text
}
