package member

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hosted-control-planes/hypershift/test/fixture/etcdserver"
)

func TestLostVolumeIsReplaced(t *testing.T) {
	var members []*etcdserver.Server
	var peers []peer
	var all []string
	for i := range 3 {
		m := etcdserver.New(t, fmt.Sprintf("etcd-%d", i))
		members, peers, all = append(members, m), append(peers, peer{m.Name, m.PeerURL}), append(all, m.Name+"="+m.PeerURL)
	}
	for _, m := range members {
		m.Start(strings.Join(all, ","), "new")
	}
	for _, m := range members {
		m.Ready()
	}
	lost, left := members[2], etcdserver.Connect(t, members[0], members[1])
	if _, err := left.Put(t.Context(), "key", "kept by the others"); err != nil {
		t.Fatal(err)
	}
	lost.Kill()
	if err := os.RemoveAll(lost.Data); err != nil {
		t.Fatal(err)
	}

	// As the init container does, until etcd accepts it: a new leader rejects changes for some time.
	var initial string
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var why error
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		initial, why = join(ctx, left, peers[2], peers)
		return why == nil, nil
	})
	if err != nil {
		t.Fatal(why)
	}
	lost.Start(initial, "existing")
	lost.Ready()

	got, err := etcdserver.Connect(t, lost).Get(t.Context(), "key", clientv3.WithSerializable()) // from its own data
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "kept by the others" {
		t.Errorf("the member that came back has %v, %v", got, err)
	}
	list, err := left.MemberList(t.Context())
	if err != nil || len(list.Members) != 3 {
		t.Errorf("the cluster is %v, %v", list, err)
	}
}
