package component

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ComponentLabel holds the name of the component of an object or a pod.
const ComponentLabel = "hypershift.openshift.io/control-plane-component"

// ReleaseAnnotation is on a workload, and not on its pods: the version that it was last set to. An image that two releases
// share is not rolled out again.
const ReleaseAnnotation = "hypershift.openshift.io/release-version"

// Options configure a Runner.
type Options struct {
	// Client reads from a cache. Reader reads past it: Events and volume claims of a component that does not become
	// available, and ReplicaSets during deletion.
	Client client.Client
	Reader client.Reader
	Scheme *runtime.Scheme
	Clock  clock.PassiveClock
	// Owner is the field owner of all writes.
	Owner string
	// Kinds lists the kinds of objects that components have or have ever had.
	Kinds []client.ObjectList
}

// A ControlPlane is the input of a Runner.
type ControlPlane struct {
	HCP *hyperv1.HostedControlPlane
	// Version is the desired release's version.
	Version    string
	Components []Rendered
}

// A Runner applies components and reports their status.
type Runner struct {
	Options
	apply  *apply.Applier
	status *reconcile.Part[*hyperv1.ControlPlaneComponent]
}

// NewRunner returns a Runner.
func NewRunner(opts Options) *Runner {
	statuses := reconcile.NewStore[*hyperv1.ControlPlaneComponent](opts.Client, opts.Reader, opts.Owner)
	return &Runner{
		Options: opts, apply: apply.New(opts.Client, opts.Scheme, opts.Owner),
		status: statuses.Part(func(c *hyperv1.ControlPlaneComponent) any { return c.Status }),
	}
}

// A part is a component during one reconcile.
type part struct {
	Rendered
	// host is the part whose pods run this one; nil for pods of its own. guests are the parts that run in the pods of this one.
	host   *part
	guests []*part
	// readErr is the error of reading the status.
	readErr error
	observation
	status *hyperv1.ControlPlaneComponent
	// waits is why the component is not changed; empty if it is.
	waits string
	// changed is true if its workload has just been changed.
	changed bool
	// failed is why it was not applied.
	failed error
	// state and err are the result.
	state State
	err   error
}

// Ensure applies the components, in parallel. A component that others depend on delays their changes, but not their creation:
// their pods wait by themselves, and are scheduled and pull images meanwhile. The error of one component is part of its State
// and of the returned error, and does not hide the others.
//
// With held set, Ensure does not write and reports the status only.
func (r *Runner) Ensure(ctx context.Context, plane ControlPlane, held bool) ([]State, error) {
	parts := make([]*part, len(plane.Components))
	for i, c := range plane.Components {
		parts[i] = &part{Rendered: c}
	}
	hosts, guests := divide(parts)
	each(parts, func(p *part) { p.readErr = r.read(ctx, plane, p) })
	if !held {
		if err := r.removeUnwanted(ctx, plane, parts); err != nil {
			return nil, err
		}
	}
	for _, p := range hosts {
		p.waits = p.waitsFor(plane.Version, held, parts)
	}
	for _, p := range guests {
		p.waits = p.host.waits
	}
	for _, some := range [][]*part{guests, hosts} { // pods do not start before the objects that they mount exist
		each(some, func(p *part) { p.failed = r.applyObjects(ctx, plane, p) })
	}
	each(parts, func(p *part) { p.state, p.err = r.report(ctx, plane, p) })
	states, errs := make([]State, len(parts)), make([]error, len(parts))
	for i, p := range parts {
		states[i], errs[i] = p.state, p.err
	}
	return states, errors.Join(errs...)
}

// divide returns the parts with pods of their own, and those that run in the pods of these.
func divide(parts []*part) (hosts, guests []*part) {
	for _, p := range parts {
		if i := slices.IndexFunc(parts, func(h *part) bool { return h.Name == p.Host }); i >= 0 {
			p.host, guests = parts[i], append(guests, p)
			p.host.guests = append(p.host.guests, p)
		} else {
			hosts = append(hosts, p)
		}
	}
	return hosts, guests
}

// each calls do for all parts in parallel.
func each(parts []*part, do func(*part)) {
	var all sync.WaitGroup
	for _, p := range parts {
		all.Go(func() { do(p) })
	}
	all.Wait()
}

// read reads the workload of the part and its status.
func (r *Runner) read(ctx context.Context, plane ControlPlane, p *part) (err error) {
	if p.observation, err = r.observe(ctx, plane.HCP.Namespace, p.Rendered); err != nil {
		return err
	}
	if p.live != nil && p.Containers != nil {
		if err = r.observeContainers(ctx, p); err != nil {
			return err
		}
	}
	p.status, err = r.statusOf(ctx, plane.HCP.Namespace, p.Name)
	return err
}

func (r *Runner) setOf(hcp *hyperv1.HostedControlPlane, name string) apply.Set {
	return apply.Set{Name: name, Namespace: hcp.Namespace, Parent: hcp, Kinds: r.Kinds}
}

// statuses lists the ControlPlaneComponents of all components.
func statuses(hcp *hyperv1.HostedControlPlane) apply.Set {
	return apply.Set{Name: "components", Namespace: hcp.Namespace, Parent: hcp, Independent: true, Kinds: []client.ObjectList{&hyperv1.ControlPlaneComponentList{}}}
}

// removeUnwanted applies the list of components. The ControlPlaneComponent of a removed component is deleted after its
// objects: it is the only record of a component that this version of the program does not know.
func (r *Runner) removeUnwanted(ctx context.Context, plane ControlPlane, parts []*part) error {
	wanted := func(name string) bool {
		return slices.ContainsFunc(parts, func(p *part) bool { return p.Name == name })
	}
	if err := r.remove(ctx, plane.HCP, wanted); err != nil {
		return err
	}
	var objs []client.Object
	for _, p := range parts {
		objs = append(objs, desiredStatus(plane.HCP, p.Name))
	}
	_, err := r.apply.Apply(ctx, statuses(plane.HCP), objs...)
	return err
}

func (r *Runner) remove(ctx context.Context, hcp *hyperv1.HostedControlPlane, wanted func(name string) bool) error {
	list := &hyperv1.ControlPlaneComponentList{}
	if err := r.Client.List(ctx, list, client.InNamespace(hcp.Namespace)); err != nil {
		return fmt.Errorf("listing components: %w", err)
	}
	for _, c := range list.Items {
		if wanted(c.Name) {
			continue
		}
		if _, err := r.apply.Delete(ctx, r.setOf(hcp, c.Name)); err != nil {
			return fmt.Errorf("removing component %s: %w", c.Name, err)
		}
	}
	return nil
}

// waitsFor returns why a part is not changed; empty if it is.
func (p *part) waitsFor(version string, held bool, parts []*part) string {
	switch {
	case held:
		return "spec.pausedUntil stops changes"
	case p.live == nil || hasNoPods(p.live) || p.stops():
		return "" // there are no pods, or none are wanted: the order matters for a rollout only
	}
	var names []string
	for _, before := range parts {
		if slices.Contains(p.After, before.Name) && !(before.available && before.runs(version)) {
			names = append(names, before.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("waiting until %s runs version %s", strings.Join(names, " and "), version)
}

// stops reports whether the component is to have no pods, because the control plane sleeps.
func (p *part) stops() bool {
	if p.host != nil {
		return p.host.stops()
	}
	return len(p.Objects) > 0 && hasNoPods(AsWorkload(p.Objects[len(p.Objects)-1]))
}

// hasNoPods reports whether a workload has no replicas. A DaemonSet has no number of them.
func hasNoPods(w *Workload) bool {
	return w != nil && w.Replicas != nil && *w.Replicas != nil && **w.Replicas == 0
}

// runs reports whether the rollout of the version was completed. A pod that failed later does not delay others.
func (p *part) runs(version string) bool {
	return p.version == version && (p.complete || p.status != nil && p.status.Status.Version == version)
}

// isWorkload is true for the workload of the part. A change of another object starts no rollout: if pods have to restart for
// it, the template of the workload has changed, too.
func (p *part) isWorkload(obj client.Object) bool {
	return p.Workload != nil && reflect.TypeOf(obj) == reflect.TypeOf(p.Workload) && obj.GetName() == p.Workload.GetName()
}

// failure is why the component, or the pods that it shares, were not applied.
func (p *part) failure() error {
	if p.failed == nil && p.host != nil {
		return p.host.failed
	}
	return p.failed
}

// applyObjects applies one component unless it waits for another. Pods are not changed before the objects of all that run in them: they would
// start with former contents, and no later change would restart them.
func (r *Runner) applyObjects(ctx context.Context, plane ControlPlane, p *part) error {
	if p.readErr != nil || p.Err != nil || p.waits != "" {
		return p.Err
	}
	for _, guest := range p.guests {
		if err := errors.Join(guest.readErr, guest.failed); err != nil {
			return fmt.Errorf("%s, in the same pods: %w", guest.Name, err)
		}
	}
	written, _, err := r.apply.ApplyEach(ctx, r.setOf(plane.HCP, p.Name), p.Objects...)
	p.changed = slices.ContainsFunc(written, p.isWorkload)
	return err
}

// report reports the status of a component after all were applied.
func (r *Runner) report(ctx context.Context, plane ControlPlane, p *part) (State, error) {
	if p.readErr != nil {
		return State{Name: p.Name}, fmt.Errorf("component %s: %w", p.Name, p.readErr)
	}
	state, err := r.evaluateState(ctx, plane, p)
	state.Unreported = p.status != nil && r.starting(p.status, state)
	if err == nil && !reconcile.IsTransientAPIError(p.failure()) {
		err = r.writeStatus(ctx, plane, p, state)
	}
	if err = errors.Join(p.failed, err); err != nil {
		return state, fmt.Errorf("component %s: %w", p.Name, err)
	}
	return state, nil
}
