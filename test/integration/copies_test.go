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
	// heard is the time within which most edits of a Secret must have an effect. Without a watch, each of them would wait
	// for the resync of this environment, 3 seconds, since the one before has just been found by it. On a busy machine, one
	// edit may take longer.
	heard = 2 * time.Second
	// edits are so many because the start of a cluster has events of its own, so that a few are found without a watch.
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
// control-plane-operator repairs it each time. If it is just comparing the kubeconfig, it restores the one from before;
// else it issues another one.
func TestKubeconfigOfTheUserIsFollowed(t *testing.T) {
	c := newCluster(t, hyperv1.Public)
	c.start()
	source := client.ObjectKey{Namespace: c.controlPlane(), Name: names.AdminKubeconfig}
	published := client.ObjectKey{Namespace: c.hc.Namespace, Name: c.hc.Name + "-admin-kubeconfig"}
	eventually(t.Context(), t, "the user has a kubeconfig", func() error { return kube.Get(t.Context(), published, &corev1.Secret{}) })
	original, mine := &corev1.Secret{}, &corev1.Secret{}
	repaired := func() error {
		if err := kube.Get(t.Context(), source, original); err != nil {
			return err
		}
		if string(original.Data[names.AdminKubeconfigFile]) == "damaged" {
			return errors.New("the kubeconfig is damaged")
		}
		return nil
	}
	var issued, copied []time.Duration
	for range edits {
		c.must(repaired())
		original.Data[names.AdminKubeconfigFile] = []byte("damaged")
		c.must(kube.Update(t.Context(), original))
		issued = append(issued, effect(t, "the kubeconfig is repaired", repaired))
		copied = append(copied, effect(t, "the user gets it", func() error {
			if err := errors.Join(repaired(), kube.Get(t.Context(), published, mine)); err != nil {
				return err
			}
			if !bytes.Equal(mine.Data[names.AdminKubeconfigFile], original.Data[names.AdminKubeconfigFile]) {
				return errors.New("the Secret of the user has an earlier kubeconfig")
			}
			return nil
		}))
	}
	watched(t, issued)
	watched(t, copied)
}
