package apifields

import (
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// field is a field of a spec without fields of its own.
type field struct {
	// path is its name in manifests, below spec. Elements of lists have the index [].
	path string
	// steps lead from the spec to the field.
	steps []step
}

// step is a Go field, and the type that has it.
type step struct {
	owner reflect.Type
	index int
}

func (s step) name() string { return s.owner.Field(s.index).Name }

// opaque are types that are one value to the API.
var opaque = map[reflect.Type]bool{
	reflect.TypeFor[metav1.Time](): true, reflect.TypeFor[metav1.Duration](): true, reflect.TypeFor[resource.Quantity](): true,
	reflect.TypeFor[intstr.IntOrString](): true, reflect.TypeFor[time.Duration](): true,
}

// leaves returns the fields of a type.
func leaves(t reflect.Type) []field {
	var all []field
	walk(t, "", nil, &all)
	return all
}

func walk(t reflect.Type, path string, steps []step, all *[]field) {
	switch {
	case t.Kind() == reflect.Pointer:
		walk(t.Elem(), path, steps, all)
	case t.Kind() == reflect.Slice && structure(t.Elem()):
		walk(t.Elem(), path+"[]", steps, all)
	case structure(t):
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				continue
			}
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			next := append(append([]step{}, steps...), step{t, i})
			switch {
			case f.Anonymous && (name == "" || strings.Contains(options, "inline")):
				walk(f.Type, path, next, all)
			case name != "-":
				walk(f.Type, strings.TrimPrefix(path+"."+name, "."), next, all)
			}
		}
	default:
		*all = append(*all, field{path: path, steps: steps})
	}
}

// structure reports whether a type has fields.
func structure(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && !opaque[t]
}

// set returns a new value of the type in which only this field is set, to the text if it is one.
func (f field) set(t reflect.Type, text string) reflect.Value {
	root := reflect.New(t).Elem()
	at := enter(root)
	for _, s := range f.steps {
		at = enter(at.Field(s.index))
	}
	fill(at, text)
	return root
}

// enter returns the struct or value that pointers and lists lead to, and creates these.
func enter(v reflect.Value) reflect.Value {
	for {
		switch {
		case v.Kind() == reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		case v.Kind() == reflect.Slice && structure(v.Type().Elem()):
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			v = v.Index(0)
		default:
			return v
		}
	}
}

// fill sets a value that is not empty.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text)
		fill(value, text)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		switch at := v.Addr().Interface().(type) {
		case *metav1.Duration:
			at.Duration = time.Second
		case *resource.Quantity:
			*at = resource.MustParse("1")
		case *intstr.IntOrString:
			*at = intstr.FromInt32(1)
		case *metav1.Time:
			at.Time = time.Unix(1, 0)
		}
	default:
		panic("no value for " + v.Type().String())
	}
}
