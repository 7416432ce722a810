package sleep

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the image has no time zones

	"github.com/robfig/cron/v3"
)

// example is shown for a schedule that cannot be used.
const example = `"0 20 * * 1-5; 0 7 * * 1-5; Europe/Berlin": when to fall asleep, when to wake, and the time zone`

// A Schedule is when a cluster falls asleep and when it wakes.
type Schedule struct {
	sleep, wake cron.Schedule
	zone        *time.Location
}

// ParseSchedule parses the value of hyperv1.SleepScheduleAnnotation.
func ParseSchedule(text string) (Schedule, error) {
	parts := strings.Split(text, ";")
	if len(parts) != 2 && len(parts) != 3 {
		return Schedule{}, fmt.Errorf("it has %d parts; write %s", len(parts), example)
	}
	s := Schedule{zone: time.UTC}
	for i, into := range []*cron.Schedule{&s.sleep, &s.wake} {
		expression := strings.TrimSpace(parts[i])
		if strings.Contains(expression, "TZ=") { // the parser would accept it, and the other expression could have another
			return Schedule{}, fmt.Errorf("the time zone is the last part; write %s", example)
		}
		parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(expression)
		if err != nil {
			return Schedule{}, fmt.Errorf("%q is no cron expression: %w; write %s", expression, err, example)
		}
		if parsed.Next(epoch).IsZero() {
			return Schedule{}, fmt.Errorf("%q never occurs; write %s", expression, example)
		}
		*into = parsed
	}
	if len(parts) == 3 {
		name := strings.TrimSpace(parts[2])
		zone, err := time.LoadLocation(name)
		if err != nil || name == "" || name == "Local" {
			return Schedule{}, fmt.Errorf("there is no time zone %q; write %s", name, example)
		}
		s.zone = zone
	}
	return s, nil
}

// epoch is any time, to find out whether an expression ever occurs.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// At reports whether the schedule lets the cluster sleep at the time now, and how long it stays so, 0 for years. The last event decides, so
// that an operator that did not run at the time follows it later. Of two events at the same time, waking counts.
func (s Schedule) At(now time.Time) (asleep bool, remaining time.Duration) {
	local := now.In(s.zone)
	asleep = last(s.sleep, local).After(last(s.wake, local))
	other := s.sleep
	if asleep {
		other = s.wake
	}
	if next := other.Next(local); !next.IsZero() {
		remaining = next.Sub(now)
	}
	return asleep, remaining
}

// windows are how far the last event is searched for, from short to long: an expression for each minute has many events in a
// year, and an expression for February 29 has none for eight years around 2100.
var windows = []time.Duration{time.Hour, 25 * time.Hour, 32 * 24 * time.Hour, 367 * 24 * time.Hour, 9 * 366 * 24 * time.Hour}

// last returns the last event that is not after now. It is zero if there is none.
func last(s cron.Schedule, now time.Time) time.Time {
	for _, window := range windows {
		var found time.Time
		for at := s.Next(now.Add(-window)); !at.IsZero() && !at.After(now); at = s.Next(at) {
			found = at
		}
		if !found.IsZero() {
			return found
		}
	}
	return time.Time{}
}
