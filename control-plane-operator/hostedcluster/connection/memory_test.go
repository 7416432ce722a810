package connection

import (
	"testing"

	"k8s.io/client-go/tools/events"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestEachTypeHasAMemoryOfItsOwn(t *testing.T) {
	type numbers map[string]int
	type count int
	c := &Cluster{}
	*Memory[numbers](c) = numbers{"a": 1}
	*Memory[count](c)++
	*Memory[count](c)++
	if n, k := *Memory[numbers](c), *Memory[count](c); n["a"] != 1 || k != 2 {
		t.Errorf("remembers %v and %d", n, k)
	}
	if k := *Memory[count](&Cluster{}); k != 0 {
		t.Errorf("another connection remembers %d", k)
	}
}

func TestAnEventIsRecordedOncePerSubject(t *testing.T) {
	recorder, hcp, c := events.NewFakeRecorder(10), &hyperv1.HostedControlPlane{}, &Cluster{}
	for _, subject := range []string{"1", "1", "2"} {
		c.RecordOnce(recorder, hcp, "Reason", "Action", subject, "revision %s, 100%%", subject)
	}
	c.RecordOnce(recorder, hcp, "Other", "Action", "2", "another reason")
	close(recorder.Events)
	var got []string
	for e := range recorder.Events {
		got = append(got, e)
	}
	if len(got) != 3 || got[1] != "Warning Reason revision 2, 100%" {
		t.Errorf("recorded %q", got)
	}
}
