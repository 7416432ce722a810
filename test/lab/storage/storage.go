// Package storage provides network disks for a lab: directories that every machine sees at the same path, shared by all
// writers.
package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// Provisioner is its name in a StorageClass.
const Provisioner = "storage.lab"

// Run provisions volumes below dir until ctx ends.
func Run(ctx context.Context, config *rest.Config, dir string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("provisioning volumes: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("provisioning volumes: %w", err)
	}
	controller.NewProvisionController(ctx, client, Provisioner, directories(dir),
		controller.LeaderElection(false), // there is only one
	).Run(ctx)
	return nil
}

// directories creates volumes below a directory.
type directories string

// Provision creates the directory of a volume.
func (d directories) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	path := d.of(o.PVName)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("making volume %s: %w", o.PVName, err)
	}
	// For a disk, the kubelet sets the group of the pod. It does not do so for a directory of the host.
	if err := os.Chmod(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("making volume %s: %w", o.PVName, err)
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: path, Type: ptr.To(corev1.HostPathDirectory)},
			},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes the directory of a volume.
func (d directories) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	if err := os.RemoveAll(d.of(volume.Name)); err != nil {
		return fmt.Errorf("removing volume %s: %w", volume.Name, err)
	}
	return nil
}

func (d directories) of(volume string) string { return filepath.Join(string(d), volume) }
