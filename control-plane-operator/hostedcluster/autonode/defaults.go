package autonode

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/karpenter"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// crds are the kinds of Karpenter. They are not deleted with spec.autoNode: users may have objects of them.
var crds = objects.Set{
	Name: "karpenter-crds", Constant: true,
	Desired: func(context.Context, *objects.Builder) (objs []client.Object, err error) {
		for _, crd := range karpenter.CRDs() {
			objs = append(objs, crd.DeepCopy())
		}
		return objs, nil
	},
}

// defaults are the EC2NodeClass and the NodePool that every cluster with nodes on demand has.
func defaults(t *Template) objects.Set {
	return objects.Set{
		Name:  "karpenter-defaults",
		Kinds: []client.ObjectList{ListOf(NodePool), ListOf(EC2NodeClass)},
		Desired: func(_ context.Context, b *objects.Builder) ([]client.Object, error) {
			return []client.Object{desiredNodeClass(b.HCP, t), desiredNodePool()}, nil
		},
	}
}

// defaultName is the name of the EC2NodeClass and of the NodePool. Users can add others.
const defaultName = "default"

// desiredNodeClass selects resources by their IDs: a tag that another cluster shares must not lend its subnets.
func desiredNodeClass(hcp *hyperv1.HostedControlPlane, n *Template) *unstructured.Unstructured {
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
	return object(EC2NodeClass, map[string]any{
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
	return object(NodePool, map[string]any{
		"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": EC2NodeClass.Group, "kind": EC2NodeClass.Kind, "name": defaultName},
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
	obj.SetName(defaultName)
	return obj
}
