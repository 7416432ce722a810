package accessapi

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	accessv1alpha1 "github.com/hosted-control-planes/hypershift/api/access/v1alpha1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/operatorcertificate"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// ServiceName is the name of the Service of the API, which the chart creates.
const ServiceName = "hypershift-access"

// apiService is the kind with which an API server announces another one. Its Go type would link the aggregator.
var apiService = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}

// apiServiceName is the name of the APIService, which its kind requires.
var apiServiceName = accessv1alpha1.GroupVersion.Version + "." + accessv1alpha1.GroupVersion.Group

// servingCertificate is the certificate of the server. The APIService has its authority.
type servingCertificate struct {
	issuer  *operatorcertificate.Issuer
	current atomic.Pointer[tls.Certificate]
}

func newServingCertificate(o Options) *servingCertificate {
	return &servingCertificate{issuer: &operatorcertificate.Issuer{
		Client: o.Client, Reader: o.Reader, Clock: o.Clock, Namespace: o.Namespace,
		Signer: ServiceName + "-signer", Secret: ServiceName,
		Wanted: pki.Request{User: ServiceName, Usage: pki.Server, Hosts: []string{ServiceName + "." + o.Namespace + ".svc"}},
	}}
}

// ensure renews the certificate when it is due, and publishes its authority.
func (c *servingCertificate) ensure(ctx context.Context) error {
	data, err := c.issuer.Ensure(ctx)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return fmt.Errorf("reading the certificate of the access API: %w", err)
	}
	c.current.Store(&pair)
	return c.publish(ctx, base64.StdEncoding.EncodeToString(data[pki.TrustKey]))
}

// publish sets the authority in the APIService, unless it has it already.
func (c *servingCertificate) publish(ctx context.Context, authority string) error {
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(apiService)
	service.SetName(apiServiceName)
	err := c.issuer.Reader.Get(ctx, client.ObjectKeyFromObject(service), service)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("APIService %s does not exist: create it, as the chart does, or remove --access-addr", apiServiceName)
	}
	if err != nil {
		return fmt.Errorf("reading APIService %s: %w", apiServiceName, err)
	}
	if found, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle"); found == authority {
		return nil
	}
	if err := c.issuer.Client.Patch(ctx, service, mergepatch.Spec(map[string]any{"caBundle": authority})); err != nil {
		return fmt.Errorf("publishing the authority of the access API in APIService %s: %w", apiServiceName, err)
	}
	return nil
}

// get is for tls.Config.
func (c *servingCertificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if current := c.current.Load(); current != nil {
		return current, nil
	}
	return nil, errors.New("the certificate of the access API is not there yet")
}
