package stage

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/bed/podrunner"
)

// Images that Deployments name. No registry has them: the pod runner starts the programs that Start has built.
const (
	// Image is that of our operators.
	Image = "hypershift.test/hypershift:stage"
	// ClusterAPIImage and CAPIProviderImage are those of the controllers of machines.
	ClusterAPIImage   = "hypershift.test/cluster-api:stage"
	CAPIProviderImage = "hypershift.test/cluster-api-provider-aws:stage"
)

// managers are the programs of the controllers of machines, by their image.
var managers = map[string]string{ClusterAPIImage: "cluster-api-manager", CAPIProviderImage: "cluster-api-provider-aws-manager"}

// images says which programs are in which image.
func (s *Stage) images(ctx context.Context) (map[string]podrunner.Image, error) {
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
	images := map[string]podrunner.Image{Image: {
		Bin:        s.bin(),
		Entrypoint: "hypershift-operator",
		Args: map[string][]string{
			"hypershift-operator":    {"--resync-period=" + seconds(s.options.Resync), "--aws-permissions-check-period=" + seconds(s.options.Resync), "--oidc-check-period=" + seconds(s.options.Resync)},
			"control-plane-operator": {"--resync-period=" + seconds(s.options.Resync), "--api-start-interval=1s", "--api-interval=2s"},
		},
	}}
	for image, program := range managers {
		paths, err := pinned.Ensure(ctx, s.options.Progress, program)
		if err != nil {
			return nil, err
		}
		images[image] = podrunner.Image{
			Bin:        filepath.Dir(paths[program]),
			Entrypoint: program,
			// They look for the namespace of their lease where a pod has it, and here they are alone.
			Args: map[string][]string{program: {"--leader-elect=false"}},
		}
	}
	return images, nil
}
