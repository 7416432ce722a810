package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestTheOperatorStaysForWhatOnlyItCanDelete(t *testing.T) {
	pools := func(n int) (out []client.Object) {
		for i := range n {
			out = append(out, &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: fmt.Sprint("pool-", i)}})
		}
		return out
	}
	for name, tc := range map[string]struct {
		objs []client.Object
		says []string // empty if it may go
	}{
		"nothing is left":    {},
		"a hosted cluster":   {objs: []client.Object{&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "example"}}}, says: []string{"can delete HostedCluster clusters/example:"}},
		"pools of no one":    {objs: pools(2), says: []string{"NodePool clusters/pool-0, NodePool clusters/pool-1:"}},
		"more than it names": {objs: pools(12), says: []string{"NodePool clusters/pool-0,", " and 2 more:"}},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := hyperv1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			err := checkNothingLeft(t.Context(), fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.objs...).Build())
			if (err != nil) != (len(tc.says) > 0) {
				t.Fatalf("error %v, want %q", err, tc.says)
			}
			for _, want := range tc.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestWithoutItsKindsThereIsNothingToStayFor(t *testing.T) {
	missing := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: hyperv1.GroupVersion.Group, Kind: "HostedCluster"}}
	}}
	if err := checkNothingLeft(t.Context(), fake.NewClientBuilder().WithInterceptorFuncs(missing).Build()); err != nil {
		t.Error(err)
	}
}
