package objects

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// podIdentityWebhook registers the webhook that gives pods an identity in AWS, while there is a certificate for it. The webhook
// runs next to the API server. A pod that is created while it does not respond gets no identity.
var podIdentityWebhook = Set{
	Name:    names.PodIdentityWebhook,
	Kinds:   []client.ObjectList{&admissionregistrationv1.MutatingWebhookConfigurationList{}},
	Desired: desiredPodIdentityWebhook,
}

func desiredPodIdentityWebhook(ctx context.Context, b *Builder) ([]client.Object, error) {
	secret := &corev1.Secret{}
	err := b.Client.Get(ctx, client.ObjectKey{Namespace: b.HCP.Namespace, Name: names.PodIdentityWebhookCertificate}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.PodIdentityWebhookCertificate, err)
	}
	if len(secret.Data[pki.TrustKey]) == 0 {
		return nil, nil
	}
	objs, err := assets("pod-identity-webhook.yaml")
	if err != nil {
		return nil, err
	}
	for _, obj := range objs {
		hook := &obj.(*admissionregistrationv1.MutatingWebhookConfiguration).Webhooks[0]
		hook.ClientConfig.CABundle = secret.Data[pki.TrustKey]
	}
	return objs, nil
}
