package zonepublisher

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/publishedconfig"
	"github.com/hosted-control-planes/hypershift/internal/kubescheme"
	"github.com/hosted-control-planes/hypershift/internal/servedzones"
)

func node(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{servedzones.NodeLabel: zone}}}
}

func service(name string, created int64, zones ...string) *hyperv1.AWSEndpointService {
	return &hyperv1.AWSEndpointService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-" + name, Name: "private-router", CreationTimestamp: metav1.Unix(created, 0)},
		Status:     hyperv1.AWSEndpointServiceStatus{AvailabilityZoneIDs: zones},
	}
}

func TestPublish(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kubescheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).Build()
	p := &Publisher{Writer: publishedconfig.Writer{Client: c, Reader: c}}
	at := time.Now().Unix()
	for _, step := range []struct {
		name string
		add  []client.Object
		want string // "" for no ConfigMap
	}{
		{"nothing is known", []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "without-a-zone"}}}, ""},
		{"nodes have zones", []client.Object{node("a", "use1-az2"), node("b", "use1-az1"), node("c", "use1-az2")}, "use1-az1,use1-az2"},
		{"an endpoint service has none yet", []client.Object{service("new", at)}, "use1-az1,use1-az2"},
		{"AWS reports the zones of an endpoint service", []client.Object{service("one", at, "use1-az6", "use1-az1")}, "use1-az1,use1-az6"},
		{"an older one has others", []client.Object{service("old", at-100, "use1-az4")}, "use1-az1,use1-az6"},
	} {
		for _, obj := range step.add {
			if err := c.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.publish(t.Context()); err != nil {
			t.Fatal(err)
		}
		config := &corev1.ConfigMap{}
		err := c.Get(t.Context(), servedzones.ConfigMap, config)
		if (step.want == "") != (err != nil) || config.Data[servedzones.IDsKey] != step.want {
			t.Errorf("%s: %v, published %q, want %q", step.name, err, config.Data[servedzones.IDsKey], step.want)
		}
		version := config.ResourceVersion
		if err := p.publish(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), servedzones.ConfigMap, config); err == nil && config.ResourceVersion != version {
			t.Errorf("%s: the same zones are written again", step.name)
		}
	}
	// Nodes may be thousands.
	p.Reader = interceptor.NewClient(c, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("the API server is asked for a list although an endpoint service exists")
	}})
	if err := p.publish(t.Context()); err != nil {
		t.Error(err)
	}
}
