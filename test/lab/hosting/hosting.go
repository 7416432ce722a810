// Package hosting is a lab with an installation of hypershift, installed like users do it.
//
//	Start  lab (test/lab/cluster) with AWS ─► images and releases in its registry ─► helm install
//	then   NewCustomer ─► Apply(config/samples/…) ─► Kubeconfig for a user outside of the lab
//	Stop   helm uninstall ─► removal of the lab
package hosting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/progress/steps"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// Domain is the domain of the host names in the samples.
const Domain = "example.test"

// Options configure a Hosting.
type Options struct {
	// Lab configures the lab; its Cloud is always enabled.
	Lab cluster.Options
	// Delays are the durations of AWS operations; nil uses the defaults of the emulator, which suit tests.
	Delays awsemulator.Delays
	// Values are additional values of the chart, as YAML.
	Values string
	// SharedRouter enables the shared router of the chart.
	SharedRouter bool
	// PublicNames installs external-dns, which creates records in the public zone of Domain.
	PublicNames bool
	// OlderLater starts with the newest version only. Release builds the others.
	OlderLater bool
	// ControlPlanesFirst starts without the images that only nodes and the older version need, if not all programs are built yet. Complete
	// builds the rest.
	ControlPlanesFirst bool
	// Progress receives a line for each step.
	Progress io.Writer
}

// userPrograms are the programs of a user.
var userPrograms = []string{"kubectl", "helm"}

// Hosting is a lab with hypershift installed.
type Hosting struct {
	*cluster.Lab
	// Versions are the versions of Kubernetes of the releases, the newest first: see Release.
	Versions []string
	// Programs are the programs of a user: kubectl and helm, by name.
	Programs map[string]string
	// Images are the images in the registry of the lab.
	Images images.Set
	// Partial is true before Complete, if control planes are first.
	Partial bool

	releasing sync.Mutex
	releases  map[string]string // payloads by version, those that are pushed

	connecting    sync.Mutex
	administrator client.Client

	options Options
	root    string
	// The roles in AWS of the operator and of external-dns.
	role, dnsRole string
}

// Start starts the lab unless it runs, and installs or upgrades hypershift. If this fails, a lab that had to be new is
// removed again.
func Start(ctx context.Context, o Options) (_ *Hosting, err error) {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	o.Lab.Cloud, o.Lab.Progress = true, o.Progress
	h := &Hosting{options: o}
	if h.root, err = pinned.Root(); err != nil {
		return nil, err
	}
	versions, first, err := o.first()
	if err != nil {
		return nil, err
	}
	o.Lab.InstancesLater = o.ControlPlanesFirst && len(first) > 0
	if o.Lab.InstancesLater {
		stop, err := buildAhead(ctx, o.Progress, first)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	if h.Lab, err = cluster.Up(ctx, o.Lab); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && o.Lab.New {
			err = errors.Join(err, h.Lab.Down(context.WithoutCancel(ctx)))
		}
	}()
	if err := h.prepareAccount(ctx); err != nil {
		return nil, err
	}
	if h.Programs, err = pinned.Ensure(ctx, o.Progress, userPrograms...); err != nil {
		return nil, err
	}
	h.Partial = o.Lab.InstancesLater
	if err := h.push(ctx, versions, first...); err != nil {
		return nil, err
	}
	return h, h.Install(ctx)
}

// buildAhead builds programs that only Complete needs, until stop is called. Start leaves a part of the cores idle: packages wait for what they
// import. Complete builds what is left, with the packages that were compiled.
func buildAhead(ctx context.Context, progress io.Writer, first []string) (stop func(), err error) {
	later, err := pinned.Apart(images.Programs(), slices.Concat(cluster.Programs(), userPrograms, images.Programs(first...)))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var builds sync.WaitGroup
	builds.Go(func() { _ = pinned.EnsureIdle(ctx, progress, later...) }) // Complete meets the same error
	return func() { cancel(); builds.Wait() }, nil
}

// Steps returns the steps of Start, and of Complete, that build what is missing, in their order.
func (o Options) Steps() ([]steps.Step, error) {
	_, first, err := o.first()
	if err != nil {
		return nil, err
	}
	var all []steps.Step
	for _, missing := range []func() ([]steps.Step, error){
		cluster.Steps,
		func() ([]steps.Step, error) { return pinned.Missing(userPrograms...) },
		func() ([]steps.Step, error) { return images.Steps(first...) },
		func() ([]steps.Step, error) { return images.Steps() },
	} {
		more, err := missing()
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// first are the versions and images that Start pushes; without names all images.
func (o Options) first() (versions, names []string, err error) {
	if o.OlderLater {
		return images.Versions[:1], images.OfVersion(images.Versions[0]), nil
	}
	if !o.ControlPlanesFirst {
		return images.Versions, nil, nil
	}
	for _, built := range []func() (bool, error){images.Built, cluster.InstancesBuilt} {
		complete, err := built()
		if err != nil {
			return nil, nil, err
		}
		if newest := images.Versions[0]; !complete {
			return []string{newest}, images.ControlPlane(newest), nil
		}
	}
	return images.Versions, nil, nil
}

// Release returns the payload of a version. It builds and pushes a payload that Start has left out.
func (h *Hosting) Release(ctx context.Context, version string) (string, error) {
	h.releasing.Lock()
	defer h.releasing.Unlock()
	if h.releases[version] != "" {
		return h.releases[version], nil
	}
	set, err := images.Push(ctx, h.registry(), images.OfVersion(version)...)
	if err != nil {
		return "", err
	}
	pushed, err := images.PushReleases(ctx, h.registry(), set, version)
	maps.Copy(h.releases, pushed)
	return pushed[version], err
}

// Complete builds and pushes the images that Start has left out. The release of control planes alone is replaced.
func (h *Hosting) Complete(ctx context.Context) error {
	if err := h.PrepareInstances(ctx, h.options.Progress); err != nil {
		return err
	}
	h.Partial = false
	return h.push(ctx, images.Versions)
}

// prepareAccount prepares the account of the management cluster.
func (h *Hosting) prepareAccount(ctx context.Context) (err error) {
	if h.Existing() {
		return errors.New("hosted clusters need the AWS emulator and the registry of a lab: unset USE_EXISTING_CLUSTER, or install the chart in your cluster according to docs/install.md")
	}
	if h.AWS == nil {
		return errors.New("the lab that is up has no AWS: take it down first")
	}
	if h.options.Delays != nil {
		if err := h.AWS.SetDelays(ctx, h.options.Delays); err != nil {
			return err
		}
	}
	if h.role, err = accounts.OperatorRole(ctx, h.AWS, h.Management.Account, h.Management.Bucket); err != nil || !h.options.PublicNames {
		return err
	}
	h.dnsRole, err = accounts.PublicZone(ctx, h.AWS, h.Management.Account, Domain)
	return err
}

// push pushes images, and releases of these versions, to the registry of the lab. Without names it pushes all images.
func (h *Hosting) push(ctx context.Context, versions []string, names ...string) (err error) {
	to := h.registry()
	if h.Images, err = images.Push(ctx, to, names...); err != nil {
		return err
	}
	if h.options.PublicNames {
		more, err := images.Push(ctx, to, images.ExternalDNS)
		if err != nil {
			return err
		}
		maps.Copy(h.Images, more)
	}
	h.Versions = images.Versions
	h.releases, err = images.PushReleases(ctx, to, h.Images, versions...)
	return err
}

// registry is where images are pushed to.
func (h *Hosting) registry() images.Options {
	return images.Options{Registry: cluster.Registry, Progress: h.options.Progress}
}

// PushRelease pushes a copy of a release with some images replaced, and returns its name by digest.
func (h *Hosting) PushRelease(ctx context.Context, tag, version string, instead map[string]string) (string, error) {
	d := images.Describe(h.Images, version)
	maps.Copy(d.Components, instead)
	return images.PushRelease(ctx, h.registry(), tag, d)
}

// NewCustomer prepares an account for a hosted cluster of that name and release.
func (h *Hosting) NewCustomer(ctx context.Context, name, infraID, version string) (*accounts.Customer, error) {
	release, err := h.Release(ctx, version)
	if err != nil {
		return nil, err
	}
	// An earlier run may have created accounts in this lab.
	account := fmt.Sprintf("4%011d", rand.Int64N(1e11))
	return accounts.NewCustomer(ctx, h.AWS, h.Management.Bucket, release, account, name, infraID)
}

// Apply applies manifests in their order, with ${VARIABLES} replaced.
func (h *Hosting) Apply(ctx context.Context, variables map[string]string, manifests string) error {
	manifests, err := fixture.Substitute(manifests, variables)
	if err != nil {
		return fmt.Errorf("applying manifests: %w", err)
	}
	return fixture.Apply(ctx, h.Config, manifests)
}

// Stop uninstalls hypershift and removes the lab.
func (h *Hosting) Stop(ctx context.Context) error {
	return errors.Join(h.Uninstall(ctx), h.Lab.Down(ctx))
}
