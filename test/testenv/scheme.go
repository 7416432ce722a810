package testenv

import (
	"os"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Scheme returns a scheme with the types of this project, core types, and others. It should contain only the types that a test needs: the
// fake API server goes through all of it for every write.
func Scheme(others ...func(*runtime.Scheme) error) *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range append(others, corev1.AddToScheme, hyperv1.AddToScheme, certificatesv1alpha1.AddToScheme) {
		utilruntime.Must(add(s))
	}
	return s
}

// defaultScheme is built once.
var defaultScheme = sync.OnceValue(func() *runtime.Scheme { return Scheme() })

// inRepository returns the path of a directory of this repository.
func inRepository(directory string) string {
	root, err := os.Getwd()
	utilruntime.Must(err)
	for {
		if path := filepath.Join(root, directory); isDirectory(path) {
			return path
		}
		parent := filepath.Dir(root)
		if parent == root {
			panic("there is no directory " + directory + " above the test")
		}
		root = parent
	}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
