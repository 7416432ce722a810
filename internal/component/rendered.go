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
	// Workload is an object that has only the type and the name of the workload.
	Workload client.Object
	// Objects are in the order of their creation. There are none with an error of rendering.
	Objects []client.Object
	Err     error
}

// RenderAll returns the cluster's components: the components that it wants and for which the release contains the images.
func RenderAll[T Target](t T, components ...Component[T]) []Rendered {
	var all []Rendered
	for _, c := range components {
		if c.Wanted != nil && !c.Wanted(t) {
			continue
		}
		r := Rendered{Name: c.Name, After: c.After, Explain: c.Explain}
		var missing *MissingImagesError
		if r.Objects, r.Err = Render(c, t); errors.As(r.Err, &missing) {
			continue
		}
		var err error
		if r.Workload, err = c.workload(); err != nil {
			r.Err = errors.Join(r.Err, fmt.Errorf("component %s: %w", c.Name, err))
		}
		all = append(all, r)
	}
	return all
}

// workload returns an empty object with the type and the name of the component's workload.
func (c Component[T]) workload() (client.Object, error) {
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
