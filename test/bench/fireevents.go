package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	lab "github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// change changes the spec or the annotations of a HostedCluster, and returns it.
func (a *attack) change(ctx context.Context, key client.ObjectKey, edit func(*hyperv1.HostedCluster)) (*hyperv1.HostedCluster, error) {
	hc := &hyperv1.HostedCluster{}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := a.management.Get(ctx, key, hc); err != nil {
			return err
		}
		edit(hc)
		return a.management.Update(ctx, hc)
	})
	if err != nil {
		return nil, fmt.Errorf("changing HostedCluster %s: %w", key, err)
	}
	return hc, nil
}

// waitFor waits for an event, and returns the last error of the check when the time is over. It checks seldom, because the machine is measured
// meanwhile.
func waitFor(ctx context.Context, what string, check func(context.Context) error) error {
	deadline := time.Now().Add(firePatience)
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: timeout after %s: %w", what, firePatience, err)
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

// complete waits until a HostedCluster is available and completely rolled out, and all pods of its control plane are ready.
func (a *attack) complete(ctx context.Context, key client.ObjectKey) error {
	return waitFor(ctx, "the control plane is complete", func(ctx context.Context) error {
		hc := &hyperv1.HostedCluster{}
		if err := a.management.Get(ctx, key, hc); err != nil {
			return err
		}
		for condition, want := range map[string]metav1.ConditionStatus{
			hyperv1.HostedClusterAvailable: metav1.ConditionTrue, hyperv1.HostedClusterProgressing: metav1.ConditionFalse,
			hyperv1.ConfigOperatorReconciliationSucceeded: metav1.ConditionTrue,
		} {
			c := meta.FindStatusCondition(hc.Status.Conditions, condition)
			if c == nil || c.Status != want {
				return fmt.Errorf("condition %s is %+v", condition, c)
			}
		}
		return a.podsReady(ctx, controlPlane(key))
	})
}

// podsReady returns an error unless all pods of every workload in a namespace are current and ready.
func (a *attack) podsReady(ctx context.Context, namespace string) error {
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	if err := errors.Join(a.management.List(ctx, deployments, client.InNamespace(namespace)), a.management.List(ctx, sets, client.InNamespace(namespace))); err != nil {
		return err
	}
	if len(deployments.Items) == 0 || len(sets.Items) == 0 {
		return fmt.Errorf("namespace %s has %d Deployments and %d StatefulSets", namespace, len(deployments.Items), len(sets.Items))
	}
	for _, d := range deployments.Items {
		want, s := ptr.Deref(d.Spec.Replicas, 1), d.Status
		if s.ObservedGeneration != d.Generation || s.ReadyReplicas != want || s.UpdatedReplicas != want || s.Replicas != want {
			return fmt.Errorf("Deployment %s has %d of %d pods ready", d.Name, s.ReadyReplicas, want)
		}
	}
	for _, d := range sets.Items {
		want, s := ptr.Deref(d.Spec.Replicas, 1), d.Status
		if s.ObservedGeneration != d.Generation || s.ReadyReplicas != want || s.CurrentRevision != s.UpdateRevision {
			return fmt.Errorf("StatefulSet %s has %d of %d pods ready", d.Name, s.ReadyReplicas, want)
		}
	}
	return nil
}

// upgrade changes the release from the older to the newer version.
func (a *attack) upgrade(ctx context.Context, key client.ObjectKey) (string, error) {
	image, err := a.release(ctx, a.newer)
	if err != nil {
		return "", err
	}
	if _, err := a.change(ctx, key, func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = image }); err != nil {
		return "", err
	}
	err = waitFor(ctx, "the upgrade is complete", func(ctx context.Context) error {
		hc := &hyperv1.HostedCluster{}
		if err := a.management.Get(ctx, key, hc); err != nil {
			return err
		}
		history := ptr.Deref(hc.Status.Version, hyperv1.ClusterVersionStatus{}).History
		if len(history) != 2 || history[0].Version != a.newer || history[0].State != configv1.CompletedUpdate || history[1].Version != a.older {
			return fmt.Errorf("the history of versions is %+v", history)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("from %s to %s", a.older, a.newer), a.complete(ctx, key)
}

func (a *attack) killAPIServers(ctx context.Context, key client.ObjectKey) (string, error) {
	return a.killPods(ctx, key, names.KubeAPIServer)
}

func (a *attack) killEtcd(ctx context.Context, key client.ObjectKey) (string, error) {
	return a.killPods(ctx, key, names.Etcd)
}

func (a *attack) killRouters(ctx context.Context, key client.ObjectKey) (string, error) {
	return a.killPods(ctx, key, names.Router)
}

// killPods kills every pod of a component in turn, without a graceful shutdown, and waits each time until it is replaced.
func (a *attack) killPods(ctx context.Context, key client.ObjectKey, name string) (string, error) {
	before, err := a.pods(ctx, key, name)
	if err != nil {
		return "", err
	}
	for _, victim := range before {
		if err := a.management.Delete(ctx, &victim, client.GracePeriodSeconds(0), client.Preconditions{UID: &victim.UID}); err != nil {
			return "", fmt.Errorf("killing pod %s: %w", victim.Name, err)
		}
		err := waitFor(ctx, "pod "+victim.Name+" is replaced", func(ctx context.Context) error {
			now, err := a.pods(ctx, key, name)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(now, func(p corev1.Pod) bool { return p.UID == victim.UID }) {
				return errors.New("it still exists")
			}
			if got := readyPods(now); got != len(before) {
				return fmt.Errorf("%d of %d pods are ready", got, len(before))
			}
			return a.podsReady(ctx, controlPlane(key))
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d killed in turn", len(before)), nil
}

// pods returns the pods of a component of the control plane, of which there must be at least one.
func (a *attack) pods(ctx context.Context, key client.ObjectKey, name string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := a.management.List(ctx, list, client.InNamespace(controlPlane(key)), client.MatchingLabels{component.ComponentLabel: name}); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("%s of %s: %w", name, key, errNoPods)
	}
	return list.Items, nil
}

func readyPods(pods []corev1.Pod) (n int) {
	for _, p := range pods {
		if p.DeletionTimestamp.IsZero() && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			n++
		}
	}
	return n
}

// killMachine cuts the power of the machine of an API server.
func (a *attack) killMachine(ctx context.Context, key client.ObjectKey) (string, error) {
	pods, err := a.pods(ctx, key, names.KubeAPIServer)
	if err != nil {
		return "", err
	}
	return a.cutPower(ctx, key, []string{pods[0].Spec.NodeName})
}

// killZone cuts the power of all machines in the zone of an API server: of the zone with most machines, if there are several.
func (a *attack) killZone(ctx context.Context, key client.ObjectKey) (string, error) {
	pods, err := a.pods(ctx, key, names.KubeAPIServer)
	if err != nil {
		return "", err
	}
	status, err := a.machines.Status(ctx)
	if err != nil {
		return "", err
	}
	var machines []string
	name := ""
	for _, p := range pods {
		if zone, in := zoneOf(status, p.Spec.NodeName); len(in) > len(machines) {
			name, machines = zone, in
		}
	}
	if len(machines) == 0 || len(machines) == len(status.Machines) {
		return "", fmt.Errorf("zone %q of %s has %d of %d machines", name, key, len(machines), len(status.Machines))
	}
	text, err := a.cutPower(ctx, key, machines)
	return name + ": " + text, err
}

// cutPower turns machines off for some time, and waits until their nodes and the control plane have recovered.
func (a *attack) cutPower(ctx context.Context, key client.ObjectKey, machines []string) (text string, err error) {
	apps, err := a.appsOn(ctx, key, machines)
	if err != nil {
		return "", err
	}
	defer func() { // other clusters need them too
		ctx := context.WithoutCancel(ctx)
		for _, name := range machines {
			err = errors.Join(err, a.machines.StartMachine(ctx, name))
		}
		for _, name := range machines {
			ctx, cancel := context.WithTimeout(ctx, firePatience)
			err = errors.Join(err, a.machines.WaitForNode(ctx, name))
			cancel()
		}
		if err == nil {
			err = a.complete(ctx, key)
		}
	}()
	began := time.Now()
	for _, name := range machines {
		if err := a.machines.KillMachine(ctx, name); err != nil {
			return "", fmt.Errorf("killing machine %s: %w", name, err)
		}
	}
	err = waitFor(ctx, "the nodes are lost", func(ctx context.Context) error {
		for _, name := range machines {
			node := &corev1.Node{}
			if err := a.management.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
				return err
			}
			if lab.Ready(node) {
				return fmt.Errorf("node %s is still ready", name)
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	lost := time.Since(began)
	if err := pause(ctx, a.off-lost); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s with %s of this cluster; their nodes count as lost after %.0f s", strings.Join(machines, " and "), apps, lost.Seconds()), nil
}

// appsOn lists the pods of the control plane on these machines. There must be one.
func (a *attack) appsOn(ctx context.Context, key client.ObjectKey, machines []string) (string, error) {
	list := &corev1.PodList{}
	if err := a.management.List(ctx, list, client.InNamespace(controlPlane(key))); err != nil {
		return "", err
	}
	var apps []string
	for _, p := range list.Items {
		if slices.Contains(machines, p.Spec.NodeName) {
			apps = append(apps, cmp.Or(p.Labels[component.ComponentLabel], p.Labels["app"]))
		}
	}
	if len(apps) == 0 {
		return "", fmt.Errorf("on %v: %w", machines, errNoPods)
	}
	slices.Sort(apps)
	return strings.Join(apps, ", "), nil
}

// rotated are the authorities that a rotation replaces completely. The one that signs for nodes stays trusted for a month.
var rotated = []string{
	names.RootCA, names.ClientSigner, names.EtcdSigner, names.KonnectivitySigner, names.AggregatorClientSigner, names.KubeletClientSigner,
}

// rotateCertificates replaces all authorities, and waits until the former ones are not trusted.
func (a *attack) rotateCertificates(ctx context.Context, key client.ObjectKey) (string, error) {
	before := map[string][]byte{}
	for _, name := range rotated {
		signer, err := a.signer(ctx, key, name)
		if err != nil {
			return "", err
		}
		before[name] = signer.Data[corev1.TLSCertKey]
	}
	if _, err := a.change(ctx, key, func(hc *hyperv1.HostedCluster) {
		metav1.SetMetaDataAnnotation(&hc.ObjectMeta, hyperv1.RotateCertificatesAnnotation, time.Now().Format(time.RFC3339))
	}); err != nil {
		return "", err
	}
	err := waitFor(ctx, "the former authorities are not trusted", func(ctx context.Context) error {
		for name, old := range before {
			signer, err := a.signer(ctx, key, name)
			if err != nil {
				return err
			}
			trusted, err := pki.ParseBundle(signer.Data[pki.TrustKey])
			if err != nil {
				return err
			}
			if same := bytes.Equal(signer.Data[corev1.TLSCertKey], old); same || len(trusted) != 1 {
				return fmt.Errorf("%s trusts %d authorities; the former one signs: %t", name, len(trusted), same)
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d authorities and all that they sign", len(rotated)), a.complete(ctx, key)
}

func (a *attack) signer(ctx context.Context, key client.ObjectKey, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := certsecret.Get(ctx, a.management, client.ObjectKey{Namespace: controlPlane(key), Name: name}, secret); err != nil {
		return nil, fmt.Errorf("getting authority %s of %s: %w", name, key, err)
	}
	return secret, nil
}

// newKey creates a Secret with a key for Secrets beside the HostedCluster.
func (a *attack) newKey(ctx context.Context, key client.ObjectKey, name string) error {
	content := make([]byte, 32)
	if _, err := rand.Read(content); err != nil {
		return fmt.Errorf("making an encryption key: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}, Data: map[string][]byte{"key": content}}
	if err := a.management.Create(ctx, secret); err != nil {
		return fmt.Errorf("creating an encryption key: %w", err)
	}
	return nil
}

func encryptedWith(secret string) *hyperv1.SecretEncryptionSpec {
	return &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: secret}}}
}

// rotateKeys replaces the key with which Secrets are encrypted, and waits until all Secrets are encrypted with it. The former key stays for ten
// minutes more.
func (a *attack) rotateKeys(ctx context.Context, key client.ObjectKey) (string, error) {
	second := key.Name + "-second"
	if err := a.newKey(ctx, key, second); err != nil {
		return "", err
	}
	changed, err := a.change(ctx, key, func(hc *hyperv1.HostedCluster) { hc.Spec.SecretEncryption = encryptedWith(second) })
	if err != nil {
		return "", err
	}
	err = waitFor(ctx, "all Secrets are encrypted with the new key", func(ctx context.Context) error {
		hc := &hyperv1.HostedCluster{}
		if err := a.management.Get(ctx, key, hc); err != nil {
			return err
		}
		c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate)
		if c == nil || c.ObservedGeneration < changed.Generation || c.Reason != hyperv1.RetainingOldKeysReason {
			return fmt.Errorf("condition %s is %+v", hyperv1.EtcdDataEncryptionUpToDate, c)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return "every Secret is encrypted again; the former key stays for ten minutes", a.complete(ctx, key)
}

// changeAccess adds the private path, and removes it again.
func (a *attack) changeAccess(ctx context.Context, key client.ObjectKey) (string, error) {
	for _, mode := range []hyperv1.AWSEndpointAccessType{hyperv1.PublicAndPrivate, hyperv1.Public} {
		changed, err := a.change(ctx, key, func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.EndpointAccess = mode })
		if err != nil {
			return "", err
		}
		err = waitFor(ctx, "the access mode is "+string(mode), func(ctx context.Context) error {
			hc := &hyperv1.HostedCluster{}
			if err := a.management.Get(ctx, key, hc); err != nil {
				return err
			}
			c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.EndpointAccessUpToDate)
			if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration < changed.Generation {
				return fmt.Errorf("condition %s is %+v", hyperv1.EndpointAccessUpToDate, c)
			}
			err := a.management.Get(ctx, client.ObjectKey{Namespace: controlPlane(key), Name: names.PrivateRouter}, &corev1.Service{})
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			if private := !apierrors.IsNotFound(err); private != mode.Has(hyperv1.Private) {
				return fmt.Errorf("there is a private path: %t", private)
			}
			return nil
		})
		if err != nil {
			return "", err
		}
		if err := a.complete(ctx, key); err != nil {
			return "", err
		}
	}
	return "to PublicAndPrivate and back to Public", nil
}
