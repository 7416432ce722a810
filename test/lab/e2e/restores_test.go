//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// TestRestores lets a highly available cluster with a node go back to a backup, while the operators and a member of etcd are killed. Then another
// cluster begins with the same backup.
func TestRestores(t *testing.T) {
	begin(t)
	b := &backups{hosted: newHosted(t, "restores", on.Versions[0]), bucket: "etcd-restores"}
	b.hc.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	b.prepare()
	b.create()
	t.Cleanup(func() { b.emptyBucket(context.WithoutCancel(t.Context())) })
	pool := b.poolPerZone(1)[0]
	b.available()
	b.eventually("the machine is a node", func(ctx context.Context) error { return b.poolReady(ctx, pool, 1) })
	runAll(t, b.kubeconfig, []command{
		{name: "create a Deployment", args: "apply -f -", stdin: web(on.Images["busybox"]), want: `(?s)deployment.apps/web created.*service/web created`},
		{name: "its pods run", args: "get pods -l app=web", want: `web-\S+ +1/1 +Running`, again: true},
		{name: "create an object", args: "create configmap before --from-literal=color=blue", want: `configmap/before created`},
	})
	backup := b.backup("before", nil)
	b.eventually("the backup is stored", func(ctx context.Context) error {
		return b.reports(ctx, backup, metav1.ConditionTrue, hyperv1.BackupSucceededReason)
	})
	pods := b.kubectl("get pods -l app=web -o jsonpath={.items[*].metadata.uid}/{.items[*].status.containerStatuses[*].restartCount}")
	runAll(t, b.kubeconfig, []command{
		{name: "lose the object", args: "delete configmap before", want: `deleted`},
		{name: "create another", args: "create configmap after --from-literal=color=red", want: `configmap/after created`},
		{name: "create a pod", args: "run late --image=" + on.Images["busybox"] + " --image-pull-policy=Never --command -- sleep 3600", want: `pod/late created`},
		{name: "it runs", args: "get pod late", want: `late +1/1 +Running`, again: true},
	})
	t.Run("in place", func(t *testing.T) { b.goBack(t, "back", pods, func(*hyperv1.EtcdRestore) {}) })
	t.Run("into another cluster", func(t *testing.T) { b.beginAnother(t) })
	t.Run("in place while programs are killed", func(t *testing.T) { b.goBack(t, "again", pods, b.killAll) })
}

// restore creates an EtcdRestore of a cluster to the backup of this one.
func (b *backups) restore(t *testing.T, name, cluster, from string) *hyperv1.EtcdRestore {
	t.Helper()
	r := &hyperv1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: b.hc.Namespace, Name: name}, Spec: hyperv1.EtcdRestoreSpec{
		HostedClusterName: cluster, Backup: &hyperv1.EtcdRestoreBackup{Name: "before", HostedClusterName: b.hc.Name}, FromInfraID: from,
	}}
	b.must(b.management.Create(t.Context(), r))
	t.Cleanup(func() { b.must(client.IgnoreNotFound(b.management.Delete(context.WithoutCancel(t.Context()), r))) })
	return r
}

// awaitReason waits until the condition of a restore has one of these reasons, and returns its message.
func (b *backups) awaitReason(r *hyperv1.EtcdRestore, reasons ...string) (message string) {
	b.t.Helper()
	b.eventually(r.Name+" is "+strings.Join(reasons, " or "), func(ctx context.Context) error {
		if err := b.management.Get(ctx, client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		for _, c := range r.Status.Conditions {
			for _, reason := range reasons {
				if c.Reason == reason {
					message = c.Message
					return nil
				}
			}
		}
		return fmt.Errorf("its conditions are %+v", r.Status.Conditions)
	})
	return message
}

// killAll kills the operators while the control plane stops, and a member of etcd when it starts.
func (b *backups) killAll(r *hyperv1.EtcdRestore) {
	b.t.Helper()
	b.awaitReason(r, hyperv1.StoppingControlPlaneReason)
	b.kill(hosting.Namespace, client.MatchingLabels{"app": names.HypershiftOperator})
	b.kill(b.namespace(), client.MatchingLabels{"app": names.ControlPlaneOperator})
	b.awaitReason(r, hyperv1.RestoreInProgressReason, hyperv1.RestoreSucceededReason)
	b.eventually("a member runs", func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := b.management.Get(ctx, client.ObjectKey{Namespace: b.namespace(), Name: "etcd-1"}, pod); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("etcd-1 is %s", pod.Status.Phase)
		}
		return client.IgnoreNotFound(b.management.Delete(ctx, pod, client.GracePeriodSeconds(0)))
	})
}

// goBack restores the cluster in place, and checks its objects, its node and its pods.
func (b *backups) goBack(t *testing.T, name, pods string, disturb func(*hyperv1.EtcdRestore)) {
	outage := b.watchOutage(t)
	r := b.restore(t, name, b.hc.Name, "")
	disturb(r)
	t.Log(b.awaitReason(r, hyperv1.RestoreSucceededReason))
	t.Log(kubectl(t, "get", "etcdrestores", "-n", b.hc.Namespace))
	b.waitForCondition(hyperv1.HostedClusterAvailable, "True")
	b.eventually("all pods are ready", b.rolledOut)
	t.Logf("the API did not answer for %.1f s", outage().Seconds())
	b.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	runAll(t, b.kubeconfig, []command{
		{name: "the object is back", args: "get configmap before -o jsonpath={.data.color}", want: `^blue$`},
		{name: "the node is ready", args: "get nodes", want: `\.ec2\.internal +Ready `, again: true},
		{name: "exec runs a command in a pod", args: "exec deployment/web -- hostname", want: `^web-`, again: true},
		{name: "controllers see changes", args: "create deployment " + name + " --image=" + on.Images["busybox"] + " -- sleep 3600", want: `created`},
		{name: "and kubelets", args: "get pods -l app=" + name, want: name + `-\S+ +1/1 +Running`, again: true},
	})
	for _, object := range []string{"configmap after", "pod late"} {
		if out, err := on.Kubectl(t.Context(), b.kubeconfig, "", strings.Fields("get "+object)...); err == nil {
			t.Errorf("what was made after the backup is there: %s", out)
		}
	}
	if now := b.kubectl("get pods -l app=web -o jsonpath={.items[*].metadata.uid}/{.items[*].status.containerStatuses[*].restartCount}"); now != pods {
		t.Errorf("the pods of the node were restarted: %s, and were %s", now, pods)
	}
	secret := &corev1.Secret{}
	if err := b.management.Get(t.Context(), client.ObjectKey{Namespace: b.namespace(), Name: etcdbackup.RestoreSecret}, secret); err == nil {
		t.Error("the presigned URL is left")
	}
}

// kill deletes the pods of a program, as a failing machine does.
func (b *backups) kill(namespace string, labels client.MatchingLabels) {
	b.t.Helper()
	b.must(b.management.DeleteAllOf(b.t.Context(), &corev1.Pod{}, client.InNamespace(namespace), labels, client.GracePeriodSeconds(0)))
}

// beginAnother creates a cluster that begins with the backup, which has to be said.
func (b *backups) beginAnother(t *testing.T) {
	second := newHosted(t, "second", on.Versions[0])
	r := b.restore(t, "mistaken", second.hc.Name, "")
	second.create()
	if message := b.awaitReason(r, hyperv1.RestoreRejectedReason); !strings.Contains(message, "create another EtcdRestore with fromInfraID") {
		t.Error(message)
	}
	b.restore(t, "meant", second.hc.Name, b.hc.Spec.InfraID)
	second.available()
	second.eventually("all pods are ready", second.rolledOut)
	if color := second.kubectl("get configmap before -o jsonpath={.data.color}"); color != "blue" {
		t.Errorf("the restored value is %q", color)
	}
	if err := b.management.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		t.Error(errors.Join(errors.New("the rejected restore is gone"), err))
	}
}
