package versionpublisher

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/publishedconfig"
	"github.com/hosted-control-planes/hypershift/internal/supportedversions"
)

var versions = []string{"1.37", "1.36"}

// A new operator corrects what an earlier one or a person has written, and writes nothing else.
func TestPublish(t *testing.T) {
	for name, before := range map[string]*corev1.ConfigMap{
		"nothing was published": nil,
		"an earlier operator":   {Data: map[string]string{"supported-versions": `{"versions":["1.35"]}`, "server-version": "0.0.1"}},
		"a person":              {Data: map[string]string{"supported-versions": "1.37"}},
	} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			builder := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
					writes++
					return c.Create(ctx, obj, opts...)
				},
				Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
					writes++
					return c.Patch(ctx, obj, patch, opts...)
				},
			})
			if before != nil {
				before.ObjectMeta = metav1.ObjectMeta{Namespace: "hypershift", Name: supportedversions.Name, Labels: map[string]string{"theirs": "true"}}
				builder.WithObjects(before)
			}
			c := builder.Build()
			p := &Publisher{Writer: publishedconfig.Writer{Client: c, Reader: c}, Clock: clocktesting.NewFakeClock(time.Now()), Namespace: "hypershift", Version: "0.1.0", Versions: versions}
			for range 2 {
				if err := p.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			config := &corev1.ConfigMap{}
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "hypershift", Name: supportedversions.Name}, config); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(supportedversions.Of(config), versions) || config.Data["server-version"] != "0.1.0" || config.Labels[supportedversions.Label] != "true" || before != nil && config.Labels["theirs"] != "true" {
				t.Errorf("published %v with labels %v", config.Data, config.Labels)
			}
			if writes != 1 {
				t.Errorf("%d writes", writes)
			}
		})
	}
}

func TestAFailureIsRepeated(t *testing.T) {
	fails := true
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if fails {
				fails = false
				return errors.New("the API server does not answer")
			}
			return c.Create(ctx, obj, opts...)
		},
	}).Build()
	at := clocktesting.NewFakeClock(time.Now())
	p := &Publisher{Writer: publishedconfig.Writer{Client: c, Reader: c}, Clock: at, Namespace: "hypershift", Versions: versions}
	done := make(chan error)
	go func() { done <- p.Start(t.Context()) }()
	for !at.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	at.Step(retryAfter)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "hypershift", Name: supportedversions.Name}, &corev1.ConfigMap{}); err != nil {
		t.Error(err)
	}
}
