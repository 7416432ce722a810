//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// TestMistakes makes one mistake after the other and corrects it as soon as a condition reports it, until the cluster is
// available. Then the cluster loses something that it needs, and recovers.
func TestMistakes(t *testing.T) {
	begin(t)
	h := newHosted(t, "mistakes", on.Versions[0])
	missing := cluster.Registry + "/kube-controller-manager@sha256:" + strings.Repeat("0", 64)
	incomplete, err := on.PushRelease(t.Context(), "incomplete", on.Versions[0], map[string]string{names.KubeControllerManager: missing})
	h.must(err)
	unresolved, err := on.PushRelease(t.Context(), "unresolved", on.Versions[0], map[string]string{names.KubeControllerManager: cluster.Registry + "/kube-controller-manager:missing"})
	h.must(err)

	h.hc.Spec.Release.Image = cluster.Registry + "/kubernetes-release:missing"
	h.create()
	h.waitForReport(hyperv1.ValidReleaseImage, "False", "kubernetes-release:missing does not exist", "choose another spec.release.image")
	h.release(on.Images["busybox"])
	h.waitForReport(hyperv1.ValidReleaseImage, "False", "is not a release payload")
	h.release(unresolved)
	h.waitForReport(hyperv1.ValidReleaseImage, "False", "looking up its component kube-controller-manager", "kube-controller-manager:missing")
	h.release("10.55.0.1:1/release:1")
	h.waitForReport(hyperv1.ValidReleaseImage, "Unknown", "10.55.0.1:1/release:1 could not be read", "no connection to its private address")

	h.change(func(hc *hyperv1.HostedCluster) {
		hc.Spec.Release.Image = incomplete
		hc.Spec.NodeSelector = map[string]hyperv1.LabelValue{"size": "enormous"}
	})
	h.waitForCondition(hyperv1.ValidReleaseImage, "True")
	h.waitForReport(hyperv1.HostedClusterAvailable, "False", "no node takes a pod")
	h.change(func(hc *hyperv1.HostedCluster) { hc.Spec.NodeSelector = nil })

	h.waitForReport(hyperv1.HostedClusterDegraded, "True", "kube-controller-manager", missing, "cannot be pulled")
	h.waitForComponentReport(names.KubeControllerManager, hyperv1.ImageNotPulledReason)
	h.release(release(t, on.Versions[0]))
	h.available()
	h.waitForCondition(hyperv1.HostedClusterDegraded, "False")
	h.eventually("all pods are ready", h.rolledOut)

	h.loseCertificates()
	h.loseData()
	h.loseNamespace()
}

// TestMistakesForLife makes mistakes in immutable fields. Conditions report them, and such a cluster can be deleted.
func TestMistakesForLife(t *testing.T) {
	begin(t)
	small := newHosted(t, "small", on.Versions[0])
	small.hc.Spec.Networking.ServiceNetwork = []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/30"}}
	small.create()
	slow := newHosted(t, "slow", on.Versions[0])
	slow.hc.Spec.Etcd.Managed.Storage.PersistentVolume.StorageClassName = ptr.To("fast")
	slow.create()

	small.waitForReport(hyperv1.ValidHostedClusterConfiguration, "False", "networking.serviceNetwork", "172.31.0.0/30", "choose a larger range")
	slow.waitForReport(hyperv1.EtcdAvailable, "False", `"fast" not found`)
	slow.waitForComponentReport(names.Etcd, hyperv1.VolumeNotReadyReason)
}

// waitForReport waits like waitForCondition, and logs the message and the time until it appeared.
func (h *hosted) waitForReport(condition, status string, words ...string) {
	h.t.Helper()
	started := time.Now()
	h.waitForCondition(condition, status, words...)
	h.t.Logf("%5.1f s  %s %s: %s", time.Since(started).Seconds(), condition, status, meta.FindStatusCondition(h.hc.Status.Conditions, condition).Message)
}

func (h *hosted) release(image string) {
	h.t.Helper()
	h.change(func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = image })
}

// waitForComponentReport waits until the condition of a component reports why it is not rolled out.
func (h *hosted) waitForComponentReport(name, reason string) {
	h.t.Helper()
	h.eventually(name+" reports why it is not rolled out", func(ctx context.Context) error {
		component := &hyperv1.ControlPlaneComponent{}
		if err := h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: name}, component); err != nil {
			return err
		}
		c := meta.FindStatusCondition(component.Status.Conditions, hyperv1.ControlPlaneComponentRolloutComplete)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("the condition is %+v", c)
		}
		return nil
	})
}

// loseCertificates deletes one certificate and corrupts another during requests. Both must be issued again.
func (h *hosted) loseCertificates() {
	h.t.Helper()
	asked := h.load()
	spoiled, err := h.signer(h.t.Context(), names.ControllerManagerCertificate)
	h.must(err)
	h.setCertificate(names.APIServerCertificate, nil)
	spoiled.Data[corev1.TLSCertKey] = []byte("what is this?")
	h.setCertificate(names.ControllerManagerCertificate, spoiled.Data)

	started := time.Now()
	for _, name := range []string{names.APIServerCertificate, names.ControllerManagerCertificate} {
		h.eventually(name+" is a certificate", func(ctx context.Context) error {
			secret, err := h.signer(ctx, name)
			if err != nil {
				return err
			}
			_, err = tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
			return err
		})
	}
	h.t.Logf("%5.1f s  both certificates are issued again", time.Since(started).Seconds())
	h.eventually("all pods are ready", h.rolledOut)
	h.waitForAnswer()
	asked.Stop()
	count := asked.Count()
	h.t.Logf("         meanwhile: %v", count)
	if count.Asked == 0 || count.Percent() > 1 {
		h.t.Errorf("more than one request in a hundred failed")
	}
}

// waitForAnswer waits until the user's current kubeconfig works.
func (h *hosted) waitForAnswer() {
	h.t.Helper()
	h.eventually("the API responds to its user", func(ctx context.Context) (err error) {
		if h.kubeconfig, err = on.AdminKubeconfig(ctx, client.ObjectKeyFromObject(h.hc)); err != nil {
			return err
		}
		_, err = on.Kubectl(ctx, h.kubeconfig, "", "get", "--raw", "/readyz")
		return err
	})
}

// loseData deletes the volume of the only etcd member. A new etcd must not start with an empty volume until the user
// allows it.
func (h *hosted) loseData() {
	h.t.Helper()
	h.deleteAll(&corev1.PersistentVolumeClaim{}, client.InNamespace(h.namespace()))
	h.deleteAll(&corev1.Pod{}, client.InNamespace(h.namespace()), client.MatchingLabels{"app": names.Etcd})
	h.waitForReport(hyperv1.EtcdAvailable, "False", "its volume is empty", `set formed to "false" in ConfigMap etcd-config`)
	h.waitForCondition(hyperv1.HostedClusterAvailable, "False")

	started := time.Now()
	given := client.RawPatch(types.MergePatchType, []byte(`{"data":{"formed":"false"}}`))
	h.must(h.management.Patch(h.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace(), Name: "etcd-config"}}, given))
	h.deleteAll(&corev1.Pod{}, client.InNamespace(h.namespace()), client.MatchingLabels{"app": names.Etcd})
	h.eventually("etcd is ready", func(ctx context.Context) error {
		etcd := &appsv1.StatefulSet{}
		if err := h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: names.Etcd}, etcd); err != nil {
			return err
		}
		if etcd.Status.ReadyReplicas == 0 {
			return errors.New("it is not")
		}
		return nil
	})
	h.deleteAll(&corev1.Pod{}, client.InNamespace(h.namespace()), client.MatchingLabels{"app": names.KubeAPIServer})
	h.available()
	h.waitForAnswer()
	h.t.Logf("%5.1f s  etcd has started with an empty volume", time.Since(started).Seconds())
	h.eventually("the next loss is reported, too", func(ctx context.Context) error {
		config := &corev1.ConfigMap{}
		if err := h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: "etcd-config"}, config); err != nil {
			return err
		}
		if config.Data["formed"] != "true" {
			return fmt.Errorf("formed is %q", config.Data["formed"])
		}
		return nil
	})
}

func (h *hosted) deleteAll(kind client.Object, which ...client.DeleteAllOfOption) {
	h.t.Helper()
	h.must(h.management.DeleteAllOf(h.t.Context(), kind, which...))
}

// loseNamespace deletes the namespace of the control plane. A condition must report it, and the operator must create a new
// control plane. The content of etcd is lost; the new control plane adopts the resources in the customer's account.
func (h *hosted) loseNamespace() {
	h.t.Helper()
	// Disable the period in which a user could repair the cluster first.
	h.change(func(hc *hyperv1.HostedCluster) {
		metav1.SetMetaDataAnnotation(&hc.ObjectMeta, hyperv1.GiveUpAfterAnnotation, "5s")
	})
	group := h.hc.Status.Platform.AWS.DefaultWorkerSecurityGroupID
	namespace := &corev1.Namespace{}
	h.must(h.management.Get(h.t.Context(), client.ObjectKey{Name: h.namespace()}, namespace))
	h.must(h.management.Delete(h.t.Context(), namespace))
	h.waitForReport(hyperv1.ReconciliationSucceeded, "False", "is being deleted by another client", "it is created again afterwards")
	started := time.Now()
	h.eventually("the namespace is created again", func(ctx context.Context) error {
		now := &corev1.Namespace{}
		if err := h.management.Get(ctx, client.ObjectKeyFromObject(namespace), now); err != nil {
			return err
		}
		if now.UID == namespace.UID {
			return errors.New("the namespace is still the old one")
		}
		return nil
	})
	h.t.Logf("%5.1f s  its namespace is created again", time.Since(started).Seconds())
	h.waitForCondition(hyperv1.HostedClusterAvailable, "False")
	h.available()
	h.waitForAnswer()
	h.t.Logf("%5.1f s  the control plane is available again", time.Since(started).Seconds())
	// The new control plane has adopted the resources of the old one in the customer's account, so that no resource is
	// orphaned.
	h.waitForCondition(hyperv1.AWSDefaultSecurityGroupCreated, "True")
	if now := h.hc.Status.Platform.AWS.DefaultWorkerSecurityGroupID; now != group {
		h.t.Errorf("security group %s was not adopted: the current one is %s", group, now)
	}
	if c := meta.FindStatusCondition(h.hc.Status.Conditions, hyperv1.CloudResourcesDestroyed); c != nil {
		h.t.Errorf("reported as orphaned: %q", c.Message)
	}
}
