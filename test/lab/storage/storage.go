package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// Driver is the name of the CSI driver, and of the provisioner in a StorageClass.
const Driver = "storage.lab"

// AttachDelay is the time from the request to attach a disk until the kubelet can mount it. An EBS volume takes 5 to 15 seconds.
const AttachDelay = 10 * time.Second

// Run provisions disks below dir and attaches them after delay, until ctx ends.
func Run(ctx context.Context, config *rest.Config, dir string, delay time.Duration) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("providing volumes: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("providing volumes: %w", err)
	}
	a := &attacher{client: client, delay: delay, clock: clock.RealClock{}}
	if err := a.start(ctx); err != nil {
		return err
	}
	controller.NewProvisionController(ctx, client, Driver, directories(dir),
		controller.LeaderElection(false), // there is only one
	).Run(ctx)
	return nil
}

// directories creates disks below a directory.
type directories string

// Provision creates a disk with an empty file system.
func (d directories) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	if err := format(d.of(o.PVName)); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("making volume %s: %w", o.PVName, err)
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: Driver, VolumeHandle: o.PVName, FSType: "ext4"},
			},
		},
	}, controller.ProvisioningFinished, nil
}

// format gives a disk the content of an ext4 file system after mke2fs: a root that only root can write, and lost+found.
func format(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "lost+found"), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// Delete removes a disk.
func (d directories) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	if err := os.RemoveAll(d.of(volume.Name)); err != nil {
		return fmt.Errorf("removing volume %s: %w", volume.Name, err)
	}
	return nil
}

func (d directories) of(volume string) string { return filepath.Join(string(d), volume) }
