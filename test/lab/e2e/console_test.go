//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/consoletest"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/test/lab/browser"
)

// appears is how long a page may take to show what a condition reports.
const appears = 5 * time.Second

// picturesVariable is the environment variable with the directory of the documentation's pictures, which the scenario writes.
const picturesVariable = "HYPERSHIFT_SCREENSHOTS"

// TestConsole opens `hypershift console` in a browser, creates a private cluster, and follows it there: the parts of the path become OK in order,
// and each loss appears where it is. A tenant's console has the tenant's namespace only.
func TestConsole(t *testing.T) {
	begin(t)
	page := browser.Open(t)
	program := buildCommandLine(t)
	h := newHosted(t, "console", on.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
	admin := startConsole(t, program, append(on.AWS.Env(h.customer.Account), "KUBECONFIG="+on.Kubeconfig), "--aws", "--region", "us-east-1")
	c := &consoleScenario{hosted: h, page: page, path: "/clusters/" + h.hc.Namespace + "/" + h.hc.Name, console: admin}

	page.Show(browser.Appearance{Width: 1500, Height: 900})
	page.Go(admin.Page(c.path))
	page.Has(`document.body.textContent.includes("There is no HostedCluster")`, appears)
	browser.Eval[bool](page, observer)
	h.create()
	pool := h.poolPerZone(1)[0]
	h.available()
	h.eventually("the node is ready", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	h.waitForCondition(hyperv1.HostedClusterReady, "True")
	page.Has(c.segment("nodepool-"+pool.Name)+` === "ok" && document.querySelector("#state").dataset.state === "ready" && !document.querySelector(".cut")`, appears)
	c.inOrder("load-balancer", "endpoint-service", "endpoint", "node-connection")
	c.inOrder("kube-apiserver", "node-connection", "nodepool-"+pool.Name)
	c.picture("console-path")

	t.Run("a router that cannot run", c.routerLost)
	t.Run("a connection that is rejected", c.connectionRejected)
	t.Run("a node that is stopped", func(t *testing.T) { c.nodeLost(t, pool) })
	t.Run("pages", c.otherPages)
	t.Run("a tenant", func(t *testing.T) { c.tenant(t, program) })
}

// observer records in the page when each segment becomes OK first.
const observer = `(() => {
	window.ok = {};
	const look = () => { for (const s of document.querySelectorAll("#drawing .segment")) if (s.dataset.state === "ok" && !(s.id in ok)) ok[s.id] = performance.now(); };
	new MutationObserver(look).observe(document.body, {subtree: true, childList: true, attributes: true});
	return true;
})()`

// startConsole runs the program until the end of the test.
func startConsole(t *testing.T, program string, env []string, args ...string) consoletest.Address {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, append([]string{"console", "--port", "0", "--no-browser"}, args...)...)
	cmd.Env = append(env, "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return consoletest.Address(firstLine(t, cmd, cancel))
}

// firstLine starts a program that prints its address, and returns its first line. The program is stopped at the end of the test.
func firstLine(t *testing.T, cmd *exec.Cmd, stop func()) string {
	t.Helper()
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was stopped
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		_ = cmd.Wait()
		t.Fatalf("%s ended: %s", cmd, problems.String())
	}
	return lines.Text()
}

type consoleScenario struct {
	*hosted
	page    *browser.Page
	path    string
	console consoletest.Address
}

func (c *consoleScenario) segment(id string) string {
	return fmt.Sprintf(`document.querySelector("#segment-%s")?.dataset.state`, id)
}

// inOrder checks that segments became OK one after the other.
func (c *consoleScenario) inOrder(ids ...string) {
	c.t.Helper()
	times := browser.Eval[map[string]float64](c.page, "window.ok")
	for i, id := range ids {
		at, exists := times["segment-"+id]
		if !exists {
			c.t.Errorf("segment %s never was OK: %v", id, times)
		}
		if i > 0 && at < times["segment-"+ids[i-1]] {
			c.t.Errorf("segment %s was OK before %s: %v", id, ids[i-1], times)
		}
	}
	c.t.Logf("OK after milliseconds: %v", times)
}

// picture writes a picture for the documentation.
func (c *consoleScenario) picture(name string) {
	if directory := os.Getenv(picturesVariable); directory != "" {
		c.page.Has(`document.getAnimations().length === 0`, appears)
		c.page.Screenshot(filepath.Join(directory, name+".png"))
	}
}

// loses breaks something, waits until condition reports it, and checks that the page shows that segment as broken in time.
func (c *consoleScenario) loses(t *testing.T, segment string, breakIt func(context.Context) error, condition func(context.Context) (bool, error)) {
	t.Helper()
	c.page.Go(c.console.Page(c.path))
	c.page.Has(c.segment(segment)+` === "ok"`, appears)
	c.must(breakIt(t.Context()))
	c.eventually("a condition reports it", func(ctx context.Context) error {
		reported, err := condition(ctx)
		if err == nil && !reported {
			err = fmt.Errorf("no condition reports it")
		}
		return err
	})
	took := c.page.Has(c.segment(segment)+` === "broken"`, appears)
	cut := browser.Eval[string](c.page, `document.querySelector("#drawing .cut")?.id ?? ""`)
	t.Logf("the segment is broken %s after the condition; the line is cut at %s", took, cut)
	if cut == "" {
		t.Error("the line is not cut")
	}
}

// again waits until the segment is OK.
func (c *consoleScenario) again(t *testing.T, segment string) {
	t.Helper()
	c.page.Has(c.segment(segment)+` === "ok"`, 5*time.Minute)
}

// routerLost leaves no machine for the router's pods.
func (c *consoleScenario) routerLost(t *testing.T) {
	var nodes corev1.NodeList
	c.must(c.management.List(t.Context(), &nodes))
	cordon := func(ctx context.Context, unschedulable bool) error {
		for i := range nodes.Items {
			patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, unschedulable))
			if err := c.management.Patch(ctx, nodes.Items[i].DeepCopy(), patch); err != nil {
				return err
			}
		}
		return nil
	}
	t.Cleanup(func() { c.must(cordon(context.WithoutCancel(t.Context()), false)) })
	router := &hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(), Name: "router"}}
	c.loses(t, "router", func(ctx context.Context) error {
		if err := cordon(ctx, true); err != nil {
			return err
		}
		return c.management.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(c.namespace()), client.MatchingLabels{component.ComponentLabel: "router"})
	}, func(ctx context.Context) (bool, error) {
		err := c.management.Get(ctx, key(router), router)
		return err == nil && meta.IsStatusConditionFalse(router.Status.Conditions, hyperv1.ControlPlaneComponentAvailable), err
	})
	c.picture("console-cut")
	c.must(cordon(t.Context(), false))
	c.again(t, "router")
}

// connectionRejected rejects the connection of the endpoint. The operators replace the endpoint.
func (c *consoleScenario) connectionRejected(t *testing.T) {
	var reported string
	c.loses(t, "endpoint", c.privateLink().rejection().do, func(ctx context.Context) (bool, error) {
		hc := &hyperv1.HostedCluster{}
		err := c.management.Get(ctx, key(c.hc), hc)
		if condition := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.AWSEndpointAvailable); condition != nil {
			reported = condition.Reason
		}
		return err == nil && meta.IsStatusConditionFalse(hc.Status.Conditions, hyperv1.AWSEndpointAvailable), err
	})
	t.Logf("reason %s", reported)
	c.again(t, "endpoint")
}

// nodeLost stops the instance of the node.
func (c *consoleScenario) nodeLost(t *testing.T, pool *hyperv1.NodePool) {
	c.eventually("the node is ready", func(ctx context.Context) error { return c.poolReady(ctx, pool, 1) })
	c.loses(t, "nodepool-"+pool.Name, func(ctx context.Context) error {
		list, err := c.ec2().DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
		if err != nil {
			return err
		}
		var ids []string
		for _, r := range list.Reservations {
			for _, i := range r.Instances {
				if i.State != nil && i.State.Name == "running" {
					ids = append(ids, *i.InstanceId)
				}
			}
		}
		_, err = c.ec2().StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: ids})
		return err
	}, func(ctx context.Context) (bool, error) {
		err := c.management.Get(ctx, key(pool), pool)
		i := slices.IndexFunc(pool.Status.Conditions, func(c hyperv1.NodePoolCondition) bool { return c.Type == hyperv1.NodePoolReadyCondition })
		return err == nil && i >= 0 && pool.Status.Conditions[i].Status == corev1.ConditionFalse, err
	})
}

// otherPages opens the other pages, and looks for accessibility problems in each.
func (c *consoleScenario) otherPages(t *testing.T) {
	for name, page := range map[string]struct{ path, has string }{
		"console-fleet":     {"/", `document.querySelector("#rows").textContent.includes("clusters/console")`},
		"console-timeline":  {c.path + "/timeline?window=15m", `document.querySelectorAll("#timeline .band").length > 5 && document.querySelectorAll("#timeline .event").length > 0`},
		"console-cost":      {c.path + "/cost", `document.querySelector(".cost").textContent.includes("Load balancer")`},
		"console-doctor":    {"/doctor", `document.querySelectorAll(".results tbody tr").length > 3`},
		"console-leftovers": {"/leftovers", fmt.Sprintf(`document.querySelector("main").textContent.includes(%q)`, c.hc.Spec.InfraID)},
	} {
		t.Run(name, func(t *testing.T) {
			c.page.Go(c.console.Page(page.path))
			c.page.Has(page.has, 20*time.Second)
			c.picture(name)
			for _, violation := range c.page.Accessibility() {
				t.Error(violation)
			}
		})
	}
}

// tenant opens the console with the permissions of a tenant of another namespace.
func (c *consoleScenario) tenant(t *testing.T, program string) {
	u := newCommandLineUser(t, program, "console-tenant")
	u.becomeTenant("team-console")
	console := startConsole(t, program, u.env)
	page := browser.Open(t)
	page.Go(console.Page("/"))
	page.Has(`document.querySelector("#rows").textContent.includes("no hosted cluster matches") && document.querySelector("footer").textContent.includes("Only namespace team-console")`, appears)
	page.Go(console.Page(c.path))
	if text := page.Text("main"); !strings.Contains(text, "There is no HostedCluster") {
		t.Errorf("a tenant sees another namespace: %s", text)
	}
	t.Run("in the console of the installation", func(t *testing.T) { c.inCluster(t, u) })
}

// inCluster opens the console that the chart installs, with the token of a tenant, and without one.
func (c *consoleScenario) inCluster(t *testing.T, tenant *commandLineUser) {
	base := forwardConsole(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: 40 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	page := func(method, path string, form url.Values) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	if status, text := page(http.MethodGet, "/", nil); status != http.StatusUnauthorized || strings.Contains(text, c.path) {
		t.Errorf("without a token: %d %s", status, text)
	}
	token, err := tenant.kubectl(t.Context(), "create", "token", "tenant", "--namespace", tenant.namespace, "--duration", "10m")
	c.must(err)
	status, text := page(http.MethodPost, "/login", url.Values{"token": {token}, "namespace": {tenant.namespace}})
	if status != http.StatusOK || !strings.Contains(text, "Only namespace "+tenant.namespace) || strings.Contains(text, c.path) {
		t.Errorf("a tenant: %d %s", status, text)
	}
	if status, text := page(http.MethodGet, c.path, nil); status != http.StatusNotFound {
		t.Errorf("a tenant opens a cluster of another namespace: %d %s", status, text)
	}
	if status, text := page(http.MethodPost, "/login", url.Values{"token": {token}, "namespace": {c.hc.Namespace}}); status != http.StatusUnauthorized || !strings.Contains(text, "forbidden") {
		t.Errorf("a tenant asks for another namespace: %d %s", status, text)
	}
}

// forwardConsole returns the address of the installation's console, until the end of the test.
func forwardConsole(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, on.Programs["kubectl"], "--kubeconfig", on.Kubeconfig, "port-forward", "--namespace", "hypershift", "service/hypershift-console", ":443")
	line := firstLine(t, cmd, cancel)
	// Forwarding from 127.0.0.1:41234 -> 8443
	address, _, found := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ->")
	if !found {
		t.Fatalf("kubectl port-forward prints %q", line)
	}
	return "https://" + address
}
