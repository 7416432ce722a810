package component

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestTheFirstStatusOfAComponentHasAResult(t *testing.T) {
	available := State{Available: true, RolledOut: true, Version: "1"}
	starting := State{Reason: hyperv1.WaitingForRolloutCompleteReason, Message: "its pods are being started"}
	degraded := State{Reason: hyperv1.ContainerCrashedReason, Message: "out of luck", Degraded: true}
	for name, tc := range map[string]struct {
		age      time.Duration
		reported []metav1.Condition
		state    State
		want     bool
	}{
		"a component that starts is not reported at once": {time.Second, nil, starting, false},
		"a component that starts slowly is reported":      {FirstReport, nil, starting, true},
		"an available component is reported at once":      {time.Second, nil, available, true},
		"a problem is reported at once":                   {time.Second, nil, degraded, true},
		"a component that is not available any more is reported at once": {
			time.Second, available.conditions(), starting, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			written := false
			r := runner(interceptor.Funcs{SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
				written = true
				return nil
			}}, &hyperv1.ControlPlaneComponent{ObjectMeta: object("etcd")})
			c, err := r.statusOf(t.Context(), namespace, "etcd")
			if err != nil || c == nil {
				t.Fatal(c, err)
			}
			c.CreationTimestamp, c.Status.Conditions = metav1.NewTime(now.Add(-tc.age)), tc.reported
			hcp := &hyperv1.HostedControlPlane{ObjectMeta: object("demo")}
			if err := r.writeStatus(t.Context(), ControlPlane{HCP: hcp}, &part{status: c}, tc.state); err != nil || written != tc.want {
				t.Errorf("written %v, %v, want %v", written, err, tc.want)
			}
		})
	}
}
