package integration

import (
	"bytes"
	"errors"
	"fmt"
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

// heard is the time within which an edit of a user's Secret must have an effect. The resync of this environment is 3
// seconds: without a watch, one edit may be in time by chance, but not all of them.
const heard = 2 * time.Second

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
	for i, name := range []string{"anna", "bert", "cora", "dora", "emil"} {
		mine.StringData = map[string]string{"id_rsa.pub": key + " " + name}
		if i == 0 {
			c.create(mine)
		} else {
			c.must(kube.Update(t.Context(), mine))
		}
		within(t.Context(), t, heard, "the key of "+name+" is copied", func() error {
			s := &corev1.Secret{}
			if err := kube.Get(t.Context(), client.ObjectKey{Namespace: c.controlPlane(), Name: names.SSHKey}, s); err != nil {
				return err
			}
			if got := string(s.Data["id_rsa.pub"]); !strings.HasSuffix(got, name) {
				return fmt.Errorf("the copy holds %q", got)
			}
			return nil
		})
	}
}

// TestKubeconfigOfTheUserIsFollowed damages the administrator's kubeconfig of a control plane again and again, and the
// control-plane-operator issues another one each time.
func TestKubeconfigOfTheUserIsFollowed(t *testing.T) {
	c := newCluster(t, hyperv1.Public)
	c.start()
	source := client.ObjectKey{Namespace: c.controlPlane(), Name: names.AdminKubeconfig}
	published := client.ObjectKey{Namespace: c.hc.Namespace, Name: c.hc.Name + "-admin-kubeconfig"}
	eventually(t.Context(), t, "the user has a kubeconfig", func() error { return kube.Get(t.Context(), published, &corev1.Secret{}) })
	for range 5 {
		original := &corev1.Secret{}
		c.must(kube.Get(t.Context(), source, original))
		damaged := original.DeepCopy()
		damaged.Data[names.AdminKubeconfigFile] = []byte("damaged")
		c.must(kube.Update(t.Context(), damaged))
		current := &corev1.Secret{}
		within(t.Context(), t, heard, "another kubeconfig is issued", func() error {
			if err := kube.Get(t.Context(), source, current); err != nil {
				return err
			}
			if value := current.Data[names.AdminKubeconfigFile]; string(value) == "damaged" || bytes.Equal(value, original.Data[names.AdminKubeconfigFile]) {
				return fmt.Errorf("the kubeconfig is %d bytes of another one", len(value))
			}
			return nil
		})
		within(t.Context(), t, heard, "the user gets it", func() error {
			copied := &corev1.Secret{}
			if err := kube.Get(t.Context(), published, copied); err != nil {
				return err
			}
			if !bytes.Equal(copied.Data[names.AdminKubeconfigFile], current.Data[names.AdminKubeconfigFile]) {
				return errors.New("the Secret of the user has an earlier kubeconfig")
			}
			return nil
		})
	}
}
