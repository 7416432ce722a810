package integration

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const (
	// heard is the time within which most edits of a Secret must have an effect. Without a watch, a resync finds the edit;
	// the next edit follows at once and waits for the next resync, which is 3 seconds later in this environment. An
	// edit may take longer on a busy machine, or while the operator restarts: another test kills it.
	heard = 2 * time.Second
	// edits is so large because the start of a cluster causes reconciles: they find a few edits without a watch.
	edits = 9
)

// effect waits for the effect of an edit that was just made, and returns the time until it was seen.
func effect(t *testing.T, what string, check func() error) time.Duration {
	t.Helper()
	edited := time.Now()
	eventually(t.Context(), t, what, check)
	return time.Since(edited)
}

// watched fails if half of the effects took as long as without a watch.
func watched(t *testing.T, took []time.Duration) {
	t.Helper()
	if median := slices.Sorted(slices.Values(took))[len(took)/2]; median > heard {
		t.Errorf("the edits had an effect after %s; most must have one within %s", took, heard)
	}
}

// TestUserSecretsAreFollowed: a Secret is missing, is created, and is edited.
func TestUserSecretsAreFollowed(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGRlbW9kZW1vZGVtb2RlbW9kZW1vZGVtb2RlbW9kZW1v"
	c := newCluster(t, hyperv1.Public)
	c.hc.Spec.SSHKey.Name = "my-key"
	c.start()
	eventually(t.Context(), t, "a condition reports what is missing", func() error {
		hc := &hyperv1.HostedCluster{}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(c.hc), hc); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ReconciliationSucceeded)
		if condition == nil || !strings.Contains(condition.Message, "Secret my-key, which spec.sshKey names, does not exist") {
			return fmt.Errorf("the condition is %+v", condition)
		}
		return nil
	})

	mine := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.hc.Namespace, Name: "my-key"}}
	var took []time.Duration
	for i := range edits {
		name := fmt.Sprintf("user-%d", i)
		mine.StringData = map[string]string{"id_rsa.pub": key + " " + name}
		if i == 0 {
			c.create(mine)
		} else {
			c.must(kube.Update(t.Context(), mine))
		}
		took = append(took, effect(t, "the key of "+name+" is copied", func() error {
			s := &corev1.Secret{}
			if err := kube.Get(t.Context(), client.ObjectKey{Namespace: c.controlPlane(), Name: names.SSHKey}, s); err != nil {
				return err
			}
			if got := string(s.Data["id_rsa.pub"]); !strings.HasSuffix(got, name) {
				return fmt.Errorf("the copy holds %q", got)
			}
			return nil
		}))
	}
	watched(t, took)
}

// TestKubeconfigOfTheUserIsFollowed damages the administrator's kubeconfig of a control plane again and again, and the
// control-plane-operator issues another one. Only if it has just read the kubeconfig, it may write that one again.
func TestKubeconfigOfTheUserIsFollowed(t *testing.T) {
	c := newCluster(t, hyperv1.Public)
	c.start()
	source := client.ObjectKey{Namespace: c.controlPlane(), Name: names.AdminKubeconfig}
	published := client.ObjectKey{Namespace: c.hc.Namespace, Name: c.hc.Name + "-admin-kubeconfig"}
	eventually(t.Context(), t, "the user has a kubeconfig", func() error { return kube.Get(t.Context(), published, &corev1.Secret{}) })
	current, mine := &corev1.Secret{}, &corev1.Secret{}
	repaired := func() error {
		if err := kube.Get(t.Context(), source, current); err != nil {
			return err
		}
		if string(current.Data[names.AdminKubeconfigFile]) == "damaged" {
			return errors.New("the kubeconfig is damaged")
		}
		return nil
	}
	var repairs, copies []time.Duration
	var restored int
	for range edits {
		c.must(repaired())
		before := current.Data[names.AdminKubeconfigFile]
		current.Data[names.AdminKubeconfigFile] = []byte("damaged")
		c.must(kube.Update(t.Context(), current))
		repairs = append(repairs, effect(t, "the kubeconfig is repaired", repaired))
		if bytes.Equal(current.Data[names.AdminKubeconfigFile], before) {
			restored++
		}
		copies = append(copies, effect(t, "the user gets it", func() error {
			if err := errors.Join(repaired(), kube.Get(t.Context(), published, mine)); err != nil {
				return err
			}
			if !bytes.Equal(mine.Data[names.AdminKubeconfigFile], current.Data[names.AdminKubeconfigFile]) {
				return errors.New("the Secret of the user has an earlier kubeconfig")
			}
			return nil
		}))
	}
	watched(t, repairs)
	watched(t, copies)
	if restored > edits/2 {
		t.Errorf("after %d of %d damages, the kubeconfig is the one from before; want another one after most", restored, edits)
	}
}
