package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/listprices"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// asCommandLine is the variable with which the test program is the command line.
const asCommandLine = "AWSTRIAL_TEST_COMMAND_LINE"

var emulator *awsemulator.Emulator

func TestMain(m *testing.M) {
	if os.Getenv(asCommandLine) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		env := operation.System()
		env.ConsistencyWindow = time.Second
		os.Exit(cli.Run(ctx, "hypershift", os.Args[1:], env))
	}
	os.Exit(func() int {
		var err error
		if emulator, err = awsemulator.Start(context.Background(), awsemulator.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer emulator.Stop()
		return m.Run()
	}())
}

const domain = "clusters.example.com" // Route 53 refuses a zone of example.com itself

// management is an API server that is both the management cluster and the hosted cluster, with a stand-in for the programs in them.
type management struct {
	client.Client
	kubeconfig string
	// stuck: the HostedCluster does not become available. reached is closed when there is one.
	stuck   atomic.Bool
	reached chan struct{}
	once    sync.Once
}

func start(t *testing.T) *management {
	t.Helper()
	config := fixture.StartAPIServer(t, "../../config/crd")
	m := &management{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), reached: make(chan struct{})}
	var err error
	if m.Client, err = client.New(config, client.Options{Scheme: clustertree.Scheme()}); err != nil {
		t.Fatal(err)
	}
	if err := clientcmd.WriteToFile(fixture.Kubeconfig(config), m.kubeconfig); err != nil {
		t.Fatal(err)
	}
	for _, obj := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-public"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "oidc-storage-provider-s3-config"}, Data: map[string]string{"name": "documents", "region": "us-east-1"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{"topology.k8s.aws/zone-id": "use1-az1"}}},
	} {
		if err := m.Create(t.Context(), obj); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	var operators sync.WaitGroup
	operators.Go(func() {
		for ctx.Err() == nil {
			m.reconcile(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() {
		stop()
		operators.Wait()
	})
	return m
}

// reconcile sets the results of the operators and of the hosted cluster that a trial sees. A conflict is repeated the next time.
func (m *management) reconcile(ctx context.Context) {
	clusters, pools := &hyperv1.HostedClusterList{}, &hyperv1.NodePoolList{}
	if m.List(ctx, clusters) != nil || m.List(ctx, pools) != nil {
		return
	}
	for i := range clusters.Items {
		hc := &clusters.Items[i]
		m.once.Do(func() { close(m.reached) })
		switch {
		case !hc.DeletionTimestamp.IsZero():
			if len(pools.Items) > 0 {
				_ = m.DeleteAllOf(ctx, &hyperv1.NodePool{}, client.InNamespace(hc.Namespace))
			} else if controllerutil.RemoveFinalizer(hc, hyperv1.HostedClusterFinalizer) {
				_ = m.Update(ctx, hc)
			}
		case controllerutil.AddFinalizer(hc, hyperv1.HostedClusterFinalizer):
			_ = m.Update(ctx, hc)
		case !m.stuck.Load():
			for _, name := range []string{
				hyperv1.HostedClusterAvailable, hyperv1.ValidHostedClusterConfiguration, hyperv1.ValidReleaseImage, hyperv1.InfrastructureReady,
				hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable, hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable,
				hyperv1.DataPlaneConnectionAvailable,
			} {
				meta.SetStatusCondition(&hc.Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: "AsExpected"})
			}
			_ = m.Status().Update(ctx, hc)
		}
	}
	for i := range pools.Items {
		np := &pools.Items[i]
		np.Status.Replicas = *np.Spec.Replicas
		np.Status.Conditions = []hyperv1.NodePoolCondition{{Type: hyperv1.NodePoolReadyCondition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), ObservedGeneration: np.Generation}}
		_ = m.Status().Update(ctx, np)
	}
	node, key := &corev1.Node{}, client.ObjectKey{Namespace: "default", Name: workloadName}
	if m.Get(ctx, client.ObjectKey{Name: "node"}, node) == nil && len(node.Status.Conditions) == 0 {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		_ = m.Status().Update(ctx, node)
	}
	d := &appsv1.Deployment{}
	if m.Get(ctx, key, d) == nil && d.Status.AvailableReplicas == 0 {
		d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = replicas, replicas, replicas
		_ = m.Status().Update(ctx, d)
	}
	j := &batchv1.Job{}
	if m.Get(ctx, key, j) == nil && j.Status.Succeeded == 0 {
		j.Status.Succeeded = 1
		_ = m.Status().Update(ctx, j)
	}
}

// trial returns the options of a trial in an account of its own.
func trial(t *testing.T, m *management) (options, string) {
	t.Helper()
	account := emulator.NewAccount()
	if err := emulator.Given(t.Context(), account, func() error {
		_, err := route53.NewFromConfig(emulator.Config(account)).CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{Name: aws.String(domain), CallerReference: aws.String(account)})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return options{
		hypershift: program, name: "trial", baseDomain: domain, release: "example.com/release:1", region: "us-east-1", access: "Private",
		instanceType: "m5.large", workloadImage: "example.com/agnhost:1", guest: m.kubeconfig, bed: "none", directory: t.TempDir(), timeout: 2 * time.Minute,
		environ:  append(append(os.Environ(), emulator.Env(account)...), asCommandLine+"=1", "KUBECONFIG="+m.kubeconfig, "XDG_STATE_HOME="+t.TempDir()),
		progress: testWriter{t}, now: time.Now,
	}, account
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

func outcomes(r *Report) string {
	var all []string
	for _, s := range r.Steps {
		all = append(all, s.Name+" "+string(s.Outcome))
	}
	return strings.Join(all, ", ")
}

func nothingIsLeft(t *testing.T, account string) {
	t.Helper()
	left, err := emulator.Leftovers(context.WithoutCancel(t.Context()), account)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestTrialIsReportedWithItsCost(t *testing.T) {
	m := start(t)
	o, account := trial(t, m)
	report, err := run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// The management cluster of the test has no operator, which doctor reports.
	if got, want := outcomes(report), "doctor failed, create passed, resources passed, workload passed, destroy passed, leftovers passed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	nothingIsLeft(t, account)
	for _, kind := range []string{"NAT gateway", "Elastic IP address", "VPC endpoint"} {
		found := false
		for _, row := range report.Cost.Rows {
			found = found || row.Kind == kind && row.Count == 1 && row.Dollars > 0
		}
		if !found {
			t.Errorf("%s has no cost: %+v", kind, report.Cost)
		}
	}
	if len(report.Cost.Unpriced) > 0 {
		t.Errorf("without a price: %v", report.Cost.Unpriced)
	}
	var written Report
	text, err := os.ReadFile(filepath.Join(o.directory, "report.json"))
	if err == nil {
		err = json.Unmarshal(text, &written)
	}
	if err != nil || outcomes(&written) != outcomes(report) || !strings.HasPrefix(written.InfraID, "trial-") {
		t.Errorf("report.json: %v\n%s", err, text)
	}
	page, err := os.ReadFile(filepath.Join(o.directory, "report.md"))
	if err != nil || !bytes.Contains(page, []byte("| create | passed |")) || !bytes.Contains(page, []byte("created HostedCluster clusters/trial")) || !bytes.Contains(page, []byte("| NAT gateway | 1 |")) {
		t.Errorf("report.md: %v\n%s", err, page)
	}
}

// The trial's resources are deleted after an interrupt of any step.
func TestInterruptedTrialLeavesNothing(t *testing.T) {
	m := start(t)
	m.stuck.Store(true)
	o, account := trial(t, m)
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		<-m.reached
		interrupt()
	}()
	report, err := run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := outcomes(report), "doctor failed, create interrupted, resources skipped, workload skipped, destroy passed, leftovers passed"; got != want || report.Passed() {
		t.Errorf("%s, want %s", got, want)
	}
	nothingIsLeft(t, account)
}

// A step that fails is in the report, and the steps after a creation that failed are skipped, except for those that clean up.
func TestFailedCreationIsCleanedUp(t *testing.T) {
	m := start(t)
	o, account := trial(t, m)
	if err := emulator.Fault(t.Context(), awsemulator.Fault{Kind: awsemulator.Denied, Action: "CreateNatGateway", Account: account, Count: awsemulator.Forever}); err != nil {
		t.Fatal(err)
	}
	report, err := run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := outcomes(report), "doctor failed, create failed, resources skipped, workload skipped, destroy passed, leftovers passed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if report.Steps[2].Reason != "step create failed" || !strings.Contains(report.Steps[1].Output, "CreateNatGateway") {
		t.Errorf("%+v", report.Steps)
	}
	nothingIsLeft(t, account)
}

func TestCostIsThatOfTheHours(t *testing.T) {
	prices, err := listprices.Load()
	if err != nil {
		t.Fatal(err)
	}
	got := estimate(prices, []resource{{Kind: "NAT gateway"}, {Kind: "Instance"}, {Kind: "Instance"}, {Kind: "VPC"}, {Kind: "Snapshot"}}, "m5.large", 1.5)
	// A NAT gateway is charged for two hours, the instances for 1.5.
	if want := 2*0.045 + 2*1.5*0.096; got.Dollars < want-1e-9 || got.Dollars > want+1e-9 || len(got.Rows) != 2 || strings.Join(got.Unpriced, ",") != "1 × Snapshot" {
		t.Errorf("%+v, want %.4f", got, want)
	}
}
