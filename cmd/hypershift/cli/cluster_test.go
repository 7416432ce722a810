package cli_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// managementCluster is an API server with our CRDs, and a stand-in for the operator.
type managementCluster struct {
	t *testing.T
	client.Client
	kubeconfig string

	mu sync.Mutex
	// beforeRelease is called when the operator has deleted everything of a HostedCluster.
	beforeRelease func()
}

func startManagementCluster(t *testing.T) *managementCluster {
	t.Helper()
	config := fixture.StartAPIServer(t, "../../../config/crd")
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	m := &managementCluster{t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	var err error
	if m.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if err := clientcmd.WriteToFile(fixture.Kubeconfig(config), m.kubeconfig); err != nil {
		t.Fatal(err)
	}
	// The API server creates it a moment after its start.
	public := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-public"}}
	if err := m.Create(t.Context(), public); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	documents := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "oidc-storage-provider-s3-config"},
		Data:       map[string]string{"name": "documents", "region": "us-east-1"},
	}
	if err := m.Create(t.Context(), documents); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var operator sync.WaitGroup
	operator.Go(func() {
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
		operator.Wait()
	})
	return m
}

// reconcile sets the operator's results that a user sees: conditions, nodes, and finalizers. A conflict is repeated the next time.
func (m *managementCluster) reconcile(ctx context.Context) {
	clusters := &hyperv1.HostedClusterList{}
	pools := &hyperv1.NodePoolList{}
	if m.List(ctx, clusters) != nil || m.List(ctx, pools) != nil {
		return
	}
	for i := range clusters.Items {
		hc := &clusters.Items[i]
		switch {
		case hc.DeletionTimestamp.IsZero() && controllerutil.AddFinalizer(hc, hyperv1.HostedClusterFinalizer):
			_ = m.Update(ctx, hc)
		case hc.DeletionTimestamp.IsZero():
			for _, name := range []string{
				hyperv1.HostedClusterAvailable, hyperv1.ValidHostedClusterConfiguration, hyperv1.ValidReleaseImage, hyperv1.InfrastructureReady,
				hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable, hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable,
				hyperv1.DataPlaneConnectionAvailable,
			} {
				meta.SetStatusCondition(&hc.Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: "AsExpected"})
			}
			_ = m.Status().Update(ctx, hc)
		case controllerutil.ContainsFinalizer(hc, hyperv1.HostedClusterFinalizer):
			if len(pools.Items) > 0 { // the next list shows whether they are gone
				_ = m.DeleteAllOf(ctx, &hyperv1.NodePool{}, client.InNamespace(hc.Namespace))
				continue
			}
			m.mu.Lock()
			if m.beforeRelease != nil {
				m.beforeRelease()
			}
			m.mu.Unlock()
			controllerutil.RemoveFinalizer(hc, hyperv1.HostedClusterFinalizer)
			_ = m.Update(ctx, hc)
		}
	}
	for i := range pools.Items {
		np := &pools.Items[i]
		np.Status.Replicas = *np.Spec.Replicas
		np.Status.Conditions = []hyperv1.NodePoolCondition{{
			Type: hyperv1.NodePoolReadyCondition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), ObservedGeneration: np.Generation,
		}}
		_ = m.Status().Update(ctx, np)
	}
}

// names returns the objects of a cluster.
func (m *managementCluster) names() []string {
	m.t.Helper()
	var found []string
	in := client.InNamespace("clusters")
	clusters, pools, secrets := &hyperv1.HostedClusterList{}, &hyperv1.NodePoolList{}, &corev1.SecretList{}
	for _, list := range []client.ObjectList{clusters, pools, secrets} {
		if err := m.List(m.t.Context(), list, in); err != nil {
			m.t.Fatal(err)
		}
	}
	for _, o := range clusters.Items {
		found = append(found, "HostedCluster "+o.Name)
	}
	for _, o := range pools.Items {
		found = append(found, "NodePool "+o.Name)
	}
	for _, o := range secrets.Items {
		found = append(found, "Secret "+o.Name)
	}
	slices.Sort(found)
	return found
}

func createCluster(more ...string) []string {
	return append([]string{"create", "cluster", "aws", "--name", "demo", "--base-domain", domain, "--zones", threeZones, "--endpoint-access", "Private",
		"--release-image", "example.com/release:1"}, more...)
}

func destroyCluster(more ...string) []string {
	return append([]string{"destroy", "cluster", "aws", "--name", "demo"}, more...)
}

func TestClusterCommands(t *testing.T) {
	t.Parallel()
	m := startManagementCluster(t)
	for name, test := range map[string]func(*testing.T, *managementCluster, *user){
		"A cluster is created by one command and deleted by another":        clusterIsCreatedAndDeleted,
		"A private cluster needs no public hosted zone":                     privateClusterWithoutDomain,
		"All checks come before the first call of AWS":                      checksComeFirst,
		"The same command with other flags is refused":                      otherFlagsAreRefused,
		"A command that died is continued by the same command":              diedCommandsContinue,
		"Nothing is deleted with the credentials of another account":        credentialsOfAnotherAccount,
		"A pool gets the subnet of its zone, and existing ones are kept":    poolOfAZone,
		"Secrets of an earlier cluster of the same name are not used again": secretsOfAnEarlierCluster,
		"A cluster in a shared VPC is created and deleted in both accounts": clusterInASharedVPC,
		"Pools have the security group of the network":                      poolsOfASecurityGroup,
		"Zones of the account are those that the management cluster serves": zonesAreCompared,
		"The account is checked before the first write":                     accountIsChecked,
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			u.kubeconfig = m.kubeconfig
			m.t = t
			test(t, m, u)
			// A cluster that was deleted before the stand-in has seen it leaves its node pools. In a real cluster, they have an owner.
			for _, left := range []client.Object{&hyperv1.NodePool{}, &corev1.Secret{}} {
				u.try(m.DeleteAllOf(t.Context(), left, client.InNamespace("clusters")))
			}
		})
	}
}

// An empty account has no public hosted zone, and a private cluster has no record in one.
func privateClusterWithoutDomain(t *testing.T, m *managementCluster, u *user) {
	create := func(access string) []string {
		return []string{"create", "cluster", "aws", "--name", "demo", "--zones", "us-east-1a", "--endpoint-access", access, "--release-image", "example.com/release:1"}
	}
	if code := u.run(create("Public")...); code != cli.Usage || len(u.writes) > 0 || !strings.Contains(u.err.String(), "--base-domain: Required value") {
		t.Errorf("a public cluster without a domain: exit code %d, writes %v\n%s", code, u.writes, u.err.String())
	}
	u.must(create("Private")...)
	hc := &hyperv1.HostedCluster{}
	if err := m.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil {
		t.Fatal(err)
	}
	if hc.Spec.DNS.BaseDomain != "" || hc.Spec.Platform.AWS.RolesRef.IngressARN != "" {
		t.Errorf("the cluster has the base domain %q and the role %q", hc.Spec.DNS.BaseDomain, hc.Spec.Platform.AWS.RolesRef.IngressARN)
	}
	zones := 0
	for _, operation := range u.writes {
		if strings.HasSuffix(operation, "CreateHostedZone") {
			zones++
		}
	}
	if zones != 1 {
		t.Errorf("the command has created %d hosted zones, want that below hypershift.local: %v", zones, u.writes)
	}
	u.must(create("Private")...)
	if len(u.writes) > 0 {
		t.Errorf("a second run has called %v", u.writes)
	}
	u.must(destroyCluster("--yes")...)
	if left := u.owned(); len(left) > 0 || len(m.names()) > 0 {
		t.Errorf("left: %v and %v", left, m.names())
	}
}

func clusterIsCreatedAndDeleted(t *testing.T, m *managementCluster, u *user) {
	if code := u.run(createCluster("--plan")...); code != cli.Changes || len(u.writes) > 0 || len(m.names()) > 0 {
		t.Fatalf("create --plan: exit code %d, writes %v, objects %v\n%s", code, u.writes, m.names(), u.err.String())
	}
	if plan := u.out.String(); !strings.Contains(plan, "+ VPC demo-") || !strings.Contains(plan, "+ HostedCluster clusters/demo") {
		t.Errorf("the plan is\n%s", plan)
	}
	u.must(createCluster("--wait", "--timeout", "1m")...)
	for _, line := range []string{"created HostedCluster clusters/demo\n", "NodePool demo-us-east-1c: 1 of 1 nodes"} {
		if !strings.Contains(u.err.String(), line) {
			t.Errorf("the command has not printed %q:\n%s", line, u.err.String())
		}
	}
	want := []string{
		"HostedCluster demo", "NodePool demo-us-east-1a", "NodePool demo-us-east-1b", "NodePool demo-us-east-1c", "Secret demo-etcd-encryption-key", "Secret demo-pull-secret",
	}
	if got := m.names(); !slices.Equal(got, want) {
		t.Errorf("objects %v, want %v", got, want)
	}
	hc := &hyperv1.HostedCluster{}
	if err := m.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil {
		t.Fatal(err)
	}
	if hc.Spec.IssuerURL != "https://documents.s3.us-east-1.amazonaws.com/"+hc.Spec.InfraID || !strings.HasPrefix(hc.Spec.InfraID, "demo-") {
		t.Errorf("issuer %s, infra ID %s", hc.Spec.IssuerURL, hc.Spec.InfraID)
	}
	// A second run, also without its state, makes no change.
	u.must(createCluster("--wait", "--timeout", "1m")...)
	if err := os.RemoveAll(u.stateDir()); err != nil {
		t.Fatal(err)
	}
	u.must(createCluster()...)
	if len(u.writes) > 0 {
		t.Errorf("a second run has called %v", u.writes)
	}

	if code := u.run(destroyCluster()...); code != cli.Usage || len(m.names()) != len(want) {
		t.Errorf("a deletion that nobody has confirmed: exit code %d, objects %v", code, m.names())
	}
	if code := u.run(destroyCluster("--plan")...); code != cli.Changes || len(u.writes) > 0 || len(m.names()) != len(want) {
		t.Errorf("destroy --plan: exit code %d, writes %v, objects %v\n%s", code, u.writes, m.names(), u.err.String())
	}
	if plan := u.out.String(); !strings.Contains(plan, "- HostedCluster clusters/demo") || !strings.Contains(plan, "- VPC ") {
		t.Errorf("the plan is\n%s", plan)
	}
	before := len(u.owned())
	m.mu.Lock()
	m.beforeRelease = func() {
		if now := len(u.owned()); now != before {
			t.Errorf("%d of %d resources exist before the operators have deleted theirs", now, before)
		}
	}
	m.mu.Unlock()
	u.must(destroyCluster("--yes")...)
	m.mu.Lock()
	m.beforeRelease = nil
	m.mu.Unlock()
	if left := u.owned(); len(left) > 0 || len(m.names()) > 0 {
		t.Errorf("left: %v and %v", left, m.names())
	}
	if files, err := filepath.Glob(filepath.Join(u.stateDir(), "*.json")); err != nil || len(files) > 0 {
		t.Errorf("states are left: %v %v", files, err)
	}
	// There is no command to continue.
	if code := u.run(destroyCluster("--yes")...); code != cli.Usage {
		t.Errorf("exit code %d for a cluster that does not exist", code)
	}
}

// A repeated command must not pretend that it has changed existing objects.
func otherFlagsAreRefused(t *testing.T, m *managementCluster, u *user) {
	create := func(zones string, more ...string) []string {
		args := createCluster(more...)
		args[slices.Index(args, threeZones)] = zones
		return args
	}
	const zones = "us-east-1a,us-east-1b"
	same := []string{"--control-plane-availability-policy", "SingleReplica", "--node-pool-replicas", "2"}
	u.must(create(zones, append(same, "--wait", "--timeout", "1m")...)...)
	for name, c := range map[string]struct {
		zones string
		flags []string
		want  string
	}{
		"availability": {zones, []string{"--control-plane-availability-policy", "HighlyAvailable"}, `spec.controllerAvailabilityPolicy is "SingleReplica", not "HighlyAvailable"`},
		"nodes":        {zones, []string{"--node-pool-replicas", "3"}, "NodePool clusters/demo-us-east-1b exists with other values than this command has:\n  spec.replicas is 2, not 3"},
		"access":       {zones, []string{"--endpoint-access", "Public"}, `spec.platform.aws.endpointAccess is "Private", not "Public"`},
		"pull secret":  {zones, []string{"--pull-secret", write(t, `{"auths":{"example.com":{"auth":"c2VjcmV0"}}}`)}, "data..dockerconfigjson has another value"},
		"public nodes": {zones, []string{"--public-only"}, "metadata.annotations." + hyperv1.AWSMachinePublicIPsAnnotation + " is not set"},
		"a key":        {zones, []string{"--etcd-encryption-key-file", write(t, base64.StdEncoding.EncodeToString(make([]byte, 32)))}, "data.key has another value"},
		"no pools":     {zones, []string{"--node-pool-replicas", "-1"}, "this one leaves it out"},
		"fewer zones":  {"us-east-1a", nil, "NodePool clusters/demo-us-east-1b, and this one leaves it out: add its zone to --zones"},
	} {
		code := u.run(create(c.zones, append(slices.Clone(same), c.flags...)...)...)
		if code != cli.Usage || u.reads > 0 || len(u.writes) > 0 || !strings.Contains(u.err.String(), c.want) || strings.Contains(u.err.String(), "c2VjcmV0") {
			t.Errorf("%s: exit code %d, %d reads, writes %v\n%s", name, code, u.reads, u.writes, u.err.String())
		}
	}
	before := m.names()
	u.must(create(threeZones, same...)...)
	if got := m.names(); !slices.Contains(got, "NodePool demo-us-east-1c") || len(got) != len(before)+1 {
		t.Errorf("a zone more: objects are %v, and were %v", got, before)
	}
	u.until(m.isObserved)
	u.must(destroyCluster("--yes")...)
}

func checksComeFirst(t *testing.T, m *managementCluster, u *user) {
	for name, flags := range map[string][]string{
		"the operator's rules":      {"--cluster-cidr", "10.0.0.0/14"},
		"the rules of the CRD":      {"--kas-dns-name", "Not_A_Name"},
		"the rules of Secrets":      {"--pull-secret", write(t, `{"auths":{}} {}`)},
		"the schema of a node pool": {"--root-volume-type", "paper"},
		"the spec of the network":   {"--vpc-cidr", "10.0.0.0/20"},
		"the spec of the roles":     {"--kms-key-arn", "key"},
		"the name of the cluster":   {"--namespace", strings.Repeat("n", 60)},
	} {
		code := u.run(createCluster(flags...)...)
		if code != cli.Usage || u.reads > 0 || len(u.writes) > 0 {
			t.Errorf("%s: exit code %d, %d reads, writes %v\n%s", name, code, u.reads, u.writes, u.err.String())
		}
	}
	if len(m.names()) > 0 {
		t.Errorf("objects were created: %v", m.names())
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func diedCommandsContinue(t *testing.T, m *managementCluster, u *user) {
	// The stand-in for the operator would have deleted everything at once.
	for _, after := range []int{1, 5, 20} { // under load, some more calls than these are on their way
		u.dieAt = call{n: after}
		if code := u.run(createCluster()...); code == cli.Done {
			t.Fatalf("the command has not died after %d writing calls", after)
		}
		u.resurrect()
	}
	u.must(createCluster("--wait", "--timeout", "1m")...)
	if got := kinds(u.owned()); got["vpc"] != 1 || got["nat-gateway"] != 3 || got["subnet"] != 6 || got["oidc-provider"] != 1 || got["hosted-zone"] != 2 {
		t.Errorf("resources %v", got)
	}
	for _, after := range []int{1, 3, 9} {
		u.dieAt = call{n: after}
		if code := u.run(destroyCluster("--yes")...); code == cli.Done {
			t.Fatalf("the command has not died after %d writing calls", after)
		}
		u.resurrect()
		if !slices.Contains(m.names(), "HostedCluster demo") {
			t.Error("the HostedCluster, and with it the infra ID, is gone before all else is")
		}
		// Another machine continues.
		if err := os.RemoveAll(u.stateDir()); err != nil {
			t.Fatal(err)
		}
	}
	u.must(destroyCluster("--yes")...)
	if left := u.owned(); len(left) > 0 || len(m.names()) > 0 {
		t.Errorf("left: %v and %v", left, m.names())
	}

	// A cluster that never had a HostedCluster is deleted, too.
	u.dieAt = call{n: 20}
	if code := u.run(createCluster()...); code == cli.Done {
		t.Fatal("the command has not died")
	}
	u.resurrect()
	u.must(destroyCluster("--yes")...)
	if left := u.owned(); len(left) > 0 || len(m.names()) > 0 {
		t.Errorf("left: %v and %v", left, m.names())
	}
}

func credentialsOfAnotherAccount(t *testing.T, m *managementCluster, u *user) {
	u.must(createCluster()...)
	other := newUser(t)
	other.kubeconfig = m.kubeconfig
	if code := other.run(destroyCluster("--yes")...); code != cli.Failed || !strings.Contains(other.err.String(), "the cluster is in account "+u.account) {
		t.Errorf("exit code %d\n%s", code, other.err.String())
	}
	hc := &hyperv1.HostedCluster{}
	if err := m.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil || !hc.DeletionTimestamp.IsZero() {
		t.Errorf("the HostedCluster is deleted: %v", err)
	}
	u.must(destroyCluster("--yes")...)
}

func poolOfAZone(t *testing.T, m *managementCluster, u *user) {
	u.must(createCluster("--node-pool-replicas", "-1")...)
	if got := m.names(); slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "NodePool") }) {
		t.Errorf("objects %v", got)
	}
	create := []string{"create", "nodepool", "aws", "--cluster-name", "demo", "--name", "more", "--zone", "us-east-1b", "--replicas", "2"}
	u.must(append(create, "--wait", "--timeout", "1m")...)
	np := &hyperv1.NodePool{}
	key := client.ObjectKey{Namespace: "clusters", Name: "more"}
	if err := m.Get(t.Context(), key, np); err != nil {
		t.Fatal(err)
	}
	described, err := ec2.NewFromConfig(emulator.Config(u.account)).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{
		SubnetIds: []string{*np.Spec.Platform.AWS.Subnet.ID},
	})
	if err != nil {
		t.Fatal(err)
	}
	found := aws.ToString(described.Subnets[0].AvailabilityZone) == "us-east-1b" && !aws.ToBool(described.Subnets[0].MapPublicIpOnLaunch)
	if !found || np.Spec.Release.Image != "example.com/release:1" || !strings.HasSuffix(np.Spec.Platform.AWS.InstanceProfile, "-worker") {
		t.Errorf("node pool %+v", np.Spec)
	}
	u.must(create...)
	difference := `spec.platform.aws.instanceType is "m5.large", not "m5.xlarge"`
	if code := u.run(append(create, "--instance-type", "m5.xlarge")...); code != cli.Usage || !strings.Contains(u.err.String(), difference) {
		t.Errorf("the same command with another instance type: exit code %d\n%s", code, u.err.String())
	}
	for _, wrong := range [][]string{
		{"--root-volume-type", "paper"}, {"--subnet-id", "subnet-1"}, {"--instance-type", "m5.tiny"}, {"--arch", "arm64", "--instance-type", "m5.large"},
	} {
		args := append(slices.Clone(create), wrong...)
		args[6] = "wrong"
		if code := u.run(args...); code != cli.Usage || len(u.writes) > 0 {
			t.Errorf("%v: exit code %d\n%s", wrong, code, u.err.String())
		}
	}
	if code := u.run(createCluster("--instance-type", "m5.tiny")...); code != cli.Usage || len(u.writes) > 0 {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	if code := u.run("destroy", "nodepool", "--name", "more", "--cluster-name", "other", "--yes"); code != cli.Usage {
		t.Errorf("exit code %d for a pool of another cluster", code)
	}
	u.must("destroy", "nodepool", "--name", "more", "--yes")
	if err := m.Get(t.Context(), key, np); !apierrors.IsNotFound(err) {
		t.Errorf("the pool exists: %v", err)
	}
	u.must(destroyCluster("--yes")...)
}

// isObserved is true if the stand-in for the operator has seen the cluster: its deletion then removes the node pools.
func (m *managementCluster) isObserved() bool {
	clusters := &hyperv1.HostedClusterList{}
	return m.List(m.t.Context(), clusters) == nil && len(clusters.Items) == 1 && controllerutil.ContainsFinalizer(&clusters.Items[0], hyperv1.HostedClusterFinalizer)
}

func secretsOfAnEarlierCluster(t *testing.T, m *managementCluster, u *user) {
	u.must(createCluster()...)
	u.until(m.isObserved)
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: "clusters", Name: "demo-etcd-encryption-key"}
	if err := m.Get(t.Context(), key, secret); err != nil || len(secret.Data["key"]) != 32 {
		t.Fatalf("the key has %d bytes: %v", len(secret.Data["key"]), err)
	}
	u.must(destroyCluster("--yes")...)
	earlier := secret.DeepCopy()
	earlier.ResourceVersion, earlier.UID = "", ""
	if err := m.Create(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	if code := u.run(createCluster()...); code != cli.Failed || len(u.writes) > 0 || !strings.Contains(u.err.String(), "belongs to infra ID") {
		t.Errorf("exit code %d, writes %v\n%s", code, u.writes, u.err.String())
	}
	if err := m.Delete(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	u.must(createCluster()...)
	u.until(m.isObserved)
	u.must(destroyCluster("--yes")...)
}
