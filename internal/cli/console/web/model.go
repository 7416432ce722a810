package web

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/cost"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/fleet"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/timeline"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
)

// settleTime is how long changes are collected before pages are made: a rollout changes many objects within a moment.
const settleTime = 100 * time.Millisecond

// Source has the objects of hosted clusters: a watch.Store.
type Source interface {
	Subscribe() *watch.Subscription
	Keys(ctx context.Context) ([]types.NamespacedName, error)
	// Cluster and Detailed return nil if the cluster does not exist. The objects must not be changed.
	Cluster(ctx context.Context, key types.NamespacedName) (*watch.Cluster, error)
	Detailed(ctx context.Context, key types.NamespacedName) (*watch.Cluster, error)
	Lanes(cluster types.NamespacedName) []timeline.Lane
	Health() watch.Health
}

// Model has the rows of all clusters of a Source, and wakes pages when clusters change.
type Model struct {
	Source
	prices *cost.Estimator

	mu    sync.Mutex
	rows  map[types.NamespacedName]fleet.Row
	pages map[*pageWatch]bool
}

// pageWatch collects the clusters that a live page has not shown yet.
type pageWatch struct {
	changed map[types.NamespacedName]bool
	signal  chan struct{}
}

// NewModel returns the Model of a source. It follows the source until ctx ends.
func NewModel(ctx context.Context, source Source) (*Model, error) {
	prices, err := cost.New()
	if err != nil {
		return nil, err
	}
	m := &Model{Source: source, prices: prices, rows: map[types.NamespacedName]fleet.Row{}, pages: map[*pageWatch]bool{}}
	changes := source.Subscribe()
	keys, err := source.Keys(ctx)
	if err != nil {
		return nil, err
	}
	all := map[types.NamespacedName]bool{}
	for _, key := range keys {
		all[key] = true
	}
	m.update(ctx, all)
	go m.follow(ctx, changes)
	return m, nil
}

func (m *Model) follow(ctx context.Context, changes *watch.Subscription) {
	defer changes.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes.Changed():
		}
		settled := time.NewTimer(settleTime)
		select {
		case <-ctx.Done():
			settled.Stop()
			return
		case <-settled.C:
		}
		m.update(ctx, changes.Take())
	}
}

// update makes the rows of clusters again.
func (m *Model) update(ctx context.Context, changed map[types.NamespacedName]bool) {
	rows := map[types.NamespacedName]*fleet.Row{}
	for key := range changed {
		c, err := m.Cluster(ctx, key)
		if err != nil {
			continue // the source ends
		}
		rows[key] = nil
		if c != nil {
			row := m.rowOf(c)
			rows[key] = &row
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, row := range rows {
		if row == nil {
			delete(m.rows, key)
		} else {
			m.rows[key] = *row
		}
	}
	for p := range m.pages {
		maps.Copy(p.changed, changed)
		select {
		case p.signal <- struct{}{}:
		default:
		}
	}
}

func (m *Model) rowOf(c *watch.Cluster) fleet.Row {
	row := fleet.RowOf(c.Objects)
	estimate := m.prices.Of(c.Objects)
	row.DollarsPerDay, row.AtLeast = estimate.DollarsPerDay, !estimate.Complete
	for i := range c.Backups {
		if t := c.Backups[i].Status.CompletionTime; t != nil && t.After(row.LastBackup) && meta.IsStatusConditionTrue(c.Backups[i].Status.Conditions, string(hyperv1.BackupCompleted)) {
			row.LastBackup = t.Time
		}
	}
	if succeeded := meta.FindStatusCondition(c.HostedCluster.Status.Conditions, hyperv1.EtcdBackupSucceeded); succeeded != nil {
		row.BackupFailed = succeeded.Status == metav1.ConditionFalse
	}
	return row
}

// Rows returns the rows of all clusters.
func (m *Model) Rows() []fleet.Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.rows))
}

func (m *Model) watchPage() *pageWatch {
	p := &pageWatch{changed: map[types.NamespacedName]bool{}, signal: make(chan struct{}, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pages[p] = true
	return p
}

func (m *Model) unwatchPage(p *pageWatch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pages, p)
}

func (m *Model) take(p *pageWatch) map[types.NamespacedName]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := p.changed
	p.changed = map[types.NamespacedName]bool{}
	return changed
}
