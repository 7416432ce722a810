package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// base are the manifests that every lab applies.
//
//go:embed manifests/base.yaml
var base string

// furnish pushes the first images and applies base.
func (u *start) furnish(ctx context.Context, lab *Lab) (err error) {
	if lab.Images, err = images.Push(ctx, images.Options{Registry: Registry, Progress: u.Progress}, firstImages...); err != nil {
		return err
	}
	dns := ClusterDNS
	if u.second {
		dns = SecondClusterDNS
	}
	manifests, err := fixture.Substitute(base, map[string]string{
		"SWITCH": SwitchAddress, "DNS": dns, "COREDNS": lab.Images["coredns"],
		"ATTACH": strconv.FormatBool(!u.InstantVolumes),
	})
	if err == nil {
		err = fixture.Apply(ctx, lab.Config, manifests)
	}
	if err != nil {
		return fmt.Errorf("furnishing the management cluster: %w", err)
	}
	return nil
}

// waitForDNS waits for the first pod.
func (u *start) waitForDNS(ctx context.Context, lab *Lab) error {
	client, err := kubernetes.NewForConfig(lab.Config)
	if err != nil {
		return fmt.Errorf("waiting for DNS: %w", err)
	}
	err = until(ctx, func() (bool, error) {
		dns, err := client.AppsV1().Deployments(metav1.NamespaceSystem).Get(ctx, "coredns", metav1.GetOptions{})
		return err == nil && dns.Status.AvailableReplicas > 0, err
	})
	if err != nil {
		return fmt.Errorf("waiting for DNS: %w", err)
	}
	u.report("DNS of the cluster")
	return nil
}
