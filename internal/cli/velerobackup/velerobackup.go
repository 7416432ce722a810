// Package velerobackup reads the objects in a backup of Velero as if they were in a cluster. The file is that of `velero backup download`:
//
//	resources/<resource>[.<group>]/namespaces/<namespace>/<name>.json     with metadata and status
//	resources/<resource>[.<group>]/<version>[-preferredversion]/…         the same in each version, with EnableAPIGroupVersions
//
// See https://velero.io/docs/main/output-file-format/.
package velerobackup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// A Backup is a client.Reader of the namespaced objects. It supports Get, and List with a namespace.
type Backup struct {
	scheme  *runtime.Scheme
	objects map[schema.GroupVersionKind]map[client.ObjectKey]map[string]any
}

const (
	// maxObject bounds one object: etcd has a limit of 1.5 MiB for a request.
	maxObject = 8 << 20
	// maxBackup bounds all of them.
	maxBackup = 1 << 30
)

// Open reads a backup. The scheme has the kinds that are read as Go types.
func Open(file io.Reader, scheme *runtime.Scheme) (*Backup, error) {
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("this is not a backup of Velero, an archive that `velero backup download` writes: %w", err)
	}
	b := &Backup{scheme: scheme, objects: map[schema.GroupVersionKind]map[client.ObjectKey]map[string]any{}}
	archive := tar.NewReader(io.LimitReader(unzipped, maxBackup))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the backup of Velero: %w", err)
		}
		if header.Typeflag != tar.TypeReg || !isObject(header.Name) {
			continue
		}
		if err := b.add(header.Name, io.LimitReader(archive, maxObject)); err != nil {
			return nil, err
		}
	}
	if len(b.objects) == 0 {
		return nil, errors.New("the archive has no objects in resources/*/namespaces: it is not a backup of Velero")
	}
	return b, nil
}

// isObject reports whether a file is an object in a namespace.
func isObject(name string) bool {
	parts := strings.Split(strings.TrimPrefix(name, "./"), "/")
	return len(parts) >= 5 && parts[0] == "resources" && strings.HasSuffix(name, ".json") && parts[len(parts)-3] == "namespaces"
}

func (b *Backup) add(name string, content io.Reader) error {
	obj := &unstructured.Unstructured{}
	if err := json.NewDecoder(content).Decode(&obj.Object); err != nil {
		return fmt.Errorf("reading %s in the backup of Velero: %w", name, err)
	}
	kind := obj.GroupVersionKind()
	if b.objects[kind] == nil {
		b.objects[kind] = map[client.ObjectKey]map[string]any{}
	}
	b.objects[kind][client.ObjectKeyFromObject(obj)] = obj.Object
	return nil
}

// Get returns an object of the backup.
func (b *Backup) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(into, b.scheme)
	if err != nil {
		return err
	}
	found, exists := b.objects[kind][key]
	if !exists {
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
	}
	return fill(into, found)
}

// List returns the objects of a kind in a namespace.
func (b *Backup) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	if o.LabelSelector != nil || o.FieldSelector != nil || o.Namespace == "" {
		return errors.New("a backup of Velero can be listed by namespace only")
	}
	kind, err := apiutil.GVKForObject(into, b.scheme)
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	items := []any{}
	for key, obj := range b.objects[kind] {
		if key.Namespace == o.Namespace {
			items = append(items, obj)
		}
	}
	apiVersion, listKind := kind.GroupVersion().String(), kind.Kind+"List"
	return fill(into, map[string]any{"apiVersion": apiVersion, "kind": listKind, "items": items})
}

// fill copies an object.
func fill(into any, content map[string]any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if u, ok := into.(*unstructured.UnstructuredList); ok {
		return u.UnmarshalJSON(text)
	}
	if u, ok := into.(*unstructured.Unstructured); ok {
		return u.UnmarshalJSON(text)
	}
	value := reflect.ValueOf(into).Elem()
	value.SetZero()
	return json.Unmarshal(text, into)
}
