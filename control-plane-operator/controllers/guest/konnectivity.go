package guest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/flow"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// konnectivityAgent opens tunnels from the nodes to the control plane, through
// which that reaches kubelets, pods and webhooks. Nothing else leads there.
var konnectivityAgent = part{
	name:      "konnectivity-agent",
	namespace: metav1.NamespaceSystem,
	kinds:     []client.ObjectList{&corev1.SecretList{}, &appsv1.DaemonSetList{}},
	desired:   desiredKonnectivity,
}

// contentsAnnotation, on the pods, is a hash of the certificate, which the agent
// reads once.
const contentsAnnotation = "hypershift.openshift.io/contents"

func desiredKonnectivity(r *Reconciler, ctx context.Context, s *scope) ([]client.Object, error) {
	if !slices.ContainsFunc(s.hcp.Spec.Services, func(m hyperv1.ServicePublishingStrategyMapping) bool { return m.Service == hyperv1.Konnectivity }) {
		return nil, nil // nobody could find the other end
	}
	image, err := r.image(ctx, s, names.KonnectivityAgentImage)
	if err != nil || image == "" {
		return nil, err
	}
	host, err := r.konnectivityHost(ctx, s)
	if err != nil {
		return nil, err
	}
	certificate := &corev1.Secret{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.KonnectivityAgentCertificate}, certificate)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.KonnectivityAgentCertificate, err)
	}
	if err != nil {
		return nil, flow.Wait(waitForSecret, hyperv1.WaitingForCertificateReason, "waiting for Secret %s with the certificate of the tunnels", names.KonnectivityAgentCertificate)
	}
	objs, err := assets("konnectivity-agent.yaml")
	if err != nil {
		return nil, err
	}
	agents := one[*appsv1.DaemonSet](objs)
	agents.Spec.Template.Annotations = map[string]string{contentsAnnotation: digest(certificate.Data)}
	pod := &agents.Spec.Template.Spec
	c := &pod.Containers[0]
	c.Image = image
	c.Args = append(c.Args, "--proxy-server-host="+host, "--proxy-server-port="+strconv.Itoa(konnectivityPort))
	pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: pullSecretName}}
	one[*corev1.Secret](objs).Data = certificate.Data
	return objs, nil
}

// konnectivityPort is that of the router, which serves the Route.
const konnectivityPort = 443

// konnectivityHost is the name in the Route of the tunnels, of which there is one.
func (r *Reconciler) konnectivityHost(ctx context.Context, s *scope) (string, error) {
	list := &routev1.RouteList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.hcp.Namespace)); err != nil {
		return "", fmt.Errorf("listing Routes: %w", err)
	}
	for _, route := range list.Items {
		if route.Spec.To.Name != names.KonnectivityServer {
			continue
		}
		host := route.Spec.Host
		for _, in := range route.Status.Ingress {
			host = cmp.Or(host, in.Host)
		}
		if host != "" {
			return host, nil
		}
	}
	return "", flow.Wait(0, hyperv1.WaitingForEndpointReason, "waiting for the host of the Route to %s", names.KonnectivityServer)
}

func digest(data map[string][]byte) string {
	sum := sha256.New()
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, pki.TrustKey} {
		part := sha256.Sum256(data[key])
		sum.Write(part[:])
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
