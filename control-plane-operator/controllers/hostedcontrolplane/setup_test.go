package hostedcontrolplane

import (
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

func TestAdmissionOfARouteTriggersNothing(t *testing.T) {
	route := func(version, host string, routers ...string) *routev1.Route {
		r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version}, Spec: routev1.RouteSpec{Host: host}}
		for _, name := range routers {
			r.Status.Ingress = append(r.Status.Ingress, routev1.RouteIngress{RouterName: name, Host: host})
		}
		return r
	}
	for name, c := range map[string]struct {
		before, after *routev1.Route
		want          bool
	}{
		"our router admits it":             {route("1", "a.example.com"), route("2", "a.example.com", names.Router), false},
		"that of the cluster admits it":    {route("1", "a.example.com"), route("2", "a.example.com", "default"), true},
		"someone removes our admission":    {route("1", "a.example.com", names.Router), route("2", "a.example.com"), true},
		"its host changes":                 {route("1", "a.example.com", names.Router), route("2", "b.example.com", names.Router), true},
		"another router admits it as well": {route("1", "a.example.com", names.Router), route("2", "a.example.com", names.Router, "default"), false},
	} {
		if got := notAdmitted().Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: it triggers a reconcile: %v", name, got)
		}
	}
}
