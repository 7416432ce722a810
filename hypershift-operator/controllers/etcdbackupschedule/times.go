package etcdbackupschedule

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const (
	// defaultJitter is the default of spec.jitter.
	defaultJitter = 30 * time.Minute
	// grace is how long after its turn a cluster may be without a backup.
	grace = time.Hour
	// shortest is the shortest time between two backups.
	shortest = 5 * time.Minute
	// searched is how far back the last scheduled time is searched: further than the rarest expression, a 29 February.
	searched = 9 * 366 * 24 * time.Hour
)

// times are the scheduled times of an EtcdBackupSchedule.
type times struct {
	schedule cron.Schedule
	jitter   time.Duration
}

// parse reads the times of a schedule. The error has what to change.
func parse(spec *hyperv1.EtcdBackupScheduleSpec, now time.Time) (*times, error) {
	if strings.Contains(spec.Schedule, "TZ=") {
		return nil, fmt.Errorf("spec.schedule %q has a time zone: move it to spec.timeZone", spec.Schedule)
	}
	zone, err := time.LoadLocation(spec.TimeZone)
	if err != nil || spec.TimeZone == "Local" {
		return nil, fmt.Errorf("spec.timeZone %q is not a time zone: write a name such as Europe/Berlin", spec.TimeZone)
	}
	parsed, err := cron.ParseStandard(spec.Schedule)
	if err != nil {
		return nil, fmt.Errorf("spec.schedule %q is not a cron expression: write five fields such as \"0 3 * * *\": %w", spec.Schedule, err)
	}
	if _, every := parsed.(cron.ConstantDelaySchedule); every {
		return nil, fmt.Errorf("spec.schedule %q has no fixed times: write five fields such as \"0 */6 * * *\"", spec.Schedule)
	}
	t := &times{schedule: inZone{parsed, zone}}
	first := t.schedule.Next(now)
	if first.IsZero() {
		return nil, fmt.Errorf("spec.schedule %q has no time in the next years", spec.Schedule)
	}
	interval := t.schedule.Next(first).Sub(first)
	if interval < shortest {
		return nil, fmt.Errorf("spec.schedule %q makes backups more often than every %s", spec.Schedule, shortest)
	}
	t.jitter = min(defaultJitter, interval/2)
	if spec.Jitter != nil {
		if t.jitter = spec.Jitter.Duration; t.jitter < 0 || t.jitter >= interval {
			return nil, fmt.Errorf("spec.jitter %s is not between 0s and %s, the time between two backups", t.jitter, interval)
		}
	}
	return t, nil
}

// inZone is a schedule in a time zone.
type inZone struct {
	cron.Schedule
	zone *time.Location
}

func (s inZone) Next(after time.Time) time.Time { return s.Schedule.Next(after.In(s.zone)) }

// last returns the last scheduled time that is not after now, or the zero time.
func (t *times) last(now time.Time) time.Time {
	// The search begins closer and closer to now until it finds a time.
	for back := time.Hour; back <= searched; back *= 4 {
		var last time.Time
		for next := t.schedule.Next(now.Add(-back)); !next.IsZero() && !next.After(now); next = t.schedule.Next(next) {
			last = next
		}
		if !last.IsZero() {
			return last
		}
	}
	return time.Time{}
}

// offset is the share of the jitter of a cluster. It is the same each time.
func (t *times) offset(clusterUID string) time.Duration {
	if t.jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(clusterUID))
	return time.Duration(h.Sum64() % uint64(t.jitter)).Truncate(time.Second) //nolint:gosec // less than the jitter
}
