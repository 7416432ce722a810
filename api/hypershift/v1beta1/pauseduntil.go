package v1beta1

import (
	"strings"
	"time"
)

// PausedUntil stops changes to an object: "true" until it is removed, "false" not at all, or a time in RFC 3339 until
// that time. The validation rule accepts only values that Paused can parse. Otherwise a misspelled pause would permit
// changes that the user wanted to stop.
//
// +kubebuilder:validation:MaxLength=35
// +kubebuilder:validation:XValidation:rule="self.matches('^(true|True|TRUE|false|False|FALSE)$') || self.matches('^([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$')",message="pausedUntil must be true, false, or a time in RFC 3339 with a time zone, such as 2030-01-31T12:00:00Z"
type PausedUntil string

// Paused reports whether changes are stopped at the time now, and for how much longer (zero: until the value is
// removed). A value that cannot be parsed, which was written without validation, is a pause, because the user wanted
// to stop changes.
func (p *PausedUntil) Paused(now time.Time) (paused bool, remaining time.Duration) {
	if p == nil || *p == "" || strings.EqualFold(string(*p), "false") {
		return false, 0
	}
	until, err := time.Parse(time.RFC3339, string(*p))
	if err != nil {
		return true, 0
	}
	if !now.Before(until) {
		return false, 0
	}
	return true, until.Sub(now)
}
