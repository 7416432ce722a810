package cluster

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/hosted-control-planes/hypershift/test/bed"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// base is what every lab has running in it.
//
//go:embed manifests/base.yaml
var base string

// furnish pushes the first images and applies what runs from them.
func (u *start) furnish(ctx context.Context, lab *Lab) (err error) {
	if lab.Images, err = images.Push(ctx, images.Options{Registry: Registry, Progress: u}, firstImages...); err != nil {
		return err
	}
	manifests, err := bed.Substitute(base, map[string]string{"SWITCH": SwitchAddress, "DNS": ClusterDNS, "COREDNS": lab.Images["coredns"]})
	if err == nil {
		err = bed.Apply(ctx, lab.Config, manifests)
	}
	if err != nil {
		return fmt.Errorf("furnishing the management cluster: %w", err)
	}
	u.say("storage class and DNS are applied")
	return nil
}
