package podrunner_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/test/bed"
	"github.com/hosted-control-planes/hypershift/test/bed/podrunner"
)

const image = "example.test/operator:1"

// TestMain lets this test binary play the operator, too: the runner starts it with a first argument of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "operator" {
		if err := operator(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// operator writes what it sees of its surroundings into the ConfigMap "facts" and serves its health.
func operator() error {
	ctx := context.Background()
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	namespace := os.Getenv("POD_NAMESPACE")
	credentials, err := os.ReadFile(strings.TrimPrefix(os.Args[2], "--credentials="))
	if err != nil {
		return err
	}
	_, secretErr := kube.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	facts := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "facts"}, Data: map[string]string{
		"pid":              fmt.Sprint(os.Getpid()),
		"user":             os.Getenv("DATABASE_USER"),
		"endpoint":         os.Getenv("AWS_ENDPOINT_URL"),
		"credentials":      string(credentials),
		"secretsForbidden": fmt.Sprint(apierrors.IsForbidden(secretErr)),
	}}
	if _, err := kube.CoreV1().ConfigMaps(namespace).Update(ctx, facts, metav1.UpdateOptions{}); err != nil {
		return err
	}
	http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	return http.ListenAndServe(strings.TrimPrefix(os.Args[3], "--health="), nil)
}

func TestTheLifeOfADeployment(t *testing.T) {
	b, err := bed.Start(t.Context(), bed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runner, err := podrunner.Start(t.Context(), podrunner.Options{
		Config:   b.Config,
		Dir:      t.TempDir(),
		Images:   map[string]podrunner.Image{image: {Bin: filepath.Dir(self), Entrypoint: filepath.Base(self)}},
		Env:      []string{"AWS_ENDPOINT_URL=http://127.0.0.1:4566"},
		Progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runner.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, kube: kubernetes.NewForConfigOrDie(b.Config), runner: runner}
	w.prepare()

	w.create(deployment())
	w.eventually("it says what it lacks", func(d *appsv1.Deployment) bool {
		c := condition(d, appsv1.DeploymentProgressing)
		return c != nil && c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "reading Secret story/aws")
	})

	w.createSecret()
	w.eventually("it becomes available", available)
	facts := w.facts()
	for key, want := range map[string]string{
		"user":             "operator-user",
		"endpoint":         "http://127.0.0.1:4566",
		"secretsForbidden": "true",
	} {
		if facts[key] != want {
			t.Errorf("the operator saw %s = %q, want %q", key, facts[key], want)
		}
	}
	token := strings.TrimSpace(strings.TrimPrefix(facts["credentials"], "web_identity_token_file="))
	if content, err := os.ReadFile(token); err != nil || strings.Count(string(content), ".") != 2 {
		t.Errorf("the credentials name %q, which holds no web-identity token: %v", token, err)
	}

	if err := runner.Kill("story", "operator"); err != nil {
		t.Fatal(err)
	}
	w.eventually("after a crash it runs again", func(d *appsv1.Deployment) bool {
		return available(d) && w.facts()["pid"] != facts["pid"]
	})

	pid := w.facts()["pid"]
	w.scale(0)
	w.eventually("scaled to nothing, its process is gone", func(d *appsv1.Deployment) bool {
		return d.Status.Replicas == 0 && !running(pid)
	})

	w.scale(1)
	w.eventually("it comes back", available)
	pid = w.facts()["pid"]
	if err := w.kube.AppsV1().Deployments("story").Delete(t.Context(), "operator", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.poll("a deleted Deployment stops", func() bool { return !running(pid) })
}

func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "operator"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "operator"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: "operator",
					Volumes: []corev1.Volume{
						{Name: "aws", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "aws"}}},
						{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
							{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "openshift", Path: "token"}},
						}}}},
					},
					Containers: []corev1.Container{{
						Name:  "operator",
						Image: image,
						Args:  []string{"operator", "--credentials=/etc/aws/credentials", "--health=:8081"},
						Ports: []corev1.ContainerPort{{Name: "health", ContainerPort: 8081}},
						Env: []corev1.EnvVar{
							{Name: "POD_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
							{Name: "DATABASE_USER", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
								LocalObjectReference: corev1.LocalObjectReference{Name: "aws"}, Key: "user",
							}}},
						},
						VolumeMounts: []corev1.VolumeMount{
							{Name: "aws", MountPath: "/etc/aws"},
							{Name: "token", MountPath: "/var/run/secrets/openshift"},
						},
						ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
							HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromString("health")},
						}},
					}},
				},
			},
		},
	}
}

// world is the cluster as the story sees it.
type world struct {
	t      *testing.T
	kube   kubernetes.Interface
	runner *podrunner.Runner
}

func (w *world) prepare() {
	w.t.Helper()
	ctx := w.t.Context()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	_, err := w.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: meta("story")}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.kube.CoreV1().ServiceAccounts("story").Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta("operator")}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.kube.RbacV1().Roles("story").Create(ctx, &rbacv1.Role{ObjectMeta: meta("operator"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"update"}},
	}}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.kube.RbacV1().RoleBindings("story").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta("operator"),
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "operator", Namespace: "story"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
	}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.kube.CoreV1().ConfigMaps("story").Create(ctx, &corev1.ConfigMap{ObjectMeta: meta("facts")}, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) create(d *appsv1.Deployment) {
	w.t.Helper()
	_, err := w.kube.AppsV1().Deployments("story").Create(w.t.Context(), d, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) createSecret() {
	w.t.Helper()
	_, err := w.kube.CoreV1().Secrets("story").Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "aws"},
		StringData: map[string]string{
			"user":        "operator-user",
			"credentials": "web_identity_token_file=" + filepath.Join("/var/run/secrets/openshift", "token"),
		},
	}, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) scale(replicas int) {
	w.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := w.kube.AppsV1().Deployments("story").Patch(w.t.Context(), "operator", types.MergePatchType, patch, metav1.PatchOptions{})
	w.must(err)
}

func (w *world) facts() map[string]string {
	w.t.Helper()
	got, err := w.kube.CoreV1().ConfigMaps("story").Get(w.t.Context(), "facts", metav1.GetOptions{})
	w.must(err)
	return got.Data
}

func (w *world) eventually(what string, ok func(*appsv1.Deployment) bool) {
	w.t.Helper()
	w.poll(what, func() bool {
		d, err := w.kube.AppsV1().Deployments("story").Get(w.t.Context(), "operator", metav1.GetOptions{})
		w.must(err)
		return ok(d)
	})
}

func (w *world) poll(what string, ok func() bool) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.t.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return ok(), nil })
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func available(d *appsv1.Deployment) bool {
	c := condition(d, appsv1.DeploymentAvailable)
	return d.Status.AvailableReplicas == ptr.Deref(d.Spec.Replicas, 1) && c != nil && c.Status == corev1.ConditionTrue
}

func condition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == kind {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}

// running says whether a process exists.
func running(pid string) bool {
	var number int
	if _, err := fmt.Sscan(pid, &number); err != nil {
		return false
	}
	return syscall.Kill(number, 0) == nil
}
