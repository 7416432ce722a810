package index

import "sigs.k8s.io/controller-runtime/pkg/client"

// Older reports whether a was created before b. Of several objects that need the
// same exclusive resource, the oldest gets it.
func Older(a, b client.Object) bool {
	was, is := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if was.Equal(&is) {
		return a.GetUID() < b.GetUID()
	}
	return was.Before(&is)
}
