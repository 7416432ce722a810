package hostedcluster

import (
	"reflect"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controlplane"
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
	got := reflect.ValueOf(desiredControlPlane(&scope{hc: hc, plane: controlplane.NamespaceOf(hc)}).Spec)
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
