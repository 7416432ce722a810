//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// TestIngress gives a cluster the ingress controller of its release. A user on the internet reaches an application by its name, as an Ingress and
// as an HTTPRoute, with a certificate that the cluster's authority has signed. Then the cluster becomes private: only its VPC knows the names.
// The deletion of the cluster leaves no load balancer and no record.
func TestIngress(t *testing.T) {
	begin(t)
	const domain, host = "shop.test", "web.apps.ingress.shop.test"
	h := newHosted(t, "ingress", on.Versions[0])
	pushed, err := images.Push(t.Context(), images.Options{Registry: cluster.Registry, Progress: t.Output()}, images.Traefik)
	h.must(err)
	h.hc.Spec.Release.Image, err = on.PushRelease(t.Context(), "v"+on.Versions[0]+"-ingress", on.Versions[0], map[string]string{images.Traefik: pushed[images.Traefik]})
	h.must(err)
	h.hc.Spec.DNS.BaseDomain = domain
	h.hc.Spec.DNS.PublicZoneID, h.hc.Spec.DNS.PrivateZoneID, err = h.customer.ApplicationZones(t.Context(), on.AWS, domain, "ingress."+domain)
	h.must(err)
	h.hc.Spec.Capabilities = &hyperv1.Capabilities{Enabled: []hyperv1.OptionalCapability{hyperv1.IngressCapability}}
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
	h.hc.Spec.Platform.AWS.RolesRef.IngressARN = hyperv1.RoleARN(h.customer.IngressRole)
	h.t.Cleanup(func() { h.noRecords(context.WithoutCancel(t.Context())) }) // after the deletion
	h.create()
	pools := h.poolPerZone(2)
	h.available()
	for _, pool := range pools {
		h.eventually("the machine of "+pool.Name+" is a node", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	}
	h.waitForCondition(hyperv1.IngressAvailable, "True")
	h.waitForCondition(hyperv1.IngressRecordsAvailable, "True")

	busybox := on.Images["busybox"]
	runAll(t, h.kubeconfig, []command{
		{name: "create an application", args: "apply -f -", stdin: web(busybox), want: `service/web created`},
		{name: "it runs", args: "rollout status deployment/web --timeout=60s", want: `successfully rolled out`},
		{name: "create an Ingress", args: "apply -f -", stdin: strings.ReplaceAll(webIngress, "HOST", host), want: `ingress.networking.k8s.io/web created`},
		{name: "the Ingress has an address", args: "get ingress web", want: `web +traefik +` + host + ` +\S+\.amazonaws\.com +80`, again: true},
	})
	h.reaches("an Ingress", host)
	runAll(t, h.kubeconfig, []command{
		{name: "create a Gateway and an HTTPRoute", args: "apply -f -", stdin: strings.ReplaceAll(webGateway, "HOST", "gateway.apps.ingress."+domain), want: `httproute.gateway.networking.k8s.io/web created`},
		{name: "the Gateway is programmed", args: "get gateway web -n kube-system", want: `web +traefik +\S+\.amazonaws\.com +True`, again: true},
	})
	h.reaches("a Gateway", "gateway.apps.ingress."+domain)

	h.change(func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private })
	h.eventually("the public name is gone", func(ctx context.Context) error {
		left, err := h.records(ctx, h.hc.Spec.DNS.PublicZoneID)
		if err == nil && len(left) > 0 {
			err = errors.New(strings.Join(left, ", "))
		}
		return err
	})
	h.waitForCondition(hyperv1.IngressAvailable, "True")
	h.waitForCondition(hyperv1.IngressRecordsAvailable, "True")
	// AWS does not lead a connection back to the instance from which it comes: the pod is not on the node with the ingress controller.
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-troubleshooting.html#loopback-timeout
	runAll(t, h.kubeconfig, []command{
		{name: "run a pod", args: "apply -f -", stdin: strings.ReplaceAll(insidePod, "IMAGE", busybox), want: `pod/inside created`},
	})
	h.eventually("the VPC reaches the application by its name", func(ctx context.Context) error {
		// The public path to the API server is removed as soon as no machine uses it.
		kubeconfig, err := h.on.AdminKubeconfig(ctx, key(h.hc))
		if err != nil {
			return err
		}
		out, err := on.Kubectl(ctx, kubeconfig, "", "exec", "inside", "--", "wget", "-q", "-T", "5", "-O", "-", "http://"+host)
		if err != nil || !strings.HasPrefix(out, "web-") {
			return fmt.Errorf("the response is %q: %w", out, err)
		}
		return nil
	})
}

// reaches waits until a user on the internet reaches the application at a host, over TLS with a certificate of the cluster's authority.
func (h *hosted) reaches(what, host string) {
	h.t.Helper()
	began := time.Now()
	h.eventually("a user reaches "+what, func(ctx context.Context) error {
		authority := &corev1.ConfigMap{}
		if err := h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: names.RootCA}, authority); err != nil {
			return err
		}
		trusted := x509.NewCertPool()
		trusted.AppendCertsFromPEM([]byte(authority.Data[pki.TrustKey]))
		user := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
			DisableKeepAlives: true, DialContext: dialPublic, TLSClientConfig: &tls.Config{RootCAs: trusted},
		}}
		for _, scheme := range []string{"http", "https"} {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+host, nil)
			if err != nil {
				return err
			}
			resp, err := user.Do(req)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil && !strings.HasPrefix(string(body), "web-") {
				err = fmt.Errorf("the response to %s is %s %q", scheme, resp.Status, body)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	h.t.Logf("a user reaches %s after %.1f s", what, time.Since(began).Seconds())
}

// records returns the names of applications in a zone.
func (h *hosted) records(ctx context.Context, zone string) (found []string, _ error) {
	out, err := route53.NewFromConfig(on.AWS.Config(h.customer.Account)).ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
	if err != nil {
		return nil, err
	}
	for _, r := range out.ResourceRecordSets {
		if strings.Contains(aws.ToString(r.Name), ".apps.") {
			found = append(found, aws.ToString(r.Name))
		}
	}
	return found, nil
}

// noRecords fails the test if a zone has names of applications, and deletes the zones: another run has zones of the same names.
func (h *hosted) noRecords(ctx context.Context) {
	for _, zone := range []string{h.hc.Spec.DNS.PublicZoneID, h.hc.Spec.DNS.PrivateZoneID} {
		left, err := h.records(ctx, zone)
		if err != nil || len(left) > 0 {
			h.t.Errorf("hosted zone %s has %v after the deletion, %v", zone, left, err)
			continue
		}
		if _, err := route53.NewFromConfig(on.AWS.Config(h.customer.Account)).DeleteHostedZone(ctx, &route53.DeleteHostedZoneInput{Id: &zone}); err != nil {
			h.t.Error(err)
		}
	}
}

const webIngress = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - host: HOST
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`

// webGateway has the certificate of the cluster in a Secret: a Gateway names its certificates.
const webGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: kube-system}
spec:
  gatewayClassName: traefik
  listeners:
  - {name: http, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}
  - {name: https, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: traefik}]}, allowedRoutes: {namespaces: {from: All}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec:
  parentRefs: [{name: web, namespace: kube-system}]
  hostnames: [HOST]
  rules:
  - backendRefs: [{name: web, port: 80}]
`

const insidePod = `
apiVersion: v1
kind: Pod
metadata: {name: inside}
spec:
  terminationGracePeriodSeconds: 0
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, namespaces: [kube-system], labelSelector: {matchLabels: {k8s-app: traefik}}}
  containers:
  - {name: busybox, image: IMAGE, command: [sleep, "3600"]}
`
