package ledger

import (
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// An object without its finalizer, which was removed by force, is never released.
func TestObjectsThatAreNeverReleasedDoNotFillTheMemory(t *testing.T) {
	l := New(Options[*hyperv1.AWSEndpointService]{
		Clock:  clocktesting.NewFakePassiveClock(time.Unix(0, 0)),
		Object: func(es *hyperv1.AWSEndpointService) client.Object { return es },
	})
	for i := range maxObjects + 10 {
		es := &hyperv1.AWSEndpointService{}
		es.UID = types.UID(strconv.Itoa(i))
		l.Delay(es, Backoff{First: time.Second, Limit: time.Second})
	}
	if got := l.Len(); got != maxObjects {
		t.Errorf("it has %d objects, want %d", got, maxObjects)
	}
}
