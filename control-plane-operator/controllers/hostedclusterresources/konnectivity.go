package hostedclusterresources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// konnectivityAgent opens tunnels from the nodes to the control plane. The control plane reaches kubelets, pods and
// webhooks only through them.
var konnectivityAgent = part{
	name:      "konnectivity-agent",
	namespace: metav1.NamespaceSystem,
	kinds:     []client.ObjectList{&corev1.SecretList{}, &appsv1.DaemonSetList{}},
	desired:   desiredKonnectivity,
}

// contentsAnnotation is an annotation of pods. It has a hash of the certificates and trusted authorities that their
// programs read only once.
const contentsAnnotation = "hypershift.openshift.io/contents"

func desiredKonnectivity(r *Reconciler, ctx context.Context, s *scope) ([]client.Object, error) {
	if hyperv1.PublishingOf(s.hcp.Spec.Services, hyperv1.Konnectivity).Type == "" {
		return nil, nil // agents could not reach the server
	}
	image, err := r.image(ctx, s, names.KonnectivityAgentImage)
	if err != nil || image == "" {
		return nil, err
	}
	at, err := publishing.Konnectivity(ctx, r.Client, s.hcp)
	if err != nil {
		return nil, err
	}
	if at.Name == "" {
		return nil, reconcile.Wait(0, hyperv1.WaitingForEndpointReason, "waiting for the address of %s for nodes", names.KonnectivityServer)
	}
	certificate := &corev1.Secret{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.KonnectivityAgentCertificate}, certificate)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.KonnectivityAgentCertificate, err)
	}
	if err != nil {
		return nil, reconcile.Wait(waitForSecret, hyperv1.WaitingForCertificateReason, "waiting for Secret %s with the certificate of the tunnels", names.KonnectivityAgentCertificate)
	}
	objs, err := assets("konnectivity-agent.yaml")
	if err != nil {
		return nil, err
	}
	agents := one[*appsv1.DaemonSet](objs)
	agents.Spec.Template.Annotations = map[string]string{
		contentsAnnotation: digest(certificate.Data[corev1.TLSCertKey], certificate.Data[corev1.TLSPrivateKeyKey], certificate.Data[pki.TrustKey]),
	}
	pod := &agents.Spec.Template.Spec
	c := &pod.Containers[0]
	c.Image = image
	c.Args = append(c.Args, "--proxy-server-host="+at.Name, "--proxy-server-port="+strconv.Itoa(int(at.Port)))
	pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: pullSecretName}}
	one[*corev1.Secret](objs).Data = certificate.Data
	return objs, nil
}

// digest hashes some texts in their order.
func digest(texts ...[]byte) string {
	sum := sha256.New()
	for _, text := range texts {
		part := sha256.Sum256(text)
		sum.Write(part[:])
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
