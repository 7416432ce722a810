// Package discovery tells which kinds a management cluster does not have.
package discovery

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// MissingKinds names those of the wanted kinds that there are not; "" if there are
// all. To watch one of them would stop this operator, which has other things to
// do. What cannot be asked just now counts as there.
func MissingKinds(mapper meta.RESTMapper, scheme *runtime.Scheme, wanted ...client.Object) string {
	var missing []string
	for _, obj := range wanted {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		if err == nil {
			_, err = mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		}
		if meta.IsNoMatchError(err) {
			missing = append(missing, gvk.Kind+"."+gvk.Version+"."+gvk.Group)
		}
	}
	return strings.Join(missing, ", ")
}
