//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
	"github.com/hosted-control-planes/hypershift/test/lab/load"
	"github.com/hosted-control-planes/hypershift/test/lab/transitions"
)

// hosted is the hosted cluster of a scenario.
type hosted struct {
	t  *testing.T
	hc *hyperv1.HostedCluster
	// on is the installation that runs the cluster.
	on *hosting.Hosting
	// customer is the AWS account of the cluster, nil outside of AWS.
	customer *accounts.Customer
	// management is an administrator's client of the management cluster.
	management client.Client
	// kubeconfig is the user's kubeconfig. It is set by available.
	kubeconfig string
}

// release is the payload of a version. The first scenario that needs the older version waits until it is built.
func release(t *testing.T, version string) string {
	t.Helper()
	name, err := on.Release(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// newHosted prepares a hosted cluster of that name. The end of the test deletes it and checks that no object remains.
func newHosted(t *testing.T, name, version string) *hosted {
	t.Helper()
	return newHostedOn(t, on, name, version)
}

// newHostedOn prepares a hosted cluster on an installation.
func newHostedOn(t *testing.T, on *hosting.Hosting, name, version string) *hosted {
	t.Helper()
	customer, err := on.NewCustomer(t.Context(), name, name+"-x7k2p", version)
	if err != nil {
		t.Fatal(err)
	}
	text, err := on.Sample(name, hyperv1.SingleReplica)
	if err != nil {
		t.Fatal(err)
	}
	h := readHostedOn(t, on, text, customer.Variables)
	h.customer = customer
	return h
}

// readHosted returns the hosted cluster of a sample and applies the other objects of the sample.
func readHosted(t *testing.T, text string, variables map[string]string) *hosted {
	t.Helper()
	return readHostedOn(t, on, text, variables)
}

func readHostedOn(t *testing.T, on *hosting.Hosting, text string, variables map[string]string) *hosted {
	t.Helper()
	h := &hosted{t: t, on: on, hc: &hyperv1.HostedCluster{}}
	scheme := runtime.NewScheme()
	h.must(errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme), clusterv1.AddToScheme(scheme)))
	var err error
	h.management, err = client.New(on.Config, client.Options{Scheme: scheme})
	h.must(err)
	filled, err := fixture.Substitute(text, variables)
	h.must(err)
	objects, err := fixture.Decode(filled)
	h.must(err)
	for _, o := range objects {
		if o.GetKind() != "HostedCluster" {
			h.must(h.management.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("e2e"), client.ForceOwnership))
			continue
		}
		text, err := yaml.Marshal(o.Object)
		h.must(err)
		h.must(yaml.UnmarshalStrict(text, h.hc))
	}
	return h
}

// create creates the cluster. It is deleted by delete, or at the end of the test.
func (h *hosted) create() {
	h.t.Helper()
	h.must(h.management.Create(h.t.Context(), h.hc))
	h.t.Cleanup(func() { h.delete(context.WithoutCancel(h.t.Context())) })
}

// available waits until the cluster is available and completely rolled out, and gets the user's kubeconfig.
func (h *hosted) available() {
	h.t.Helper()
	h.waitForCondition(hyperv1.HostedClusterAvailable, "True")
	h.waitForCondition(hyperv1.HostedClusterProgressing, "False")
	h.waitForCondition(hyperv1.ConfigOperatorReconciliationSucceeded, "True")
	h.eventually("its API is reachable", func(ctx context.Context) (err error) {
		h.kubeconfig, err = h.on.AdminKubeconfig(ctx, client.ObjectKeyFromObject(h.hc))
		return err
	})
}

// startedOnce checks that no container of the control plane was restarted: each waits for its dependencies. Volumes of the lab are attached
// as late as EBS volumes.
func (h *hosted) startedOnce() {
	h.t.Helper()
	var pods corev1.PodList
	h.must(h.management.List(h.t.Context(), &pods, client.InNamespace(h.namespace())))
	if len(pods.Items) == 0 {
		h.t.Fatal("the control plane has no pods")
	}
	for _, pod := range pods.Items {
		for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if c.RestartCount > 0 {
				h.t.Errorf("container %s of pod %s was restarted %d times, last: %+v", c.Name, pod.Name, c.RestartCount, c.LastTerminationState.Terminated)
			}
		}
	}
}

// waitForCondition waits until a condition reports a status and its message contains the words.
func (h *hosted) waitForCondition(condition, status string, words ...string) {
	h.t.Helper()
	h.eventually(condition+" is "+status, func(ctx context.Context) error {
		if err := h.management.Get(ctx, client.ObjectKeyFromObject(h.hc), h.hc); err != nil {
			return err
		}
		c := meta.FindStatusCondition(h.hc.Status.Conditions, condition)
		if c == nil || string(c.Status) != status {
			return fmt.Errorf("the condition is %+v; Available: %+v", c, meta.FindStatusCondition(h.hc.Status.Conditions, hyperv1.HostedClusterAvailable))
		}
		for _, w := range words {
			if !strings.Contains(c.Message, w) {
				return fmt.Errorf("the message is %q and lacks %q", c.Message, w)
			}
		}
		return nil
	})
}

// change changes the HostedCluster and retries on conflict.
func (h *hosted) change(edit func(*hyperv1.HostedCluster)) {
	h.t.Helper()
	h.eventually("the HostedCluster is changed", func(ctx context.Context) error {
		if err := h.management.Get(ctx, client.ObjectKeyFromObject(h.hc), h.hc); err != nil {
			return err
		}
		edit(h.hc)
		return h.management.Update(ctx, h.hc)
	})
}

// load sends requests to the API server of the cluster until the end of the test.
func (h *hosted) load() *load.Load {
	h.t.Helper()
	l, err := load.Start(h.t.Context(), h.kubeconfig)
	h.must(err)
	h.t.Cleanup(l.Stop)
	return l
}

// staysAvailable watches the HostedCluster from now on. The returned function ends the watch, and fails the test if
// Available was not True in between, however briefly. The one exception is the second after a change of the spec, in which
// Available is Unknown with reason Progressing, because the control plane has not observed the change.
func (h *hosted) staysAvailable() (check func()) {
	h.t.Helper()
	c, err := client.NewWithWatch(h.on.Config, client.Options{Scheme: h.management.Scheme()})
	h.must(err)
	w, err := transitions.Start(h.t.Context(), c, key(h.hc), hyperv1.HostedClusterAvailable)
	h.must(err)
	return func() {
		h.t.Helper()
		seen, err := w.Stop()
		for _, s := range seen {
			if s.Status == metav1.ConditionTrue || s.Status == metav1.ConditionUnknown && s.Reason == hyperv1.ProgressingReason {
				h.t.Logf("Available: %s", s)
			} else {
				h.t.Errorf("Available: %s", s)
			}
		}
		h.must(err)
	}
}

// pods returns the pods of the control plane.
func (h *hosted) pods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := h.management.List(ctx, list, client.InNamespace(h.namespace()))
	return list.Items, err
}

func (h *hosted) namespace() string { return names.ControlPlaneNamespace(h.hc.Namespace, h.hc.Name) }

// rolledOut returns an error unless all pods of every workload of the control plane are ready.
func (h *hosted) rolledOut(ctx context.Context) error {
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	if err := h.management.List(ctx, deployments, client.InNamespace(h.namespace())); err != nil {
		return err
	}
	if err := h.management.List(ctx, sets, client.InNamespace(h.namespace())); err != nil {
		return err
	}
	for _, d := range deployments.Items {
		if s := d.Status; s.ReadyReplicas != *d.Spec.Replicas || s.UpdatedReplicas != *d.Spec.Replicas || s.Replicas != *d.Spec.Replicas {
			return fmt.Errorf("Deployment %s has %d of %d pods ready", d.Name, s.ReadyReplicas, *d.Spec.Replicas)
		}
	}
	for _, s := range sets.Items {
		if s.Status.ReadyReplicas != *s.Spec.Replicas {
			return fmt.Errorf("StatefulSet %s has %d of %d pods ready", s.Name, s.Status.ReadyReplicas, *s.Spec.Replicas)
		}
	}
	return nil
}

// delete deletes the cluster, and fails the test if anything is left.
func (h *hosted) delete(ctx context.Context) {
	h.t.Helper()
	started := time.Now()
	h.must(client.IgnoreNotFound(h.management.Delete(ctx, h.hc)))
	h.eventuallyIn(ctx, "it is gone", func(ctx context.Context) error {
		err := h.management.Get(ctx, client.ObjectKeyFromObject(h.hc), h.hc)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("%+v", h.hc.Status.Conditions))
	})
	h.t.Logf("deleted in %.1f s", time.Since(started).Seconds())
	h.eventuallyIn(ctx, "nothing of it is left", h.left)
}

// left returns an error that names the remaining objects of the cluster.
func (h *hosted) left(ctx context.Context) error {
	err := h.management.Get(ctx, client.ObjectKey{Name: h.namespace()}, &corev1.Namespace{})
	if !apierrors.IsNotFound(err) {
		return errors.Join(err, errors.New("its namespace still exists"))
	}
	volumes := &corev1.PersistentVolumeList{}
	if err := h.management.List(ctx, volumes); err != nil {
		return err
	}
	for _, v := range volumes.Items {
		if v.Spec.ClaimRef != nil && v.Spec.ClaimRef.Namespace == h.namespace() {
			return fmt.Errorf("its volume %s still exists", v.Name)
		}
	}
	theirs := ""
	if h.customer != nil {
		theirs = h.customer.Account
	}
	for _, account := range []string{theirs, on.Management.Account} {
		if account == "" {
			continue
		}
		resources, err := on.AWS.Leftovers(ctx, account)
		if err != nil {
			return err
		}
		for _, r := range resources {
			if account == theirs || strings.Contains(r, h.hc.Spec.InfraID) {
				return fmt.Errorf("account %s still has %s", account, r)
			}
		}
	}
	return nil
}

func (h *hosted) eventually(what string, check func(context.Context) error) {
	h.t.Helper()
	h.eventuallyIn(h.t.Context(), what, check)
}

// patience is how long a scenario waits for anything. A machine with two slow cores takes twice as long as others for the upgrade of a
// highly available control plane during two other scenarios: five minutes were too few.
const patience = 10 * time.Minute

func (h *hosted) eventuallyIn(ctx context.Context, what string, check func(context.Context) error) {
	h.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			h.t.Fatalf("%s: timed out: %v", what, err)
		}
		pause(ctx, 200*time.Millisecond)
	}
}

func (h *hosted) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func key(obj client.Object) client.ObjectKey { return client.ObjectKeyFromObject(obj) }
