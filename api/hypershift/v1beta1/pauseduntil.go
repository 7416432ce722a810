package v1beta1

import (
	"strings"
	"time"
)

// PausedUntil stops changes to an object: "true" until it is taken away, "false" not at all, or a time in RFC 3339
// until that time. The rule accepts nothing that Paused cannot read: a word that looks like a pause but is none would
// let changes through that its author wanted stopped.
//
// +kubebuilder:validation:MaxLength=35
// +kubebuilder:validation:XValidation:rule="self.matches('^(true|True|TRUE|false|False|FALSE)$') || self.matches('^([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$')",message="pausedUntil must be true, false, or a time in RFC 3339 with a time zone, such as 2030-01-31T12:00:00Z"
type PausedUntil string

// Paused says whether changes are stopped at the time now, and for how much longer (zero: until the word is taken away).
// A value that cannot be read, which only a writer past validation can leave, pauses: someone meant to stop something.
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
