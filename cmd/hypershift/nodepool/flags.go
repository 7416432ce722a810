// Package nodepool implements the commands `create nodepool aws` and `destroy nodepool`, and the flags about nodes that `create cluster`
// has, too.
package nodepool

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// Flags describe the nodes of a pool.
type Flags struct {
	clustermanifests.Pool
	arch, upgradeType, volumeType string
	drain, detach                 time.Duration
	encryptionKey                 string
}

// Add adds the flags to a command.
func (f *Flags) Add(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.InstanceType, "instance-type", "", "instance type of the nodes (default: m5.large, or m6g.large for arm64)")
	s.StringVar(&f.arch, "arch", string(hyperv1.ArchitectureAMD64), "processor architecture of the nodes: amd64 or arm64")
	s.Int64Var(&f.RootVolume.Size, "root-volume-size", 120, "size of the root volume in GiB")
	s.StringVar(&f.volumeType, "root-volume-type", string(hyperv1.VolumeTypeGP3), "type of the root volume")
	s.Int64Var(&f.RootVolume.IOPS, "root-volume-iops", 0, "operations per second of the root volume (default: those of its type)")
	s.StringVar(&f.encryptionKey, "root-volume-kms-key", "", "key of KMS that encrypts the root volume (default: that of the account)")
	s.StringVar(&f.upgradeType, "node-upgrade-type", string(hyperv1.UpgradeTypeReplace), "Replace or InPlace")
	s.BoolVar(&f.AutoRepair, "auto-repair", false, "replace nodes that stay unhealthy")
	s.DurationVar(&f.drain, "node-drain-timeout", 0, "limit for the drain of a node (0: none)")
	s.DurationVar(&f.detach, "node-volume-detach-timeout", 0, "limit for the detachment of the volumes of a node (0: none)")
}

// Complete returns the pool of the flags.
func (f *Flags) Complete() clustermanifests.Pool {
	p := f.Pool
	p.Arch, p.UpgradeType, p.RootVolume.Type = hyperv1.Architecture(f.arch), hyperv1.UpgradeType(f.upgradeType), hyperv1.VolumeType(f.volumeType)
	p.InstanceType = cmp.Or(p.InstanceType, clustermanifests.DefaultInstanceType(p.Arch))
	if f.encryptionKey != "" {
		encrypted := true
		p.RootVolume.Encrypted, p.RootVolume.EncryptionKey = &encrypted, f.encryptionKey
	}
	p.DrainTimeout, p.DetachTimeout = limit(f.drain), limit(f.detach)
	return p
}

func limit(d time.Duration) *metav1.Duration {
	if d == 0 {
		return nil
	}
	return &metav1.Duration{Duration: d}
}
