//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// TestCustomerNetwork lets the API server of a private cluster reach what only the customer's network reaches: an issuer of OIDC tokens, an audit
// webhook and an admission webhook, by a name that only the VPC knows, and an admission webhook at an address of the VPC. They are served by a
// machine of the cluster, as by any other host of the VPC.
func TestCustomerNetwork(t *testing.T) {
	begin(t)
	h := newHosted(t, "network", on.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
	h.create()
	pool := h.nodePool("network", 1)
	h.must(h.management.Create(t.Context(), pool))
	n := h.newCustomerServers()
	h.available()
	h.eventually("the machine is a node", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	n.start()

	h.waitForCondition(hyperv1.HostedClusterProgressing, "False")
	h.eventually("a token of an issuer in the VPC names its user", n.whoAmI)
	n.register()
	for _, asked := range []string{byService, byURL} {
		h.eventually("a webhook in the VPC, "+asked+", refuses a ConfigMap", func(ctx context.Context) error { return n.refused(ctx, asked) })
	}
	h.eventually("audit events arrive in the VPC", n.receivesAudit)
}

// refused returns an error unless the webhook refuses a ConfigMap.
func (n *customerServers) refused(ctx context.Context, asked string) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "refused", Labels: map[string]string{askLabel: asked}}}
	err := n.admin().Create(ctx, cm)
	if err == nil {
		return client.IgnoreNotFound(n.admin().Delete(ctx, cm))
	}
	if want := "denied the request"; !strings.Contains(err.Error(), want) {
		return fmt.Errorf("got %w, want %q", err, want)
	}
	return nil
}

// receivesAudit returns an error unless the server of audit events has received some. Its log has a line for each request.
func (n *customerServers) receivesAudit(context.Context) error {
	if log := n.hosted.kubectl("logs corp -c audit"); !strings.Contains(log, "GET "+auditPath) {
		return fmt.Errorf("the server of audit events has received none: %s", log)
	}
	return nil
}

// customerServers are an issuer and a webhook on a host of the customer's network.
type customerServers struct {
	*hosted
	image     string
	authority *pki.Signer
	signer    *webidentity.Signer
	documents map[int]string
}

// The names and ports of the servers. The security group of the machines admits node ports.
const (
	corpHost    = "hosts.corp.test"
	issuerPort  = 30443
	keysPort    = 30444
	webhookPort = 30445
	auditPort   = 30446
	// auditPath is a path of which the server logs the requests, and answers with 200.
	auditPath     = "/clientip"
	corpDomain    = "corp.test"
	webhookOfVPC  = "outside"
	corpProvider  = "corp"
	corpAuthority = "corp-ca"
	corpAudit     = "corp-audit"
	// askLabel names the webhook that decides about a ConfigMap.
	askLabel  = "ask"
	byService = "by-service"
	byURL     = "by-url"
)

// newCustomerServers prepares the servers, and lets the cluster trust the issuer.
func (h *hosted) newCustomerServers() *customerServers {
	h.t.Helper()
	n := &customerServers{hosted: h}
	pushed, err := images.Push(h.t.Context(), images.Options{Registry: cluster.Registry, Progress: h.t.Output()}, images.Agnhost)
	h.must(err)
	n.image = pushed[images.Agnhost]
	n.authority, err = pki.NewSigner("corp", "", time.Now())
	h.must(err)
	private, public, err := webidentity.GenerateKey()
	h.must(err)
	url := fmt.Sprintf("https://%s:%d", corpHost, issuerPort)
	n.signer, err = webidentity.NewSigner(private, url, clock.RealClock{})
	h.must(err)
	keys, err := webidentity.JWKS(public)
	h.must(err)
	discovery, err := json.Marshal(map[string]any{
		"issuer": url, "jwks_uri": fmt.Sprintf("https://%s:%d/keys", corpHost, keysPort), "response_types_supported": []string{"id_token"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256", "ES256"},
	})
	h.must(err)
	n.documents = map[int]string{issuerPort: string(discovery), keysPort: string(keys)}
	h.must(h.management.Create(h.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.hc.Namespace, Name: corpAuthority}, Data: map[string]string{"ca-bundle.crt": string(n.authority.Trust())},
	}))
	audit, err := webhookKubeconfig(fmt.Sprintf("https://%s:%d%s", corpHost, auditPort, auditPath), n.authority.Trust())
	h.must(err)
	h.must(h.management.Create(h.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.hc.Namespace, Name: corpAudit}, Data: map[string][]byte{"webhook-kubeconfig": audit},
	}))
	h.change(func(hc *hyperv1.HostedCluster) {
		hc.Annotations = map[string]string{hyperv1.OIDCProvidersInClusterNetworkAnnotation: corpProvider, hyperv1.WebhooksInClusterNetworkAnnotation: "true"}
		hc.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: corpAudit}
		hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: &configv1.AuthenticationSpec{
			Type: configv1.AuthenticationTypeOIDC,
			OIDCProviders: []configv1.OIDCProvider{{
				Name:          corpProvider,
				Issuer:        configv1.TokenIssuer{URL: url, Audiences: []configv1.TokenAudience{"kubernetes"}, CertificateAuthority: configv1.ConfigMapNameReference{Name: corpAuthority}},
				ClaimMappings: configv1.TokenClaimMappings{Username: configv1.UsernameClaimMapping{Claim: "sub", PrefixPolicy: configv1.NoPrefix}},
			}},
		}}
	})
	return n
}

// config is the user's, and admin a client with it.
func (n *customerServers) config() *rest.Config {
	n.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", n.kubeconfig)
	n.must(err)
	return config
}

func (n *customerServers) admin() client.Client {
	n.t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, discoveryv1.AddToScheme, admissionregistrationv1.AddToScheme, authenticationv1.AddToScheme} {
		n.must(add(scheme))
	}
	c, err := client.New(n.config(), client.Options{Scheme: scheme})
	n.must(err)
	return c
}

// start runs the servers on the network of a machine, and names the machine in a private zone of the VPC.
func (n *customerServers) start() {
	n.t.Helper()
	leaf, err := n.authority.Current.Issue(pki.Request{User: "corp", Usage: pki.Server, Hosts: []string{corpHost, webhookOfVPC + ".default.svc"}}, pki.DefaultTerms, time.Now())
	n.must(err)
	certificate := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "corp"}, Data: leaf.Data(n.authority.Trust())}
	mount := []corev1.VolumeMount{{Name: "certificate", MountPath: "/certificate"}}
	issuer := corev1.Container{Name: "issuer", Image: n.image, Args: []string{"porter"}, VolumeMounts: mount, Env: []corev1.EnvVar{
		{Name: "CERT_FILE", Value: "/certificate/tls.crt"}, {Name: "KEY_FILE", Value: "/certificate/tls.key"},
	}}
	for port, document := range n.documents {
		issuer.Env = append(issuer.Env, corev1.EnvVar{Name: fmt.Sprintf("SERVE_TLS_PORT_%d", port), Value: document})
	}
	webhook := corev1.Container{Name: "webhook", Image: n.image, VolumeMounts: mount, Args: []string{
		"webhook", "--tls-cert-file=/certificate/tls.crt", "--tls-private-key-file=/certificate/tls.key", fmt.Sprintf("--port=%d", webhookPort),
	}}
	audit := corev1.Container{Name: "audit", Image: n.image, VolumeMounts: mount, Args: []string{
		"netexec", "--tls-cert-file=/certificate/tls.crt", "--tls-private-key-file=/certificate/tls.key", fmt.Sprintf("--http-port=%d", auditPort), "--udp-port=-1",
	}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "corp"}, Spec: corev1.PodSpec{
		HostNetwork: true, Containers: []corev1.Container{issuer, webhook, audit}, TerminationGracePeriodSeconds: ptr.To[int64](0),
		Volumes: []corev1.Volume{{Name: "certificate", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "corp"}}}},
	}}
	admin := n.admin()
	n.must(admin.Create(n.t.Context(), certificate))
	n.must(admin.Create(n.t.Context(), pod))
	n.eventually("the servers run", func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("the pod is %s: %+v", pod.Status.Phase, pod.Status.ContainerStatuses)
		}
		return nil
	})
	zone := ""
	n.must(on.AWS.Given(n.t.Context(), n.customer.Account, func() (err error) {
		zone, err = on.AWS.PrivateZone(n.t.Context(), n.customer.Account, corpDomain, n.customer.VPC)
		return err
	}))
	record := func(ctx context.Context, action types.ChangeAction) error {
		_, err := route53.NewFromConfig(on.AWS.Config(n.customer.Account)).ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
			HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{Changes: []types.Change{{Action: action, ResourceRecordSet: &types.ResourceRecordSet{
				Name: aws.String(corpHost), Type: types.RRTypeA, TTL: aws.Int64(60), ResourceRecords: []types.ResourceRecord{{Value: &pod.Status.HostIP}},
			}}}},
		})
		return err
	}
	n.must(record(n.t.Context(), types.ChangeActionUpsert))
	n.t.Cleanup(func() { n.must(record(context.WithoutCancel(n.t.Context()), types.ChangeActionDelete)) })
	n.host(pod.Status.HostIP)
}

// host creates a Service without pods, whose endpoint is the host.
func (n *customerServers) host(address string) {
	n.t.Helper()
	meta := metav1.ObjectMeta{Namespace: "default", Name: webhookOfVPC}
	n.must(n.admin().Create(n.t.Context(), &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}))
	meta.Labels = map[string]string{discoveryv1.LabelServiceName: webhookOfVPC}
	n.must(n.admin().Create(n.t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}},
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To(""), Port: ptr.To[int32](webhookPort), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}))
}

// whoAmI returns an error unless a token of the issuer names its user.
func (n *customerServers) whoAmI(ctx context.Context) error {
	token, err := n.signer.Token("jane", "kubernetes", 10*time.Minute)
	if err != nil {
		return err
	}
	config := rest.AnonymousClientConfig(n.config())
	config.BearerToken = token
	user, err := client.New(config, client.Options{Scheme: n.admin().Scheme()})
	if err != nil {
		return err
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := user.Create(ctx, review); err != nil {
		return err
	}
	if got := review.Status.UserInfo.Username; got != "jane" {
		return fmt.Errorf("the user is %q", got)
	}
	return nil
}

// register lets the webhook decide about ConfigMaps with a label.
func (n *customerServers) register() {
	n.t.Helper()
	const path = "/always-deny"
	webhook := func(asked string, at admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.ValidatingWebhook {
		at.CABundle = n.authority.Trust()
		return admissionregistrationv1.ValidatingWebhook{
			Name: asked + ".corp.test", SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: at, ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{askLabel: asked}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}
	}
	n.must(n.admin().Create(n.t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhookOfVPC},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			webhook(byService, admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: webhookOfVPC, Path: ptr.To(path)},
			}),
			webhook(byURL, admissionregistrationv1.WebhookClientConfig{URL: ptr.To(fmt.Sprintf("https://%s:%d%s", corpHost, webhookPort, path))}),
		},
	}))
}
