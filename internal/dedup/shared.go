package dedup

import (
	"hash/maphash"
	"reflect"
	"sync/atomic"
)

// size is how many values a Shared remembers. Objects of one kind are decoded one after the other, and the next one
// contains the same strings. Values are rarely needed again after as many others.
const size = 1 << 13

// Shared replaces equal parts of objects by one copy: strings, maps, slices, and the targets of pointers. The roles of a
// thousand decoded clusters have a thousand copies of the same rules.
//
// A shared value may be part of many objects and must not be changed in place, like everything that a cache returns by
// reference. Bytes are not shared: most are secrets, which differ and should not stay in memory.
//
// The table reserves a slot for each hash, and a new value replaces the former one. A lost entry only costs memory.
type Shared struct {
	seed   maphash.Seed
	places [size]atomic.Pointer[seen]
}

type seen struct {
	hash  uint64
	value reflect.Value
}

// NewShared returns an empty Shared.
func NewShared() *Shared { return &Shared{seed: maphash.MakeSeed()} }

// Transform is a transform function for informers, which call it with an object that has no other reference.
func (s *Shared) Transform(obj any) (any, error) {
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Pointer && !v.IsNil() {
		s.parts(v.Elem())
	}
	return obj, nil
}

// share replaces v by an equal value in the table, and returns a hash of it.
func (s *Shared) share(v reflect.Value) uint64 {
	hash := s.parts(v)
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Pointer:
	default:
		return hash
	}
	if v.IsZero() || isBytes(v.Type()) {
		return hash
	}
	place := &s.places[hash%size]
	if cached := place.Load(); cached != nil && cached.hash == hash && cached.value.Type() == v.Type() && reflect.DeepEqual(cached.value.Interface(), v.Interface()) {
		v.Set(cached.value)
		return hash
	}
	copied := reflect.New(v.Type()).Elem() // v itself would keep the object that contains it in memory
	copied.Set(v)
	place.Store(&seen{hash: hash, value: copied})
	return hash
}

// parts shares the parts of v. Fields that cannot be set are skipped: values that differ only in them have the same hash, and
// are compared.
func (s *Shared) parts(v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.String:
		return maphash.String(s.seed, v.String())
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return uint64(v.Int()) //nolint:gosec // a part of a hash
	case reflect.Pointer:
		if !v.IsNil() {
			return and(1, s.parts(v.Elem()))
		}
	case reflect.Struct:
		hash := uint64(v.NumField()) //nolint:gosec // a part of a hash
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				hash = and(hash, s.share(f))
			}
		}
		return hash
	case reflect.Slice:
		hash := uint64(v.Len()) //nolint:gosec // a part of a hash
		for i := 0; i < v.Len() && !isBytes(v.Type()); i++ {
			hash = and(hash, s.share(v.Index(i)))
		}
		return hash
	case reflect.Map:
		return s.entries(v)
	}
	return 0
}

// entries returns a map of shared keys and values.
func (s *Shared) entries(v reflect.Value) (hash uint64) {
	if v.Len() == 0 {
		return 0
	}
	shared := reflect.MakeMapWithSize(v.Type(), v.Len())
	for all := v.MapRange(); all.Next(); {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.Set(all.Key())
		value.Set(all.Value())
		hash += and(s.share(key), s.share(value)) // independent of the order
		shared.SetMapIndex(key, value)
	}
	v.Set(shared)
	return hash
}

// isBytes reports whether values of the type are bytes, or maps of bytes as in Secrets.
func isBytes(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Map:
		return isBytes(t.Elem())
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	}
	return false
}

// and is one step of FNV-1a, on words.
func and(hash, next uint64) uint64 { return (hash ^ next) * 1099511628211 }
