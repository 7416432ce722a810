package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
)

// Node is the CSI driver of one machine.
type Node struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	// Name is the name of the machine's node.
	Name string
	// Disks is the directory of all disks.
	Disks string
	// Registry is the directory in which the kubelet looks for sockets of plugins.
	Registry string
	Log      *slog.Logger
}

// Serve serves the kubelet until ctx ends. It returns when the socket exists, or an error.
func (n Node) Serve(ctx context.Context) error {
	if err := os.MkdirAll(n.Registry, 0o750); err != nil {
		return fmt.Errorf("serving volumes: %w", err)
	}
	// The socket of a machine that was killed is still on its disk.
	if err := os.Remove(n.socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("serving volumes: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", n.socket())
	if err != nil {
		return fmt.Errorf("serving volumes: %w", err)
	}
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, n)
	csi.RegisterNodeServer(server, n)
	registration.RegisterRegistrationServer(server, registrar{endpoint: n.socket(), log: n.Log})
	go func() {
		if err := server.Serve(listener); err != nil {
			n.Log.Error("Volumes are not served", "err", err)
		}
	}()
	context.AfterFunc(ctx, server.Stop)
	return nil
}

// socket serves both the registration and the driver.
func (n Node) socket() string { return filepath.Join(n.Registry, Driver+".sock") }

// registrar registers the driver with the kubelet.
type registrar struct {
	registration.UnimplementedRegistrationServer
	endpoint string
	log      *slog.Logger
}

func (r registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: registration.CSIPlugin, Name: Driver, Endpoint: r.endpoint, SupportedVersions: []string{"1.0.0"}}, nil
}

func (r registrar) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !s.GetPluginRegistered() {
		r.log.Error("The kubelet refuses the volume driver", "err", s.GetError())
	}
	return &registration.RegistrationStatusResponse{}, nil
}

// GetPluginInfo implements csi.IdentityServer.
func (n Node) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: Driver, VendorVersion: "1"}, nil
}

// GetPluginCapabilities implements csi.IdentityServer.
func (n Node) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

// Probe implements csi.IdentityServer.
func (n Node) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

// NodeGetInfo implements csi.NodeServer.
func (n Node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: n.Name}, nil
}

// NodeGetCapabilities implements csi.NodeServer.
func (n Node) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume mounts an attached disk at the path of a pod.
func (n Node) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	disk := filepath.Join(n.Disks, filepath.Base(r.GetVolumeId()))
	if _, err := os.Stat(disk); err != nil {
		return nil, status.Errorf(codes.NotFound, "volume %s: %v", r.GetVolumeId(), err)
	}
	if err := os.MkdirAll(r.GetTargetPath(), 0o750); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	// The kubelet repeats a call without an answer.
	if sameFile(disk, r.GetTargetPath()) {
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if err := namespace.Bind(disk, r.GetTargetPath()); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// NodeUnpublishVolume removes the mount of a pod that has ended.
func (n Node) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	// EINVAL: it is not mounted. ENOENT: it was removed.
	if err := unix.Unmount(r.GetTargetPath(), 0); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return nil, status.Errorf(codes.Internal, "unmounting %s: %v", r.GetTargetPath(), err)
	}
	// RemoveAll would remove the data of the disk if it were still mounted.
	if err := os.Remove(r.GetTargetPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}
