package userobjects

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// TestEveryReferenceIsListed fills every reference that the types of the spec
// have, by reflection, and wants all of them in the list that is written by hand.
func TestEveryReferenceIsListed(t *testing.T) {
	hc := &hyperv1.HostedCluster{}
	var want []string
	fill(reflect.ValueOf(&hc.Spec).Elem(), "spec", func(path string) string {
		want = append(want, path)
		return strings.ToLower(path)
	})
	var got []string
	for _, ref := range append(References(hc), PullSecretOf(&hc.Spec), SigningKeyOf(&hc.Spec)) {
		got = append(got, ref.Field)
		if *ref.Name != strings.ToLower(ref.Field) {
			t.Errorf("%s leads to %s", ref.Field, *ref.Name)
		}
	}
	for _, path := range want {
		if !slices.Contains(got, path) {
			t.Errorf("%s is not listed", path)
		}
	}
	for _, path := range got {
		if !slices.Contains(want, path) {
			t.Errorf("%s is listed, and the spec does not have it", path)
		}
	}
	if len(want) < 30 {
		t.Errorf("found only %d references: %v", len(want), want)
	}
}

// fill sets the name of each reference below v, and creates the objects on its path.
func fill(v reflect.Value, path string, name func(path string) string) {
	switch v.Interface().(type) {
	case configv1.SecretNameReference, configv1.ConfigMapNameReference, corev1.LocalObjectReference:
		v.FieldByName("Name").SetString(name(path))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), path, name)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), path+"[0]", name)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if tag == "" { // inline
				fill(v.Field(i), path, name)
				continue
			}
			fill(v.Field(i), path+"."+tag, name)
		}
	}
}

func TestNamesOfCopies(t *testing.T) {
	name := func(n string) string { return Reference{Name: &n}.CopyName() }
	if got := name("control-plane-operator-creds"); got != "copied-control-plane-operator-creds" {
		t.Errorf("got %s: it may shadow ours", got)
	}
	long := strings.Repeat("a", 253)
	if got := name(long); len(got) > 253 || got == name(long[1:]) || got == name(strings.Repeat("a", 252)+"b") {
		t.Errorf("got %s", got)
	}
}
