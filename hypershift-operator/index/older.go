package index

import "sigs.k8s.io/controller-runtime/pkg/client"

// Older says whether a was there before b. Of several objects that want what
// only one can have, the oldest gets it.
func Older(a, b client.Object) bool {
	was, is := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if was.Equal(&is) {
		return a.GetUID() < b.GetUID()
	}
	return was.Before(&is)
}
