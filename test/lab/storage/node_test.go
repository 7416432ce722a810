package storage

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// TestKubeletMountsADisk calls the driver as a kubelet does: it registers the driver, mounts a disk twice, and unmounts it twice.
func TestKubeletMountsADisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	disks, target := t.TempDir(), filepath.Join(t.TempDir(), "mount")
	must(t, format(filepath.Join(disks, "pvc-1")))
	n := Node{Name: "m1", Disks: disks, Registry: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	must(t, os.WriteFile(n.socket(), nil, 0o600)) // of a machine that was killed
	must(t, n.Serve(t.Context()))
	conn, err := grpc.NewClient("unix://"+n.socket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	defer func() { _ = conn.Close() }()

	info, err := registration.NewRegistrationClient(conn).GetInfo(t.Context(), &registration.InfoRequest{})
	must(t, err)
	if info.GetType() != registration.CSIPlugin || info.GetName() != Driver || info.GetEndpoint() != n.socket() {
		t.Errorf("the driver registers as %v", info)
	}
	driver := csi.NewNodeClient(conn)
	publish := &csi.NodePublishVolumeRequest{VolumeId: "pvc-1", TargetPath: target}
	for range 2 {
		_, err = driver.NodePublishVolume(t.Context(), publish)
		must(t, err)
	}
	must(t, os.WriteFile(filepath.Join(target, "data"), []byte("kept"), 0o600))
	for range 2 {
		_, err = driver.NodeUnpublishVolume(t.Context(), &csi.NodeUnpublishVolumeRequest{VolumeId: "pvc-1", TargetPath: target})
		must(t, err)
	}
	if _, err := os.Stat(target); !os.IsNotExist(err) {
		t.Errorf("the target is left: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(disks, "pvc-1", "data")); err != nil || string(text) != "kept" {
		t.Errorf("the disk has %q, %v", text, err)
	}
	publish.VolumeId = "pvc-2"
	if _, err := driver.NodePublishVolume(t.Context(), publish); status.Code(err) != codes.NotFound {
		t.Errorf("a disk that does not exist: %v", err)
	}
}
