package console

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/consoletest"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/web"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
	"github.com/hosted-control-planes/hypershift/test/lab/browser"
)

// console is a console with clusters in memory.
type console struct {
	*consoletest.Source
	consoletest.Address
	stop func()
}

func start(t *testing.T, source *consoletest.Source) *console {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	model, err := web.NewModel(ctx, source)
	if err != nil {
		t.Fatal(err)
	}
	server := web.NewServer(web.Options{
		Clock: clock.RealClock{}, Title: "management",
		Doctor: func(context.Context, types.NamespacedName) ([]prerequisites.Result, error) {
			return []prerequisites.Result{{Check: "Operator", Status: prerequisites.Passed, Message: "1 of 1 replicas"}, {Check: "Quota", Status: prerequisites.Failed, Message: "too low", Action: "raise it"}}, nil
		},
		Leftovers: func(context.Context, string) (web.Account, error) {
			return web.Account{ID: "222222222222", Region: "us-east-1", Clusters: map[string]int{"demo-x7k2p": 12, "old-abcde": 3}}, nil
		},
		Change: func(context.Context, types.NamespacedName, web.Change) error { return nil },
	}, model)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opened, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener, func(address string) { opened <- address }) }()
	c := &console{Source: source, Address: consoletest.Address(<-opened)}
	stopped := false
	c.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(c.stop)
	return c
}

const segmentState = `document.querySelector("#segment-%s")?.dataset.state`

func demo(t *testing.T) (*console, types.NamespacedName) {
	source := consoletest.NewSource(time.Now)
	consoletest.Fleet(source, 25, time.Now())
	source.Put(consoletest.Private("clusters", "demo", time.Now()))
	return start(t, source), types.NamespacedName{Namespace: "clusters", Name: "demo"}
}

// pages are one page of each kind.
var pages = []string{"/", "/?state=not+ready", "/clusters/clusters/demo", "/clusters/team-3/cluster-0003", "/clusters/clusters/demo/timeline?lanes=all", "/clusters/clusters/demo/cost", "/clusters/clusters/demo/doctor", "/doctor", "/leftovers", "/clusters/clusters/absent"}

func TestPagesAreAccessible(t *testing.T) {
	c, _ := demo(t)
	page := browser.Open(t)
	for _, look := range []browser.Appearance{{Width: 1400, Height: 1000}, {Width: 1400, Height: 1000, Dark: true}, {Width: 390, Height: 844}} {
		page.Show(look)
		for _, path := range pages {
			page.Go(c.Page(path))
			for _, violation := range page.Accessibility() {
				t.Errorf("%s, %+v: %s", path, look, violation)
			}
			if look.Width < 1000 {
				if wide := browser.Eval[bool](page, "document.documentElement.scrollWidth > innerWidth"); wide {
					t.Errorf("%s is wider than a phone", path)
				}
			}
		}
	}
}

func TestChangesAppearWithinASecond(t *testing.T) {
	c, key := demo(t)
	page := browser.Open(t)
	page.Go(c.Page("/clusters/clusters/demo"))
	page.Has(fmt.Sprintf(segmentState, "endpoint")+` === "ok"`, 5*time.Second)
	page.Has(`document.querySelector("#currency time").textContent.endsWith("ago")`, 5*time.Second)
	broken, err := c.Cluster(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	whole := broken
	// A page that is live keeps what its user has opened, and where the page is scrolled to.
	broken = consoletest.SetCondition(broken, hyperv1.AWSEndpointAvailable, metav1.ConditionFalse, "EndpointRejected", "VPC endpoint <b>vpce-1</b> is rejected", time.Now())
	c.Put(broken)
	took := page.Has(fmt.Sprintf(segmentState, "endpoint")+` === "broken"`, time.Second)
	t.Logf("the segment is broken after %s", took)
	if cut := page.Attribute("#segment-endpoint", "class"); !strings.Contains(cut, " cut") {
		t.Errorf("the line is not cut: %s", cut)
	}
	if behind := page.Attribute("#segment-tunnel", "class"); !strings.Contains(behind, " behind") {
		t.Errorf("the tunnel is not behind the cut: %s", behind)
	}
	if text := page.Text("#segment-endpoint .message"); text != "EndpointRejected: VPC endpoint <b>vpce-1</b> is rejected" {
		t.Errorf("message %q", text)
	}
	c.Put(whole)
	page.Has(fmt.Sprintf(segmentState, "endpoint")+` === "ok"`, time.Second)

	page.Go(c.Page("/?q=clusters/demo"))
	page.Has(`document.querySelectorAll("#rows tr").length === 1`, time.Second)
	time.Sleep(200 * time.Millisecond) // until the page is live
	c.Delete(key)
	page.Has(`document.querySelector("#rows").textContent.includes("no hosted cluster matches")`, time.Second)
}

func TestListFollowsTheSearchField(t *testing.T) {
	c, _ := demo(t)
	page := browser.Open(t)
	page.Go(c.Page("/"))
	page.Has(`document.querySelectorAll("#rows tr").length === 26`, 5*time.Second)
	page.Press("/")
	if focus := browser.Eval[string](page, "document.activeElement.id"); focus != "q" {
		t.Errorf("the key / leads to %q", focus)
	}
	// The driver sends the character of a key although the page has prevented that.
	browser.Eval[string](page, `document.querySelector("#q").value = ""`)
	page.Type("#q", "rejected team-3")
	page.Has(`document.querySelectorAll("#rows tr").length === 2 && location.search === "?q=rejected+team-3"`, 3*time.Second)
	page.Reload()
	if value := browser.Eval[string](page, `document.querySelector("#q").value`); value != "rejected team-3" {
		t.Errorf("after a reload the search is %q", value)
	}
}

func TestLostConnectionIsVisible(t *testing.T) {
	c, _ := demo(t)
	page := browser.Open(t)
	page.Go(c.Page("/clusters/clusters/demo"))
	page.Has(`document.querySelector("#currency time").textContent.endsWith("ago") && document.querySelector("#problem").hidden`, 5*time.Second)

	health := c.Health()
	health.Err, health.Reached = fmt.Errorf("dial tcp 192.0.2.1:443: i/o timeout"), time.Now().Add(-3*time.Minute)
	c.SetHealth(health)
	page.Has(`document.querySelector("#problem").textContent.includes("i/o timeout") && document.querySelector("#currency time").textContent.startsWith("3m")`, 5*time.Second)
	health.Err = nil
	c.SetHealth(health)
	page.Has(`document.querySelector("#problem").hidden`, 5*time.Second)

	c.stop()
	page.Has(`document.querySelector("#problem").textContent.includes("shows an old state")`, 12*time.Second)
}

// TestKeyboard reaches the first cluster by keys alone.
func TestKeyboard(t *testing.T) {
	c, _ := demo(t)
	page := browser.Open(t)
	page.Go(c.Page("/?q=clusters/demo"))
	for range 40 {
		page.Press("\t")
		if strings.HasPrefix(browser.Eval[string](page, `document.activeElement.getAttribute("href") || ""`), "/clusters/") {
			page.Press("\r")
			page.Has(`document.querySelector("#drawing")`, 5*time.Second)
			return
		}
	}
	t.Error("no link of a cluster gets the focus")
}

// TestHostileTexts shows a cluster whose texts contain HTML and scripts.
func TestHostileTexts(t *testing.T) {
	c, _ := demo(t)
	const attack = `"><img src=x onerror="document.title='attacked'"><script>document.title='attacked'</script>`
	hostile := consoletest.SetCondition(consoletest.Private("clusters", "hostile", time.Now()), hyperv1.HostedClusterReady, metav1.ConditionFalse, "Broken", attack, time.Now())
	hostile.HostedCluster.Status.Version.History[0].Version = attack
	hostile.HostedCluster.Spec.InfraID = attack + `'; rm -rf "$HOME"`
	hostile.NodePools[0].Name = attack
	hostile.Machines[0].Status.NodeRef.Name = attack
	hostile.Services[0].Status.LoadBalancer.Ingress[0].Hostname = attack
	c.Put(hostile)
	page := browser.Open(t)
	for _, path := range []string{"/", "/?q=" + "%22%3E%3Cscript%3Edocument.title='attacked'%3C/script%3E", "/clusters/clusters/hostile", "/clusters/clusters/hostile/timeline?lanes=all", "/clusters/clusters/hostile/cost"} {
		page.Go(c.Page(path))
		time.Sleep(500 * time.Millisecond) // until the page is live
		if title := browser.Eval[string](page, "document.title"); strings.Contains(title, "attacked") {
			t.Errorf("%s ran a script", path)
		}
		if n := browser.Eval[int](page, `document.querySelectorAll("main img, main script").length`); n > 0 {
			t.Errorf("%s has %d elements of the attack", path, n)
		}
	}
}

// TestAThousandClusters measures the first paint, and the memory of the browser's page and of this process with 1,000 clusters.
func TestAThousandClusters(t *testing.T) {
	source := consoletest.NewSource(time.Now)
	consoletest.Fleet(source, 1000, time.Now())
	c := start(t, source)
	page := browser.Open(t)
	page.Go(c.Page("/"))
	page.Has(`document.querySelectorAll("#rows tr").length === 1000`, 10*time.Second)
	paint := browser.Eval[float64](page, `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 1e9`)
	heap := browser.Eval[float64](page, `performance.memory.usedJSHeapSize / 1048576`)
	t.Logf("first contentful paint after %.0f ms; heap of the page %.1f MiB; memory of this process %d MiB", paint, heap, rss(t))
	if heap > 100 {
		t.Errorf("the page has a heap of %.0f MiB", heap)
	}
	// Changes of a fleet arrive one by one, and the page keeps its position.
	before := browser.Eval[float64](page, `(document.querySelector("#rows").children[700].scrollIntoView(), scrollY)`)
	key := types.NamespacedName{Namespace: "team-5", Name: "cluster-0005"}
	changed, err := c.Cluster(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	c.Put(consoletest.SetCondition(changed, hyperv1.HostedClusterReady, metav1.ConditionFalse, "EtcdAvailable", "etcd has no leader", time.Now()))
	took := page.Has(`document.querySelector("#row-uid-team-5-cluster-0005").dataset.state === "not ready"`, 2*time.Second)
	if after := browser.Eval[float64](page, "scrollY"); after != before || before == 0 {
		t.Errorf("the page was at %.0f and is at %.0f", before, after)
	}
	t.Logf("a change of one row of 1,000 appears after %s", took)
}

// rss is the memory of this process in MiB.
func rss(t *testing.T) int {
	t.Helper()
	runtime.GC()
	file, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var kib int
		if n, _ := fmt.Sscanf(lines.Text(), "VmRSS: %d kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// TestScreenshots writes pictures into the directory HYPERSHIFT_SCREENSHOTS, to be looked at.
func TestScreenshots(t *testing.T) {
	directory := os.Getenv("HYPERSHIFT_SCREENSHOTS")
	if directory == "" {
		t.Skip("HYPERSHIFT_SCREENSHOTS is not set")
	}
	c, _ := demo(t)
	page := browser.Open(t)
	for _, look := range []browser.Appearance{{Width: 1400, Height: 900}, {Width: 1400, Height: 900, Dark: true}, {Width: 390, Height: 844}} {
		page.Show(look)
		for i, path := range pages {
			page.Go(c.Page(path))
			time.Sleep(300 * time.Millisecond)
			page.Screenshot(filepath.Join(directory, fmt.Sprintf("%d-%t-%d.png", look.Width, look.Dark, i)))
		}
	}
}
