package owned

import (
	"context"
	"strconv"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestDeletedResourcesAreForgottenWhenThereAreTooMany(t *testing.T) {
	l := New(clocktesting.NewFakePassiveClock(time.Now()), func(id string) string { return id }, func(context.Context) ([]string, error) { return nil, nil })
	if _, err := l.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxEnded {
		id := strconv.Itoa(i)
		l.Made(id)
		if i%2 == 0 {
			l.Ended(id)
		}
		l.Gone(id)
	}
	if got := l.ended.Len(); got != maxEnded || len(l.made) != 0 || len(l.items) != 0 {
		t.Errorf("it remembers %d deleted resources, %d made and %d listed, want %d, 0 and 0", got, len(l.made), len(l.items), maxEnded)
	}
	if l.Missing(strconv.Itoa(2*maxEnded - 1)) {
		t.Error("the last one that was deleted is forgotten")
	}
}
