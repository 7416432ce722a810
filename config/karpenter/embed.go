// Package karpenter embeds the CRDs of Karpenter, which the control-plane-operator applies to hosted clusters with nodes on demand.
// hack/externalcrds writes them.
package karpenter

import (
	"embed"
	"io/fs"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// CRDs returns the CustomResourceDefinitions. They are parsed once and must not be changed.
var CRDs = sync.OnceValue(func() []*unstructured.Unstructured {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic(err)
	}
	var all []*unstructured.Unstructured
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		crd := &unstructured.Unstructured{}
		if err == nil {
			err = yaml.Unmarshal(text, &crd.Object)
		}
		if err != nil {
			panic("config/karpenter/" + e.Name() + ": " + err.Error())
		}
		all = append(all, crd)
	}
	return all
})
