package component

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options are what a Runner needs.
type Options struct {
	// Client reads from a cache. Reader reads past it: Events and volume claims of a component that does not become
	// available, and ReplicaSets during deletion.
	Client client.Client
	Reader client.Reader
	Scheme *runtime.Scheme
	Clock  clock.PassiveClock
	// Owner is the field owner of all writes.
	Owner string
}

// A Runner applies components and reports their status.
type Runner struct {
	Options
	apply *apply.Applier
}

// NewRunner returns a Runner.
func NewRunner(opts Options) *Runner {
	return &Runner{Options: opts, apply: apply.New(opts.Client, opts.Scheme, opts.Owner)}
}

// A part is a component during one reconcile.
type part struct {
	Component
	objs []client.Object
	// fault is the error of rendering, and unseen the error of reading the status.
	fault, unseen error
	observation
	status *hyperv1.ControlPlaneComponent
	// waits is why the component is not changed; empty if it is.
	waits string
	// state and failed are the result.
	state  State
	failed error
}

// Ensure applies the components, in parallel. A component that others depend on delays their changes, but not their creation:
// their pods wait by themselves, and are scheduled and pull images meanwhile. The error of one component is part of its State
// and of the returned error, and does not hide the others.
//
// With held set, Ensure changes nothing and reports the status only.
func (r *Runner) Ensure(ctx context.Context, env *Env, held bool, components ...Component) ([]State, error) {
	parts := wantedParts(env, components)
	each(parts, func(p *part) { p.unseen = r.look(ctx, env, p) })
	if !held {
		if err := r.removeUnwanted(ctx, env, parts); err != nil {
			return nil, err
		}
	}
	for _, p := range parts {
		p.waits = p.waitsFor(env.Release.Version, held, parts)
	}
	each(parts, func(p *part) { p.state, p.failed = r.ensure(ctx, env, p) })
	states, errs := make([]State, len(parts)), make([]error, len(parts))
	for i, p := range parts {
		states[i], errs[i] = p.state, p.failed
	}
	return states, errors.Join(errs...)
}

// each calls do for all parts in parallel.
func each(parts []*part, do func(*part)) {
	var all sync.WaitGroup
	for _, p := range parts {
		all.Go(func() { do(p) })
	}
	all.Wait()
}

// wantedParts returns the components that the cluster has: those that it wants and for which the release has the images.
func wantedParts(env *Env, components []Component) []*part {
	var parts []*part
	for _, c := range components {
		if c.Wanted != nil && !c.Wanted(env) {
			continue
		}
		p := &part{Component: c}
		p.objs, p.fault = Render(c, env)
		var missing *MissingImagesError
		if !errors.As(p.fault, &missing) {
			parts = append(parts, p)
		}
	}
	return parts
}

// look fills in the status of the part.
func (r *Runner) look(ctx context.Context, env *Env, p *part) (err error) {
	if p.observation, err = r.observe(ctx, p.Component, env); err != nil {
		return err
	}
	p.status, err = r.statusOf(ctx, env, p.Component)
	return err
}

// kinds are the kinds of objects that components have or have ever had.
var kinds = []client.ObjectList{
	&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &corev1.SecretList{},
	&policyv1.PodDisruptionBudgetList{}, &networkingv1.NetworkPolicyList{},
}

// pruned reports whether the object is of one of these kinds.
func pruned(obj client.Object) bool {
	return slices.ContainsFunc(kinds, func(list client.ObjectList) bool {
		return reflect.TypeOf(list).Elem().Name() == reflect.TypeOf(obj).Elem().Name()+"List"
	})
}

func setOf(hcp *hyperv1.HostedControlPlane, name string) apply.Set {
	return apply.Set{Name: name, Namespace: hcp.Namespace, Parent: hcp, Kinds: kinds}
}

// statuses lists the ControlPlaneComponents of all components.
func statuses(hcp *hyperv1.HostedControlPlane) apply.Set {
	return apply.Set{Name: "components", Namespace: hcp.Namespace, Parent: hcp, Independent: true, Kinds: []client.ObjectList{&hyperv1.ControlPlaneComponentList{}}}
}

// removeUnwanted applies the list of components. The ControlPlaneComponent of a removed component is deleted after its
// objects: it is the only record of a component that this version of the program does not know.
func (r *Runner) removeUnwanted(ctx context.Context, env *Env, parts []*part) error {
	wanted := func(name string) bool {
		return slices.ContainsFunc(parts, func(p *part) bool { return p.Name == name })
	}
	if err := r.remove(ctx, env.HCP, wanted); err != nil {
		return err
	}
	var objs []client.Object
	for _, p := range parts {
		objs = append(objs, desiredStatus(env, p.Component))
	}
	_, err := r.apply.Apply(ctx, statuses(env.HCP), objs...)
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
		if _, err := r.apply.Delete(ctx, setOf(hcp, c.Name)); err != nil {
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
	case p.live == nil:
		return ""
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

// runs reports whether the rollout of the version was completed. A pod that failed later does not delay others.
func (p *part) runs(version string) bool {
	return p.version == version && (p.complete || p.status != nil && p.status.Status.Version == version)
}

// ensure applies one component unless it waits for another, and reports its status.
func (r *Runner) ensure(ctx context.Context, env *Env, p *part) (State, error) {
	if p.unseen != nil {
		return State{Name: p.Name}, fmt.Errorf("component %s: %w", p.Name, p.unseen)
	}
	failed := p.fault
	changed := false
	if failed == nil && p.waits == "" {
		changed, failed = r.apply.Apply(ctx, setOf(env.HCP, p.Name), p.objs...)
	}
	state, err := r.evaluateState(ctx, env, p, changed, failed)
	if err == nil && !reconcile.IsTransientAPIError(failed) {
		err = r.writeStatus(ctx, env, p, state)
	}
	if err = errors.Join(failed, err); err != nil {
		return state, fmt.Errorf("component %s: %w", p.Name, err)
	}
	return state, nil
}
