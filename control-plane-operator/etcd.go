package main

import (
	"context"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/member"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/restore"
)

func decideMember(ctx context.Context, args []string) error {
	m, err := member.Parse(args)
	if err != nil {
		return err
	}
	return m.Run(ctx)
}

func fetchSnapshot(ctx context.Context, args []string) error {
	f, err := restore.Parse(args)
	if err != nil {
		return err
	}
	return f.Run(ctx)
}
