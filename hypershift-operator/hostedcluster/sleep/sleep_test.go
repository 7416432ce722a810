package sleep

import (
	"strings"
	"testing"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

// November 27, 2026, is a Friday.
func TestTheLastEventOfAScheduleDecides(t *testing.T) {
	const weekdays = "0 20 * * 1-5; 0 7 * * 1-5"
	for name, tc := range map[string]struct {
		schedule, now string
		asleep        bool
		remaining     time.Duration
	}{
		"on a weekday":                         {weekdays, "2026-11-26 12:00", false, 8 * time.Hour},
		"in the night":                         {weekdays, "2026-11-26 23:00", true, 8 * time.Hour},
		"exactly when it falls asleep":         {weekdays, "2026-11-26 20:00", true, 11 * time.Hour},
		"exactly when it wakes":                {weekdays, "2026-11-27 07:00", false, 13 * time.Hour},
		"at the weekend":                       {weekdays, "2026-11-28 12:00", true, 43 * time.Hour},
		"in a time zone":                       {weekdays + "; Europe/Berlin", "2026-11-26 19:30", true, 10*time.Hour + 30*time.Minute},
		"before the clocks change":             {"0 20 * * *; 0 7 * * *; Europe/Berlin", "2026-03-28 19:00", true, 10 * time.Hour},
		"waking more often":                    {"0 20 * * 5; 0 7 * * 1-5", "2026-11-24 12:00", false, 80 * time.Hour},
		"both at the same time":                {"0 7 * * *; 0 7 * * *", "2026-11-26 12:00", false, 19 * time.Hour},
		"in the summer only":                   {"0 0 1 6 *; 0 0 1 9 *", "2026-07-01 00:00", true, 62 * 24 * time.Hour},
		"on a day that most years do not have": {"0 0 29 2 *; 0 0 1 1 *", "2026-11-26 00:00", false, at("2028-02-29 00:00").Sub(at("2026-11-26 00:00"))},
	} {
		s, err := ParseSchedule(tc.schedule)
		if err != nil {
			t.Fatal(err)
		}
		asleep, remaining := s.At(at(tc.now))
		if asleep != tc.asleep || remaining != tc.remaining {
			t.Errorf("%s: asleep %v for %v, want %v for %v", name, asleep, remaining, tc.asleep, tc.remaining)
		}
	}
}

func TestASchedulesFaultIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"0 20 * * 1-5":                                  "it has 1 parts",
		"0 20 * * 1-5; at dawn":                         `"at dawn" is no cron expression`,
		"0 25 * * 1-5; 0 7 * * 1-5":                     `"0 25 * * 1-5" is no cron expression`,
		"0 20 30 2 *; 0 7 * * 1-5":                      `"0 20 30 2 *" never occurs`,
		"0 20 * * 1-5; 0 7 * * 1-5; Europe/Berlim":      `there is no time zone "Europe/Berlim"`,
		"0 20 * * 1-5; 0 7 * * 1-5; Local":              `there is no time zone "Local"`,
		"0 20 * * 1-5; 0 7 * * 1-5; ":                   `there is no time zone ""`,
		"CRON_TZ=Europe/Berlin 0 20 * * *; 0 7 * * 1-5": "the time zone is the last part",
		"@every 1h; 0 7 * * 1-5":                        `"@every 1h" is no cron expression`,
	} {
		if _, err := ParseSchedule(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), example) {
			t.Errorf("%q: %v, want %q and the example", text, err, want)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add("0 20 * * 1-5; 0 7 * * 1-5; Europe/Berlin", int64(0))
	f.Fuzz(func(t *testing.T, text string, now int64) {
		s, err := ParseSchedule(text)
		if err != nil {
			return
		}
		if _, remaining := s.At(time.Unix(now%(1<<33), 0)); remaining < 0 {
			t.Errorf("%q at %d: %v remain", text, now, remaining)
		}
	})
}

func TestPhases(t *testing.T) {
	const (
		awake, removing, asleep, waking = hyperv1.SleepPhaseAwake, hyperv1.SleepPhaseRemovingMachines, hyperv1.SleepPhaseAsleep, hyperv1.SleepPhaseWaking

		schedule = "0 20 * * 1-5; 0 7 * * 1-5"
	)
	sleepAnnotations := func(values ...string) map[string]string {
		keys := []string{hyperv1.SleepAnnotation, hyperv1.SleepScheduleAnnotation, hyperv1.SleepMachinesAnnotation, hyperv1.SleepLoadBalancersAnnotation}
		out := map[string]string{}
		for i, value := range values {
			out[keys[i]] = value
		}
		return out
	}
	up := Facts{Initialized: true, Ready: true, Machines: true}
	for name, tc := range map[string]struct {
		annotations map[string]string
		facts       Facts
		phase, want hyperv1.SleepPhase
		fault       string
	}{
		"without annotations it is awake":                     {nil, up, awake, awake, ""},
		"by hand it falls asleep, and machines are kept":      {sleepAnnotations("true"), up, awake, asleep, ""},
		"machines are deleted first":                          {sleepAnnotations("true", "", "Delete"), up, awake, removing, ""},
		"without a machine left it falls asleep":              {sleepAnnotations("true", "", "Delete"), Facts{Initialized: true, Ready: true}, removing, asleep, ""},
		"a new machine does not wake it":                      {sleepAnnotations("true", "", "Delete"), up, asleep, asleep, ""},
		"the user calls it off while machines are deleted":    {sleepAnnotations("false", "", "Delete"), up, removing, awake, ""},
		"a cluster that has never been up is not interrupted": {sleepAnnotations("true"), Facts{}, awake, awake, ""},
		"by hand it wakes":                                    {sleepAnnotations("false", schedule), Facts{Initialized: true}, asleep, waking, ""},
		"it wakes until the API server is ready":              {sleepAnnotations("false"), Facts{Initialized: true}, waking, waking, ""},
		"then it is awake":                                    {sleepAnnotations("false"), up, waking, awake, ""},
		"it can fall asleep while it wakes":                   {sleepAnnotations("true"), Facts{Initialized: true}, waking, asleep, ""},
		"without annotations it wakes":                        {nil, Facts{Initialized: true}, asleep, waking, ""},
		"by schedule it falls asleep":                         {sleepAnnotations("", schedule), up, awake, asleep, ""},
		"by hand it stays awake":                              {sleepAnnotations("false", schedule), up, awake, awake, ""},
		"an invalid value leaves it awake":                    {sleepAnnotations("yes", schedule), up, awake, awake, `sleep is "yes": write "true" or "false", or remove it`},
		"an invalid value leaves it asleep":                   {sleepAnnotations("yes"), Facts{Initialized: true}, asleep, asleep, `sleep is "yes"`},
		"an invalid schedule leaves it asleep":                {sleepAnnotations("", "soon"), Facts{Initialized: true}, asleep, asleep, `sleep-schedule is "soon": it has 1 parts`},
		"an invalid schedule does not count by hand":          {sleepAnnotations("true", "soon"), up, awake, asleep, ""},
		"an invalid choice keeps it awake":                    {sleepAnnotations("true", "", "Stop"), up, awake, awake, `sleep-machines is "Stop": write Keep or Delete`},
		"an invalid choice does not keep it asleep":           {sleepAnnotations("false", "", "", "No"), Facts{Initialized: true}, asleep, waking, `sleep-load-balancers is "No"`},
		"an invalid choice does not wake it":                  {sleepAnnotations("", schedule, "Stop"), Facts{Initialized: true}, asleep, asleep, `sleep-machines is "Stop"`},
		"an invalid choice stops the schedule":                {sleepAnnotations("", schedule, "Stop"), up, awake, awake, `sleep-machines is "Stop"`},
	} {
		f := tc.facts
		f.Annotations, f.Phase, f.Now = tc.annotations, tc.phase, at("2026-11-26 23:00")
		got := Decide(f)
		if got.Phase != tc.want || (got.Fault == "") != (tc.fault == "") || !strings.Contains(got.Fault, tc.fault) {
			t.Errorf("%s: phase %q, %q; want %q, %q", name, got.Phase, got.Fault, tc.want, tc.fault)
		}
		if wantsNext := tc.annotations[hyperv1.SleepAnnotation] == "" && tc.annotations[hyperv1.SleepScheduleAnnotation] == schedule; wantsNext != (got.Remaining == 8*time.Hour) && got.Phase != removing {
			t.Errorf("%s: decides again after %v", name, got.Remaining)
		}
		if got.Phase == removing && got.Remaining != machinesInterval {
			t.Errorf("%s: looks for machines again after %v", name, got.Remaining)
		}
	}
}
