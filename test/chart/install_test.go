package chart_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

const (
	foreign = "machinedrainrules.cluster.x-k8s.io" // installed by another party
	ours    = "machines.cluster.x-k8s.io"
	check   = "hypershift-uninstall-check"
)

// cluster is a real API server. Pods do not run, except for those that the test runs.
type cluster struct {
	*fixture.Fixture
	client.WithWatch
	program string
}

func start(t *testing.T) *cluster {
	t.Helper()
	program := buildOperator(t)
	b, err := fixture.Start(t.Context(), fixture.Options{Progress: t.Output(), CRDs: []string{path(t, "config", "crd", "external", "cluster.x-k8s.io_machinedrainrules.yaml")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := scheme()
	if err := hyperv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(b.Config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{Fixture: b, WithWatch: c, program: program}
}

func buildOperator(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "hypershift-operator")
	if err := gobuild.Run(t.Context(), t.Output(), gobuild.Spec{Label: "hypershift-operator", Dir: path(t), Packages: []string{"./hypershift-operator"}, Output: program}); err != nil {
		t.Fatal(err)
	}
	return program
}

func (c *cluster) helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return helm(t, append(args, "--kubeconfig", c.Kubeconfig)...)
}

func (c *cluster) mustHelm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.helm(t, args...)
	if err != nil {
		t.Fatalf("helm %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// kind returns the CRD of this name, or nil.
func (c *cluster) kind(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := c.Get(t.Context(), client.ObjectKey{Name: name}, crd)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

func (c *cluster) operatorRuns(t *testing.T) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "hypershift-operator"}, &appsv1.Deployment{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// uninstall runs `helm uninstall`. In place of a kubelet, it runs the Job that Helm waits for: the operator's program, as
// the Job's service account.
func (c *cluster) uninstall(t *testing.T) (jobSaid string, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	output := make(chan string, 1)
	go func() { output <- c.runJob(ctx, t) }()
	_, err = c.helm(t, "uninstall", release, "--timeout", "60s")
	cancel()
	return <-output, err
}

func (c *cluster) runJob(ctx context.Context, t *testing.T) string {
	var job batchv1.Job
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: check}, &job)
		return err == nil && job.Status.StartTime == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Errorf("no Job was created: %v", err)
		return ""
	}
	out, failed := c.asServiceAccount(ctx, t, job.Spec.Template.Spec)
	now := metav1.Now()
	job.Status.StartTime = &now
	condition := func(kind batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now}
	}
	if failed != nil {
		job.Status.Failed = 1
		job.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailureTarget), condition(batchv1.JobFailed)}
	} else {
		job.Status.Succeeded, job.Status.CompletionTime = 1, &now
		job.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet), condition(batchv1.JobComplete)}
	}
	if err := c.Status().Update(ctx, &job); err != nil {
		t.Errorf("ending the Job: %v", err)
	}
	return out
}

func (c *cluster) asServiceAccount(ctx context.Context, t *testing.T, pod corev1.PodSpec) (string, error) {
	token := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.ServiceAccountName}}
	if err := c.SubResource("token").Create(ctx, account, token); err != nil {
		t.Errorf("becoming %s: %v", account.Name, err)
		return "", err
	}
	cfg := rest.AnonymousClientConfig(c.Config)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: cfg.Host, CertificateAuthorityData: cfg.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, kubeconfig)
	if err != nil {
		t.Error(err)
		return "", err
	}
	cmd := exec.CommandContext(ctx, c.program, pod.Containers[0].Command[1:]...)
	cmd.Env = []string{"KUBECONFIG=" + kubeconfig, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// An installation, upgrade and removal on a cluster where another party has installed some CRDs of Cluster API.
func TestInstallUpgradeUninstall(t *testing.T) {
	c := start(t)

	if _, err := c.helm(t, "install", release, chartFile(t), "--create-namespace"); err == nil || !strings.Contains(err.Error(), "install the chart hypershift-crds of the same version first") {
		t.Errorf("without the CRDs: %v", err)
	}
	c.mustHelm(t, "install", release+"-crds", crdsChart(t), "--create-namespace")
	notes := c.mustHelm(t, "install", release, chartFile(t))
	if !strings.Contains(notes, "oidc.bucket is not set") {
		t.Errorf("the notes do not report what is missing:\n%s", notes)
	}
	if !c.operatorRuns(t) {
		t.Fatal("the operator is not installed")
	}
	if c.kind(t, ours).Annotations["meta.helm.sh/release-name"] != release {
		t.Error("a missing CRD was not installed by the chart")
	}
	if a := c.kind(t, foreign).Annotations; a["meta.helm.sh/release-name"] != "" {
		t.Errorf("a CRD of another party was taken over: %v", a)
	}

	c.releasesFit(t)
	c.explains(t, "awsendpointservices.status", "controlplanecomponents.status", "machines.spec", "hostedclusters.spec", "routes.spec")
	c.usersMay(t)

	c.mustHelm(t, "upgrade", release, chartFile(t), "--set", "replicas=3")
	if manifest := c.mustHelm(t, "get", "manifest", release); !strings.Contains(manifest, `"name":"`+ours) || strings.Contains(manifest, `"name":"`+foreign) {
		t.Error("an upgrade loses the ownership of CRDs")
	}

	hc := &hyperv1.HostedCluster{}
	c.sample(t, hc)
	output, err := c.uninstall(t)
	if err == nil {
		t.Fatal("the operator was removed although a hosted cluster exists")
	}
	if want := "can delete HostedCluster " + hc.Namespace + "/" + hc.Name; !strings.Contains(output, want) {
		t.Errorf("the output of the Job is %q, want %q", output, want)
	}
	if !c.operatorRuns(t) {
		t.Error("the operator is gone although its removal was refused")
	}

	// A rollback continues with the operator.
	c.mustHelm(t, "rollback", release)
	c.mustHelm(t, "upgrade", release, chartFile(t))

	if err := c.Delete(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	if output, err := c.uninstall(t); err != nil {
		t.Fatalf("%v; the output of the Job is %q", err, output)
	}
	if c.operatorRuns(t) {
		t.Error("the operator is not removed")
	}
	c.mustHelm(t, "uninstall", release+"-crds")
	for _, name := range []string{ours, foreign, "hostedclusters.hypershift.openshift.io"} {
		if crd := c.kind(t, name); crd == nil || !crd.DeletionTimestamp.IsZero() {
			t.Errorf("the CRD %s is removed with the operator", name)
		}
	}

	c.mustHelm(t, "install", release+"-crds", crdsChart(t))
	c.mustHelm(t, "install", release, chartFile(t))
	if !c.operatorRuns(t) {
		t.Error("the chart cannot be installed again")
	}
}

// releasesFit checks the size of the Secrets in which Helm stores the charts. The API server refuses more than 1 MiB.
func (c *cluster) releasesFit(t *testing.T) {
	t.Helper()
	secrets := &corev1.SecretList{}
	if err := c.List(t.Context(), secrets, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm"}); err != nil || len(secrets.Items) != 2 {
		t.Fatalf("%d releases: %v", len(secrets.Items), err)
	}
	for _, secret := range secrets.Items {
		size := len(secret.Data["release"])
		t.Logf("the release %s takes %d of %d bytes", secret.Labels["name"], size, corev1.MaxSecretSize)
		if size > corev1.MaxSecretSize*40/100 {
			t.Errorf("the release %s takes %d of %d bytes: remove something from the chart, or move it into another one", secret.Labels["name"], size, corev1.MaxSecretSize)
		}
	}
}

// explains checks that the API server describes these fields, for kubectl explain.
func (c *cluster) explains(t *testing.T, fields ...string) {
	t.Helper()
	for _, field := range fields {
		plural, name, _ := strings.Cut(field, ".")
		crds := &apiextensionsv1.CustomResourceDefinitionList{}
		if err := c.List(t.Context(), crds); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, crd := range crds.Items {
			schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
			found = found || crd.Spec.Names.Plural == plural && schema.Properties[name].Description != ""
		}
		if !found {
			t.Errorf("%s has no description", field)
		}
	}
}

// usersMay checks, by reviews of the API server, the permissions of users with the chart's roles.
func (c *cluster) usersMay(t *testing.T) {
	t.Helper()
	for user, role := range map[string]string{"alice": "hypershift-edit", "bob": "hypershift-view"} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
		}
		if err := c.Create(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		user, verb, resource, subresource, namespace string
		allowed                                      bool
	}{
		{"alice", "create", "hostedclusters", "", "default", true},
		{"alice", "patch", "nodepools", "scale", "default", true},
		{"alice", "create", "hostedclusters", "", namespace, false},
		{"alice", "patch", "hostedclusters", "status", "default", false},
		{"alice", "create", "hostedcontrolplanes", "", "default", false},
		{"alice", "create", "awsendpointservices", "", "default", false},
		{"alice", "patch", "nodebootstraps", "", "default", false},
		{"bob", "watch", "hostedclusters", "", "default", true},
		{"bob", "create", "hostedclusters", "", "default", false},
		{"bob", "patch", "nodepools", "scale", "default", false},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: tc.user, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: hyperv1.GroupVersion.Group, Resource: tc.resource, Subresource: tc.subresource, Verb: tc.verb, Namespace: tc.namespace,
		}}}
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
			review.ResourceVersion = ""
			err := c.Create(ctx, review)
			return review.Status.Allowed == tc.allowed, err // the bindings may be new
		})
		if err != nil {
			t.Errorf("%+v: allowed is %v: %v", tc, review.Status.Allowed, err)
		}
	}
}

// sample applies a sample; its CRDs may just have been created.
func (c *cluster) sample(t *testing.T, hc *hyperv1.HostedCluster) {
	t.Helper()
	variables := map[string]string{
		"AWS_REGION": "us-east-1", "ZONE_A": "us-east-1a", "PARTITION": "aws", "CUSTOMER_ACCOUNT": "222222222222", "VPC": "vpc-1", "SUBNET_A": "subnet-1",
		"INFRA_ID": "example-x7k2p", "ISSUER": "docs.s3.us-east-1.amazonaws.com/example-x7k2p", "RELEASE_IMAGE": "example.test/release:1",
	}
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		last = c.ApplyFiles(ctx, variables, path(t, "config", "samples", "hostedcluster-private.yaml"))
		return last == nil, errIfFinal(last)
	})
	if err != nil {
		t.Fatal(errors.Join(err, last))
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "example"}, hc); err != nil {
		t.Fatal(err)
	}
}

// errIfFinal returns errors that a retry cannot fix.
func errIfFinal(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && apierrors.IsInvalid(err) {
		return err
	}
	return nil
}
