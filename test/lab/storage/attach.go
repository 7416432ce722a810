package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// attacher reports disks as attached. The attach/detach controller of the management cluster creates a VolumeAttachment for a disk
// that no other machine has, and deletes it to detach the disk. The kubelet waits for its status before it mounts the disk.
type attacher struct {
	client kubernetes.Interface
	delay  time.Duration
	clock  clock.WithTicker

	attachments cache.Indexer
	queue       workqueue.TypedRateLimitingInterface[string]
}

// start returns when the attachments that exist are known. It attaches disks until ctx ends.
func (a *attacher) start(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(a.client, 0)
	informer := factory.Storage().V1().VolumeAttachments().Informer()
	a.attachments = informer.GetIndexer()
	a.queue = workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Clock: a.clock})
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		if v := obj.(*storagev1.VolumeAttachment); pending(v) {
			a.queue.AddAfter(v.Name, a.delay)
		}
	}})
	if err != nil {
		return fmt.Errorf("attaching volumes: %w", err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.Join(errors.New("attaching volumes: the attachments could not be listed"), ctx.Err())
	}
	go func() {
		<-ctx.Done()
		a.queue.ShutDown()
	}()
	go func() {
		for a.attachNext(ctx) {
		}
	}()
	return nil
}

// pending reports whether a disk of the lab waits for its machine.
func pending(v *storagev1.VolumeAttachment) bool {
	return v.Spec.Attacher == Driver && !v.Status.Attached && v.DeletionTimestamp == nil
}

func (a *attacher) attachNext(ctx context.Context) bool {
	name, shutdown := a.queue.Get()
	if shutdown {
		return false
	}
	defer a.queue.Done(name)
	if err := a.attach(ctx, name); err != nil {
		a.queue.AddRateLimited(name)
		return true
	}
	a.queue.Forget(name)
	return true
}

func (a *attacher) attach(ctx context.Context, name string) error {
	obj, exists, err := a.attachments.GetByKey(name)
	if err != nil || !exists || !pending(obj.(*storagev1.VolumeAttachment)) {
		return err
	}
	_, err = a.client.StorageV1().VolumeAttachments().Patch(ctx, name, types.MergePatchType, []byte(`{"status":{"attached":true}}`), metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil // it has been detached
	}
	return err
}
