//go:build e2e

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// guest returns a client of the hosted cluster: an administrator's client, or, with a token, the client of the token's owner.
func (h *hosted) guest(token string) client.Client {
	h.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", h.kubeconfig)
	h.must(err)
	if token != "" {
		config = rest.AnonymousClientConfig(config)
		config.BearerToken = token
	}
	config.WarningHandler = rest.NoWarnings{}
	c, err := client.New(config, client.Options{})
	h.must(err)
	return c
}

// managementNetworks are the networks of the nodes, pods and Services of the lab.
var managementNetworks = []string{"10.55.16.0/20", "10.55.48.0/20", "10.55.80.0/20", cluster.PodNetwork, cluster.ServiceNetwork}

// blockNetworks sets the networks that the installation blocks for control planes, none by default, and waits until the
// NetworkPolicy of this one has, or no longer has, the network of pods.
func (h *hosted) blockNetworks(networks ...string) {
	h.t.Helper()
	ctx := context.WithoutCancel(h.t.Context())
	list, err := json.Marshal(append([]string{}, networks...)) // [] without networks, not null
	h.must(err)
	_, err = on.Upgrade(ctx, "--reuse-values", "--set-json", "controlPlaneEgress.blockedCIDRs="+string(list))
	h.must(err)
	h.eventuallyIn(ctx, "the blocked networks have changed", func(ctx context.Context) error {
		policy, err := on.Kubectl(ctx, on.Kubeconfig, "", "get", "networkpolicy", "-n", h.namespace(), "management-kas", "-o", "yaml")
		if err == nil && strings.Contains(policy, cluster.PodNetwork) != slices.Contains(networks, cluster.PodNetwork) {
			err = errors.New(policy)
		}
		return err
	})
}

// attackWebhook makes the API server call addresses of the management network and compares the errors. If the errors for
// an open and a closed port differ, the API server is a port scanner. The installation blocks these networks.
func (h *hosted) attackWebhook() {
	node := h.podOf(names.Etcd).Status.HostIP
	h.blockNetworks(managementNetworks...)
	// Other scenarios need them: a control plane connects to the node port of its API server.
	h.t.Cleanup(func() { h.blockNetworks() })
	answers := map[string]string{}
	for what, url := range map[string]string{
		"an open port":  "https://" + node + ":10250/",
		"a closed port": "https://" + node + ":10999/",
		"a pod":         "https://" + h.operatorAddress() + ":8081/",
	} {
		answers[what] = h.callWebhook(url)
		h.t.Logf("%s: %s", what, answers[what])
	}
	for what, answer := range answers {
		if strings.Contains(answer, "refused") || strings.Contains(answer, "certificate") || strings.Contains(answer, "HTTP response") {
			h.t.Errorf("the hosted cluster can distinguish %s: %s", what, answer)
		}
	}
}

func (h *hosted) operatorAddress() string {
	h.t.Helper()
	pods := &corev1.PodList{}
	h.must(h.management.List(h.t.Context(), pods, client.InNamespace("hypershift")))
	return pods.Items[0].Status.PodIP
}

// callWebhook returns the error that a user gets when an admission webhook is at that address.
func (h *hosted) callWebhook(url string) string {
	h.t.Helper()
	manifest := fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: scan}
webhooks:
- name: scan.example.test
  clientConfig: {url: %q}
  timeoutSeconds: 3
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  matchConditions: [{name: mine, expression: "object.metadata.name == 'scan'"}]
`, url)
	_, err := on.Kubectl(h.t.Context(), h.kubeconfig, manifest, "apply", "-f", "-")
	h.must(err)
	defer h.kubectl("delete validatingwebhookconfiguration scan")
	var answer string
	h.eventually("the webhook is called", func(ctx context.Context) error {
		out, err := on.Kubectl(ctx, h.kubeconfig, "", "create", "configmap", "scan", "-n", "default", "--dry-run=server")
		if err == nil {
			return errors.New("it is not called yet")
		}
		answer = strings.ReplaceAll(lastLine(out), url, "URL")
		return nil
	})
	return answer
}

// attackIdentity makes the hosted API server issue tokens for the service accounts that the roles of the operators trust
// in HyperShift, and presents them to AWS.
func (h *hosted) attackIdentity() {
	roles := h.hc.Spec.Platform.AWS.RolesRef
	api := sts.NewFromConfig(aws.Config{Region: h.hc.Spec.Platform.AWS.Region, BaseEndpoint: aws.String(on.AWS.URL)})
	for subject, role := range map[string]string{
		names.ControlPlaneOperatorSubject: string(roles.ControlPlaneOperatorARN),
		names.CAPIProviderSubject:         string(roles.NodePoolManagementARN),
		names.CloudControllerSubject:      string(roles.KubeCloudControllerARN),
	} {
		account := subject[strings.LastIndex(subject, ":")+1:]
		if _, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "create", "serviceaccount", "-n", "kube-system", account); err != nil {
			h.t.Logf("service account %s: %v", account, err)
		}
		token, err := on.Kubectl(h.t.Context(), h.kubeconfig, "", "create", "token", "-n", "kube-system", account, "--audience="+names.WebIdentityAudience)
		if err != nil {
			h.t.Logf("refused: %v", err)
			continue
		}
		_, err = api.AssumeRoleWithWebIdentity(h.t.Context(), &sts.AssumeRoleWithWebIdentityInput{
			RoleArn: aws.String(role), RoleSessionName: aws.String("attack"), WebIdentityToken: aws.String(strings.TrimSpace(token)),
		})
		if err == nil {
			h.t.Errorf("an administrator of the hosted cluster can assume %s in AWS", role)
		} else {
			h.t.Logf("refused: %v", err)
		}
	}
}

// bootstrapToken waits for the bootstrap token in the user data of a new machine.
func (h *hosted) bootstrapToken() string {
	h.t.Helper()
	guest := h.guest("")
	var token string
	h.eventually("a bootstrap token exists", func(ctx context.Context) error {
		secrets := &corev1.SecretList{}
		if err := guest.List(ctx, secrets, client.InNamespace(metav1.NamespaceSystem)); err != nil {
			return err
		}
		for _, s := range secrets.Items {
			if s.Type == corev1.SecretTypeBootstrapToken {
				token = string(s.Data["token-id"]) + "." + string(s.Data["token-secret"])
				return nil
			}
		}
		return errors.New("no bootstrap token found")
	})
	return token
}

// attackNodeIdentity requests certificates with the bootstrap token of a new machine: for another node, for a node that
// does not exist, and for an identity that is not a node.
func (h *hosted) attackNodeIdentity(pool *hyperv1.NodePool) {
	nodes := &corev1.NodeList{}
	h.must(h.guest("").List(h.t.Context(), nodes))
	other := nodes.Items[0].Name
	h.eventually("the pool has a new machine", func(ctx context.Context) error {
		if err := h.management.Get(ctx, key(pool), pool); err != nil {
			return err
		}
		pool.Spec.Replicas = ptr.To[int32](3)
		return h.management.Update(ctx, pool)
	})
	if err := h.guest("abcdef.0123456789abcdef").List(h.t.Context(), nodes); !apierrors.IsUnauthorized(err) {
		h.t.Errorf("a bootstrap token that does not exist: %v", err)
	}
	thief := h.guest(h.bootstrapToken())
	requests := map[string]string{}
	for i, victim := range []string{other, "ip-10-1-99-99.ec2.internal"} {
		name := fmt.Sprintf("attack-%d", i)
		err := thief.Create(h.t.Context(), nodeRequest(h, name, victim))
		if err != nil {
			h.t.Logf("refused: %v", err)
			continue
		}
		requests[name] = victim
	}
	h.never("a bootstrap token got the certificate of another node", func() bool {
		for name, victim := range requests {
			csr := &certificatesv1.CertificateSigningRequest{}
			h.must(h.guest("").Get(h.t.Context(), client.ObjectKey{Name: name}, csr))
			if len(csr.Status.Certificate) > 0 {
				h.t.Logf("it is %s now", victim)
				return true
			}
		}
		return false
	})
	h.eventually("the machine joins in spite of it", func(ctx context.Context) error { return h.poolReady(ctx, pool, 3) })
}

// nodeRequest is a kubelet's request for the client certificate of a node.
func nodeRequest(h *hosted, name, node string) *certificatesv1.CertificateSigningRequest {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	h.must(err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
	}, private)
	h.must(err)
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
}

// attackKubelet checks that the API server verifies the serving certificates of kubelets, and that this cluster's
// certificates are valid.
func (h *hosted) attackKubelet() {
	verifies := func() bool {
		for _, c := range h.apiServer().Spec.Template.Spec.Containers {
			if regexp.MustCompile(`--kubelet-certificate-authority=\S+`).MatchString(strings.Join(append(c.Command, c.Args...), " ")) {
				return true
			}
		}
		return false
	}
	if !h.within(time.Minute, verifies) {
		h.t.Error("the API server accepts any serving certificate of a kubelet")
	}
	requests := h.kubectl("get certificatesigningrequests -o wide")
	if !strings.Contains(requests, "kubernetes.io/kubelet-serving") {
		h.t.Error("kubelets do not request serving certificates")
	}
}
