package connection

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// recorded holds the last subject with an event, by reason.
type recorded map[string]string

// RecordOnce records a warning about a control plane, unless the last one with this reason had the same subject: the UID of an
// object, or a revision.
func (c *Cluster) RecordOnce(recorder events.EventRecorder, hcp *hyperv1.HostedControlPlane, reason, action, subject, format string, args ...any) {
	last := Memory[recorded](c)
	if (*last)[reason] == subject {
		return
	}
	if *last == nil {
		*last = recorded{}
	}
	(*last)[reason] = subject
	recorder.Eventf(hcp, nil, corev1.EventTypeWarning, reason, action, "%s", fmt.Sprintf(format, args...))
}
