package nodejoin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instance"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// interval is the time between two examinations of a machine. EC2 allows few calls of GetConsoleOutput, and an
	// answer has up to 64 KiB.
	interval = 5 * time.Minute
	// atOnce is how many machines are examined in one reconcile. A cause that more machines have is known by then.
	atOnce = 10
	// retryAfter is how soon the calls are repeated that AWS did not answer.
	retryAfter = time.Minute
	// maxFindings is the largest number of machines in the status. The CRD sets the same limit.
	maxFindings = 20
	// maxMessage is the length of a message in the status. The CRD has twice this limit.
	maxMessage = 512
)

// A finding is the knowledge about a late machine.
type finding struct {
	at              time.Time
	reason, message string
}

// examine finds out why the late machines do not join. It examines each machine again after the interval, those first that
// have waited longest.
func (r *Reconciler) examine(ctx context.Context, s *scope) error {
	var due []machine
	for _, m := range s.late {
		if remaining := r.known[m.uid].at.Add(interval).Sub(r.Clock.Now()); remaining > 0 {
			s.comeBack(remaining)
		} else {
			due = append(due, m)
		}
	}
	if len(due) == 0 {
		return nil
	}
	slices.SortStableFunc(due, func(a, b machine) int { return r.known[a.uid].at.Compare(r.known[b.uid].at) })
	if len(due) > atOnce {
		due = due[:atOnce]
		s.comeBack(interval)
	}
	if err := r.KeyReady(ctx); err != nil {
		return reconcile.Wait(retryAfter, hyperv1.WaitingForSigningKeyReason, "%s", awsx.Message(err))
	}
	api, err := r.Instances(ctx, s.hcp)
	if err != nil {
		return reconcile.Wait(retryAfter, awsx.Reason(err), "%s", awsx.Message(err))
	}
	var ids []string
	for _, m := range due {
		ids = append(ids, m.instance)
	}
	statuses, statusErr := instance.Statuses(ctx, api, ids)
	if awsx.IsTransient(statusErr) {
		return reconcile.Wait(retryAfter, awsx.Reason(statusErr), "%s", awsx.Message(statusErr))
	}
	for _, m := range due {
		found, err := r.examineOne(ctx, api, m, statuses, statusErr)
		if err != nil {
			return reconcile.Wait(retryAfter, awsx.Reason(err), "%s", awsx.Message(err))
		}
		found.at, found.message = r.Clock.Now(), cut(found.message, maxMessage)
		r.known[m.uid] = found
		s.comeBack(interval)
	}
	return nil
}

// examineOne determines the cause of one machine, from the outside in: the instance, the API server's answer, the machine's
// report. It returns an error if AWS did not answer.
func (r *Reconciler) examineOne(ctx context.Context, api instance.API, m machine, statuses map[string]instance.Status, statusErr error) (finding, error) {
	status, exists := statuses[m.instance]
	switch {
	case statusErr == nil && !exists:
		return finding{reason: hyperv1.NodePoolInstanceNotRunningReason, message: "EC2 has no instance " + m.instance}, nil
	case exists && !status.Running():
		return finding{reason: hyperv1.NodePoolInstanceNotRunningReason, message: "the instance is " + status.State}, nil
	}
	if refusal := r.Refused(m.name); refusal != "" {
		return finding{reason: hyperv1.NodePoolNodeRefusedReason, message: "its certificate request is not approved: " + refusal}, nil
	}
	console, err := instance.Console(ctx, api, m.instance)
	if awsx.IsTransient(err) {
		return finding{}, err
	}
	said, lines := parseConsole(console)
	switch {
	case said != nil && reasons[said.reason] != "":
		return finding{reason: reasons[said.reason], message: "the machine reports " + join(said)}, nil
	case status.SystemImpaired:
		return finding{reason: hyperv1.NodePoolInstanceImpairedReason, message: "the system status check of EC2 fails: the host of the instance has a problem"}, nil
	case status.InstanceImpaired:
		return finding{reason: hyperv1.NodePoolInstanceImpairedReason, message: "the instance status check of EC2 fails: the operating system does not respond" + ending(lines)}, nil
	case err != nil:
		return finding{reason: hyperv1.NodePoolNodeNotJoinedReason, message: "it has not joined, and its console cannot be read: " + awsx.Message(err)}, nil
	case said != nil:
		return finding{reason: hyperv1.NodePoolNodeNotJoinedReason, message: "the machine reports " + join(said)}, nil
	case len(lines) == 0:
		return finding{reason: hyperv1.NodePoolInstanceNotBootedReason, message: "the instance runs, and its console is empty"}, nil
	}
	return finding{reason: hyperv1.NodePoolNodeNotJoinedReason, message: "the instance runs, and has not joined" + ending(lines)}, nil
}

func join(said *report) string {
	if said.message == "" {
		return said.reason
	}
	return said.reason + `: "` + said.message + `"`
}

// ending quotes the last lines of a console.
func ending(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf(`. Its console ends with "%s"`, strings.Join(lines, " | "))
}

// found returns the findings for the status, in the order of names. A machine that is not examined yet keeps the finding of
// the former process.
func (r *Reconciler) found(s *scope) []hyperv1.MachineWithoutNode {
	before := map[string]hyperv1.MachineWithoutNode{}
	for _, m := range s.hcp.Status.MachinesWithoutNode {
		before[m.Name] = m
	}
	var all []hyperv1.MachineWithoutNode
	for _, m := range s.late {
		if found, exists := r.known[m.uid]; exists {
			all = append(all, hyperv1.MachineWithoutNode{Name: m.name, Reason: found.reason, Message: found.message})
		} else if kept, had := before[m.name]; had {
			all = append(all, kept)
		}
	}
	all = all[:min(len(all), maxFindings)]
	slices.SortFunc(all, func(a, b hyperv1.MachineWithoutNode) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
