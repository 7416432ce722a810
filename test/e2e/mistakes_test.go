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

// One mistake after the other is made, told and corrected, until the cluster is there. Then it loses what it needs, and gets it back.
func TestMistakes(t *testing.T) {
	h := newHosted(t, "mistakes", on.Versions[0])
	missing := cluster.Registry + "/kube-scheduler@sha256:" + strings.Repeat("0", 64)
	incomplete, err := on.PushRelease(t.Context(), "incomplete", on.Versions[0], map[string]string{names.KubeScheduler: missing})
	h.must(err)
	unresolved, err := on.PushRelease(t.Context(), "unresolved", on.Versions[0], map[string]string{names.KubeScheduler: cluster.Registry + "/kube-scheduler:missing"})
	h.must(err)

	h.hc.Spec.Release.Image = cluster.Registry + "/kubernetes-release:missing"
	h.create()
	h.told(hyperv1.ValidReleaseImage, "False", "kubernetes-release:missing does not exist", "choose another spec.release.image")
	h.release(on.Images["busybox"])
	h.told(hyperv1.ValidReleaseImage, "False", "is not a release payload")
	h.release(unresolved)
	h.told(hyperv1.ValidReleaseImage, "False", "looking up its component kube-scheduler", "kube-scheduler:missing")
	h.release("10.55.0.1:1/release:1")
	h.told(hyperv1.ValidReleaseImage, "Unknown", "10.55.0.1:1/release:1 could not be read", "connection refused")

	h.change(func(hc *hyperv1.HostedCluster) {
		hc.Spec.Release.Image = incomplete
		hc.Spec.NodeSelector = map[string]hyperv1.LabelValue{"size": "enormous"}
	})
	h.is(hyperv1.ValidReleaseImage, "True")
	h.told(hyperv1.HostedClusterAvailable, "False", "no node takes a pod")
	h.change(func(hc *hyperv1.HostedCluster) { hc.Spec.NodeSelector = nil })

	h.told(hyperv1.HostedClusterDegraded, "True", "kube-scheduler", missing, "cannot be pulled")
	h.componentTold(names.KubeScheduler, hyperv1.ImageNotPulledReason)
	h.release(on.Releases[on.Versions[0]])
	h.available()
	h.is(hyperv1.HostedClusterDegraded, "False")
	h.eventually("all pods are ready", h.rolledOut)

	h.loseCertificates()
	h.loseData()
	h.loseNamespace()
}

// What cannot be changed later is told, too, and such a cluster can be deleted.
func TestMistakesForLife(t *testing.T) {
	small := newHosted(t, "small", on.Versions[0])
	small.hc.Spec.Networking.ServiceNetwork = []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/30"}}
	small.create()
	slow := newHosted(t, "slow", on.Versions[0])
	slow.hc.Spec.Etcd.Managed.Storage.PersistentVolume.StorageClassName = ptr.To("fast")
	slow.create()

	small.told(hyperv1.ValidHostedClusterConfiguration, "False", "networking.serviceNetwork", "172.31.0.0/30", "choose a larger range")
	slow.told(hyperv1.EtcdAvailable, "False", `"fast" not found`)
	slow.componentTold(names.Etcd, hyperv1.VolumeNotReadyReason)
}

// told waits as is does, and logs what the user reads, and after how long.
func (h *hosted) told(condition, status string, words ...string) {
	h.t.Helper()
	started := time.Now()
	h.is(condition, status, words...)
	h.t.Logf("%5.1f s  %s %s: %s", time.Since(started).Seconds(), condition, status, meta.FindStatusCondition(h.hc.Status.Conditions, condition).Message)
}

func (h *hosted) release(image string) {
	h.t.Helper()
	h.change(func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = image })
}

// componentTold waits until a component says itself why it is not rolled out.
func (h *hosted) componentTold(name, reason string) {
	h.t.Helper()
	h.eventually(name+" says why it is not rolled out", func(ctx context.Context) error {
		component := &hyperv1.ControlPlaneComponent{}
		if err := h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: name}, component); err != nil {
			return err
		}
		c := meta.FindStatusCondition(component.Status.Conditions, hyperv1.ControlPlaneComponentRolloutComplete)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
}

// loseCertificates deletes one certificate and spoils another while requests run: both are issued again.
func (h *hosted) loseCertificates() {
	h.t.Helper()
	asked := h.load()
	lost, spoiled := h.secret(names.APIServerCertificate), h.secret(names.SchedulerCertificate)
	h.must(h.management.Delete(h.t.Context(), lost))
	spoiled.Data[corev1.TLSCertKey] = []byte("what is this?")
	h.must(h.management.Update(h.t.Context(), spoiled))

	started := time.Now()
	for _, name := range []string{lost.Name, spoiled.Name} {
		h.eventually("Secret "+name+" has a certificate", func(ctx context.Context) error {
			secret := &corev1.Secret{}
			if err := h.management.Get(ctx, client.ObjectKey{Namespace: h.namespace(), Name: name}, secret); err != nil {
				return err
			}
			_, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
			return err
		})
	}
	h.t.Logf("%5.1f s  both certificates are there again", time.Since(started).Seconds())
	h.eventually("all pods are ready", h.rolledOut)
	h.answers()
	asked.Stop()
	count := asked.Count()
	h.t.Logf("         meanwhile: %v", count)
	if count.Asked == 0 || count.Percent() > 1 {
		h.t.Errorf("more than one request in a hundred failed")
	}
}

func (h *hosted) secret(name string) *corev1.Secret {
	h.t.Helper()
	secret := &corev1.Secret{}
	h.must(h.management.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace(), Name: name}, secret))
	return secret
}

// answers waits until the user gets an answer, with the kubeconfig that he has then.
func (h *hosted) answers() {
	h.t.Helper()
	h.eventually("the API answers its user", func(ctx context.Context) (err error) {
		if h.kubeconfig, err = on.AdminKubeconfig(ctx, client.ObjectKeyFromObject(h.hc)); err != nil {
			return err
		}
		_, err = on.Kubectl(ctx, h.kubeconfig, "", "get", "--raw", "/readyz")
		return err
	})
}

// loseData deletes the volume of the only etcd: nobody begins with nothing until the user says so.
func (h *hosted) loseData() {
	h.t.Helper()
	h.deleteAll(&corev1.PersistentVolumeClaim{}, client.InNamespace(h.namespace()))
	h.deleteAll(&corev1.Pod{}, client.InNamespace(h.namespace()), client.MatchingLabels{"app": names.Etcd})
	h.told(hyperv1.EtcdAvailable, "False", "its volume is empty", `set formed to "false" in ConfigMap etcd-config`)
	h.is(hyperv1.HostedClusterAvailable, "False")

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
	h.answers()
	h.t.Logf("%5.1f s  it has begun again", time.Since(started).Seconds())
	h.eventually("the next loss is told, too", func(ctx context.Context) error {
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

// loseNamespace deletes the namespace of the control plane under it. That is told, and a new control plane is made. What was in etcd is
// lost; what the old one had in the customer's account is the new one's.
func (h *hosted) loseNamespace() {
	h.t.Helper()
	// Nobody repairs anything in the minutes that there usually are for that.
	h.change(func(hc *hyperv1.HostedCluster) {
		metav1.SetMetaDataAnnotation(&hc.ObjectMeta, hyperv1.GiveUpAfterAnnotation, "5s")
	})
	group := h.hc.Status.Platform.AWS.DefaultWorkerSecurityGroupID
	namespace := &corev1.Namespace{}
	h.must(h.management.Get(h.t.Context(), client.ObjectKey{Name: h.namespace()}, namespace))
	h.must(h.management.Delete(h.t.Context(), namespace))
	h.told(hyperv1.ReconciliationSucceeded, "False", "is being deleted by somebody else", "it is made again afterwards")
	started := time.Now()
	h.eventually("the namespace is made again", func(ctx context.Context) error {
		now := &corev1.Namespace{}
		if err := h.management.Get(ctx, client.ObjectKeyFromObject(namespace), now); err != nil {
			return err
		}
		if now.UID == namespace.UID {
			return errors.New("it is still the old one")
		}
		return nil
	})
	h.t.Logf("%5.1f s  its namespace is made again", time.Since(started).Seconds())
	h.is(hyperv1.HostedClusterAvailable, "False")
	h.available()
	h.answers()
	h.t.Logf("%5.1f s  there is a control plane again", time.Since(started).Seconds())
	// What the old one had in the customer's account it has taken over, and so nothing is left behind.
	h.is(hyperv1.AWSDefaultSecurityGroupCreated, "True")
	if now := h.hc.Status.Platform.AWS.DefaultWorkerSecurityGroupID; now != group {
		h.t.Errorf("security group %s was not taken over: there is %s", group, now)
	}
	if c := meta.FindStatusCondition(h.hc.Status.Conditions, hyperv1.CloudResourcesDestroyed); c != nil {
		h.t.Errorf("said to be left behind: %q", c.Message)
	}
}
