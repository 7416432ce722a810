package hostedcluster

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
)

// notCopied are the fields of a HostedCluster's spec that desiredControlPlane does
// not copy, and why.
var notCopied = map[string]string{
	"Release":             "ReleaseImage is the image that has passed the release checks",
	"ControlPlaneRelease": "ControlPlaneReleaseImage is the image that has passed the release checks",
	"PausedUntil":         "a pause is written by a step of its own, and an apply always ends it",
}

// A new field of the spec must be copied to the HostedControlPlane, or named in
// notCopied: otherwise it is accepted and has no effect.
func TestEveryFieldOfTheSpecReachesTheHostedControlPlaneOrIsNamed(t *testing.T) {
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name = "clusters", "demo"
	populate(reflect.ValueOf(&hc.Spec).Elem())
	got := reflect.ValueOf((&Reconciler{}).desiredControlPlane(&scope{hc: hc, plane: controlplane.NamespaceOf(hc)}).Spec)
	spec := reflect.TypeOf(hc.Spec)
	for i := range spec.NumField() {
		name := spec.Field(i).Name
		copied := got.FieldByName(name)
		_, named := notCopied[name]
		switch {
		case named:
		case !copied.IsValid():
			t.Errorf("HostedControlPlaneSpec has no field %s", name)
		case copied.IsZero():
			t.Errorf("spec.%s is not copied", name)
		}
	}
	for name := range notCopied {
		if _, ok := spec.FieldByName(name); !ok {
			t.Errorf("notCopied names %s, which the spec does not have", name)
		}
	}
}

// The role of Karpenter stays until the control-plane-operator has reported that no node is left.
func TestRemovedAutoNodeStaysUntilItsNodesAreGone(t *testing.T) {
	enabled := &hyperv1.AutoNode{Provisioner: hyperv1.ProvisionerConfig{Name: hyperv1.ProvisionerKarpenter, Karpenter: &hyperv1.KarpenterConfig{
		Platform: hyperv1.AWSPlatform, AWS: &hyperv1.KarpenterAWSConfig{RoleARN: "arn:aws:iam::222222222222:role/karpenter"},
	}}}
	condition := []metav1.Condition{{Type: hyperv1.AutoNodeEnabled, Status: metav1.ConditionFalse}}
	for name, c := range map[string]struct {
		spec       *hyperv1.AutoNode
		inPlane    *hyperv1.AutoNode
		asked      bool
		conditions []metav1.Condition
		kept       bool
		removed    bool
	}{
		"never enabled":       {},
		"enabled":             {spec: enabled, inPlane: enabled, conditions: condition, kept: true},
		"enabled again":       {spec: enabled, inPlane: enabled, asked: true, conditions: condition, kept: true},
		"just removed":        {inPlane: enabled, conditions: condition, kept: true, removed: true},
		"not yet reported":    {inPlane: enabled, kept: true, removed: true},
		"nodes are left":      {inPlane: enabled, asked: true, conditions: condition, kept: true, removed: true},
		"no node is left":     {inPlane: enabled, asked: true},
		"removed from both":   {},
		"without provisioner": {spec: &hyperv1.AutoNode{}, inPlane: enabled, asked: true, conditions: condition, kept: true, removed: true},
	} {
		t.Run(name, func(t *testing.T) {
			hc, hcp := &hyperv1.HostedCluster{}, &hyperv1.HostedControlPlane{}
			hc.Spec.AutoNode, hcp.Spec.AutoNode, hcp.Status.Conditions = c.spec, c.inPlane, c.conditions
			if c.asked {
				hcp.Annotations = map[string]string{hyperv1.AutoNodeRemovedAnnotation: "true"}
			}
			got := (&Reconciler{}).desiredControlPlane(&scope{hc: hc, hcp: hcp, plane: controlplane.NamespaceOf(hc)})
			if kept := got.Spec.AutoNode.Karpenter() != nil; kept != c.kept {
				t.Errorf("the control plane has Karpenter: %v", kept)
			}
			if removed := got.Annotations[hyperv1.AutoNodeRemovedAnnotation] == "true"; removed != c.removed {
				t.Errorf("the nodes are to be removed: %v", removed)
			}
		})
	}
}

// populate sets every exported field below v to a value that is not zero.
func populate(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		populate(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		populate(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		populate(key)
		populate(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				populate(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	}
}
