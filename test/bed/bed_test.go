package bed

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

func TestANewBedHasControllersAndLeavesNothing(t *testing.T) {
	var progress bytes.Buffer
	b, err := Start(t.Context(), Options{Progress: &progress})
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(b.Dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there after Stop", b.Dir)
		}
	})
	kube, err := kubernetes.NewForConfig(b.Config)
	if err != nil {
		t.Fatal(err)
	}

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "story"}}
	if _, err := kube.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace gets a default service account", func(ctx context.Context) bool {
		_, err := kube.CoreV1().ServiceAccounts("story").Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	eventually(t, "the namespace gets the CA of the API server", func(ctx context.Context) bool {
		_, err := kube.CoreV1().ConfigMaps("story").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil
	})

	owner, err := kube.CoreV1().ConfigMaps("story").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}
	if _, err := kube.CoreV1().ConfigMaps("story").Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := kube.CoreV1().ConfigMaps("story").Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what a deleted object owned is collected", func(ctx context.Context) bool {
		_, err := kube.CoreV1().ConfigMaps("story").Get(ctx, "owned", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})

	if err := kube.CoreV1().Namespaces().Delete(t.Context(), "story", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a deleted namespace goes away", func(ctx context.Context) bool {
		_, err := kube.CoreV1().Namespaces().Get(ctx, "story", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func eventually(t *testing.T, what string, ok func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) { return ok(ctx), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
