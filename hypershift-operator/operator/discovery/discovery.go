// Package discovery finds kinds that the management cluster does not serve.
package discovery

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// MissingKinds returns the kinds that the API server does not serve, "" for none. A
// watch of such a kind would stop the operator. A kind that could not be determined
// counts as served.
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
