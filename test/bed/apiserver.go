package bed

import (
	"context"
	"errors"
	"path/filepath"
)

// Another is what one more kube-apiserver on this machine needs.
type Another struct {
	Program string // path of kube-apiserver
	Etcd    string // URL; whoever shares it takes a prefix of its own
}

// Another says how to run one more kube-apiserver beside that of the management cluster.
func (b *Bed) Another(ctx context.Context) (Another, error) {
	if b.plane == nil {
		return Another{}, errors.New("an existing cluster does not lend its etcd to another API server")
	}
	dir, err := assets(ctx, b.progress)
	return Another{Program: filepath.Join(dir, "kube-apiserver"), Etcd: b.plane.Etcd.URL.String()}, err
}
