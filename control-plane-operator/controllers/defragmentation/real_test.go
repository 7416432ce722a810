package defragmentation

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/fixture/etcdserver"
)

// real is one member on loopback with any name.
type real struct {
	*clientv3.Client
	url string
}

func (r real) Status(ctx context.Context, _ string) (*clientv3.StatusResponse, error) {
	return r.Client.Status(ctx, r.url)
}

func (r real) Defragment(ctx context.Context, _ string) (*clientv3.DefragmentResponse, error) {
	return r.Client.Defragment(ctx, r.url)
}

func (r real) Close() error { return nil }

func TestDefragmentationShrinksARealDatabase(t *testing.T) {
	server := etcdserver.New(t, "etcd-0")
	server.Alone()
	etcd := real{etcdserver.Connect(t, server), server.ClientURL}
	fillAndEmpty(t, etcd)

	e := newFakeMembers(t)
	e.hcp.Spec.ControllerAvailabilityPolicy = hyperv1.SingleReplica
	e.connect = func(context.Context, *hyperv1.HostedControlPlane) (API, error) { return etcd, nil }
	before, err := etcd.Status(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	e.pass()
	e.pass()
	after, err := etcd.Status(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if before.DbSize < least || after.DbSize > before.DbSize/10 {
		t.Errorf("the database had %d MiB and has %d", before.DbSize/mib, after.DbSize/mib)
	}
	if after.DbSizeQuota == 0 {
		t.Error("etcd does not say how large its database may become")
	}
}

// fillAndEmpty creates a database with only free pages.
func fillAndEmpty(t *testing.T, c real) {
	t.Helper()
	big := strings.Repeat("x", 1<<20)
	for i := range least/len(big) + 20 {
		if _, err := c.Put(t.Context(), fmt.Sprintf("key-%d", i), big); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := c.Delete(t.Context(), "key-", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compact(t.Context(), gone.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// etcd reports it after the next commit.
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		status, err := c.Status(ctx, "")
		return err == nil && status.DbSizeInUse < mib, err
	})
	if err != nil {
		t.Fatal(err)
	}
}
