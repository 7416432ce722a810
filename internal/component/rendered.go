package component

import (
	"errors"
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Rendered is a component as one cluster has it.
type Rendered struct {
	Name    string
	After   []string
	Explain func(words string) (reason, message string)
	// Host names the component whose pods run this one; empty for pods of its own.
	Host string
	// Containers names the containers of the component in pods that it shares with others, among them init containers; nil if it
	// shares them with none.
	Containers []string
	// Workload is an object that has only the type and the name of the workload with the component's pods.
	Workload client.Object
	// Objects are in the order of their creation. There are none with an error of rendering.
	Objects []client.Object
	Err     error
}

// draft is a component before containers of others join its pods.
type draft[T Target] struct {
	Component[T]
	Rendered
	workload *Workload
}

// RenderAll returns the cluster's components: the components that it wants and for which the release contains the images. The containers of a
// component with a host are in the workload of the host. An error of one is an error of all in the same pods, so that nothing that runs is removed.
func RenderAll[T Target](t T, components ...Component[T]) []Rendered {
	drafts := map[string]*draft[T]{}
	var order []*draft[T]
	for _, c := range components {
		if d := draftOf(t, c); d != nil {
			drafts[c.Name], order = d, append(order, d)
		}
	}
	for _, d := range order {
		if d.In != "" {
			d.join(drafts[d.In])
		}
	}
	for _, d := range order {
		if d.In == "" && d.Err == nil {
			d.Err = d.complete(t, d.workload)
		}
	}
	var all []Rendered
	for _, d := range order {
		if host := drafts[d.In]; host != nil {
			d.Err = host.Err
		}
		if d.Err != nil {
			d.Objects = nil
		}
		all = append(all, d.Rendered)
	}
	return all
}

// draftOf returns nil for a component that the cluster does not have.
func draftOf[T Target](t T, c Component[T]) *draft[T] {
	if c.Wanted != nil && !c.Wanted(t) {
		return nil
	}
	d := &draft[T]{Component: c, Rendered: Rendered{Name: c.Name, After: c.After, Explain: c.Explain, Host: c.In}}
	var missing *MissingImagesError
	if d.Objects, d.workload, d.Err = c.assemble(t); errors.As(d.Err, &missing) {
		return nil
	}
	var err error
	if d.Rendered.Workload, err = c.emptyWorkload(); err != nil {
		d.Err = errors.Join(d.Err, fmt.Errorf("component %s: %w", c.Name, err))
	}
	return d
}

// join moves the containers of a component into the pods of its host. An error is that of the host.
func (d *draft[T]) join(host *draft[T]) {
	if host == nil {
		d.Err = errors.Join(d.Err, fmt.Errorf("component %s: it runs in the pods of %s, which the cluster does not have", d.Rendered.Name, d.In))
		return
	}
	d.Rendered.Workload = host.Rendered.Workload
	if host.Err = errors.Join(host.Err, d.Err); host.Err != nil {
		return
	}
	if host.Containers == nil {
		host.Containers = containersOf(host.workload.Pod())
	}
	var err error
	if d.Containers, err = join(host.workload.Template, d.workload.Template, d.Rendered.Name); err != nil {
		host.Err = fmt.Errorf("component %s in the pods of %s: %w", d.Rendered.Name, d.In, err)
	}
	d.Objects = d.Objects[:len(d.Objects)-1]
}

// emptyWorkload returns an empty object with the type and the name of the component's workload.
func (c Component[T]) emptyWorkload() (client.Object, error) {
	files, err := c.files()
	if err != nil {
		return nil, err
	}
	asset, err := c.decode(files[len(files)-1])
	if err != nil {
		return nil, err
	}
	w := reflect.New(reflect.TypeOf(asset).Elem()).Interface().(client.Object)
	w.SetName(asset.GetName())
	return w, nil
}
