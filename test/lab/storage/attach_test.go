package storage

import (
	"context"
	"testing"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	testingclock "k8s.io/utils/clock/testing"
)

// attachment returns a request to attach a disk.
func attachment(name, driver string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: "m1"},
	}
}

func TestDisksAreAttachedAfterTheDelay(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := fake.NewClientset(attachment("data", Driver), attachment("foreign", "ebs.csi.aws.com"))
	clock := testingclock.NewFakeClock(time.Now())
	a := &attacher{client: client, delay: AttachDelay, clock: clock}
	if err := a.start(ctx); err != nil {
		t.Fatal(err)
	}
	attached := func(name string) bool {
		t.Helper()
		v, err := client.StorageV1().VolumeAttachments().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return v.Status.Attached
	}
	// The delaying queue waits with a timer for its first item, in addition to the ticker of its heartbeat.
	must(t, wait.PollUntilContextCancel(ctx, time.Millisecond, true, func(context.Context) (bool, error) { return clock.Waiters() > 1, nil }))
	clock.Step(AttachDelay - time.Second)
	time.Sleep(50 * time.Millisecond) // a wrong attachment would happen in this time
	if attached("data") {
		t.Error("the disk is attached too early")
	}
	clock.Step(2 * time.Second)
	must(t, wait.PollUntilContextCancel(ctx, time.Millisecond, true, func(context.Context) (bool, error) { return attached("data"), nil }))
	if attached("foreign") {
		t.Error("the disk of another driver is attached")
	}
}

func TestDisksThatAreDetachedMeanwhileAreNotAttached(t *testing.T) {
	deleted := attachment("data", Driver)
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	if pending(deleted) {
		t.Error("a disk that is being detached is attached")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
