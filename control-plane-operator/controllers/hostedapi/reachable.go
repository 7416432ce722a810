package hostedapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

const unreachable = hyperv1.KubeAPIServerUnreachableReason

// checkPaths starts the checks of a control plane's paths in the background, and sets the condition from their
// observations. It runs before the status records that the cluster has been up.
func (r *Reconciler) checkPaths(ctx context.Context, s *scope) error {
	hcp, by := s.hcp, s.answer.kubeconfig
	if r.monitor == nil {
		s.complete = true
		return nil
	}
	s.reachable = meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.KubeAPIServerReachable)
	if !hcp.DeletionTimestamp.IsZero() {
		r.monitor.watch(client.ObjectKeyFromObject(hcp), nil, nil, false) // the load balancers are being deleted
		s.complete = true
		return nil
	}
	if hcp.Sleeps() {
		r.monitor.watch(client.ObjectKeyFromObject(hcp), nil, nil, false)
		s.reachable = &metav1.Condition{
			Type: hyperv1.KubeAPIServerReachable, Status: metav1.ConditionUnknown, Reason: hyperv1.AsleepReason, Message: component.Asleep, ObservedGeneration: hcp.Generation,
		}
		s.complete = true
		return nil
	}
	services, routes := &corev1.ServiceList{}, &routev1.RouteList{}
	if err := r.Client.List(ctx, services, client.InNamespace(hcp.Namespace)); err != nil {
		return fmt.Errorf("listing Services: %w", err)
	}
	if err := r.Client.List(ctx, routes, client.InNamespace(hcp.Namespace)); err != nil {
		return fmt.Errorf("listing Routes: %w", err)
	}
	previous := s.reachable
	paths := pathsOf(hcp, services.Items, routes.Items)
	if by.trust != nil { // without an authority there is no API server yet
		answered := previous != nil && previous.Status == metav1.ConditionTrue && !r.monitor.started()
		r.monitor.watch(client.ObjectKeyFromObject(hcp), paths, by.trust, answered)
	}
	if slices.ContainsFunc(paths, func(p path) bool { return r.monitor.observed(p).untrusted() }) {
		r.access.forget(client.ObjectKeyFromObject(hcp)) // the authority may have been renewed
	}
	c := reachableCondition(hcp, previous, paths, r.monitor.observed, r.Clock.Now())
	c.ObservedGeneration = hcp.Generation
	s.reachable, s.complete = &c, true
	return nil
}

// newBalancer is the time until the name of a new load balancer resolves and it forwards connections. A load balancer
// that has not responded by then may be unreachable from the management cluster. The condition does not become False for
// it if the API server responds inside the management cluster.
const newBalancer = 5 * time.Minute

// standing is the state of one path.
type standing int

// Standings from best to worst.
const (
	answers standing = iota
	insideOnly
	waiting
	lost
)

// stand returns the standing of an observation and describes the problem.
func stand(p path, seen observation, now time.Time) (standing, problem) {
	switch {
	case seen.answered && seen.failures < outageFailures:
		return answers, problem{}
	case seen.answered:
		return lost, problem{seen.problem.reason, fmt.Sprintf("%s: %s%s", p.name, seen.problem.message, within(p, seen))}
	case seen.checks == 0:
		return waiting, problem{hyperv1.WaitingForFirstAnswerReason, p.name + ": waiting for the first check"}
	case p.inside != "" && seen.insideProblem == nil && (p.limited || now.Sub(seen.first) >= newBalancer):
		return insideOnly, problem{hyperv1.CheckedInsideOnlyReason, fmt.Sprintf(
			"%s: %s, but the API server answers at %s: checked within the management cluster only", p.name, seen.problem.message, p.inside)}
	}
	return waiting, problem{hyperv1.WaitingForFirstAnswerReason, fmt.Sprintf("%s: %s%s", p.name, seen.problem.message, within(p, seen))}
}

// within describes the same check inside the management cluster. It distinguishes a failing load balancer from a failing
// API server.
func within(p path, seen observation) string {
	switch {
	case p.inside == "":
		return ""
	case seen.insideProblem == nil:
		return "; within the management cluster it answers"
	}
	return "; within the management cluster: " + seen.insideProblem.message
}

// reachableCondition evaluates all paths, the worst first. previous is the existing condition, or nil. A cluster that
// has never been reachable stays so until each path has responded. A cluster that has been reachable keeps its condition
// until a check ends.
func reachableCondition(hcp *hyperv1.HostedControlPlane, previous *metav1.Condition, paths []path, observed func(path) observation, now time.Time) metav1.Condition {
	c := metav1.Condition{Type: hyperv1.KubeAPIServerReachable, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "the API server answers where it is published"}
	worst, found := answers, []problem{}
	for _, p := range paths {
		seen := observed(p)
		if seen.checks == 0 && previous != nil && previous.Reason != hyperv1.WaitingForFirstAnswerReason {
			c.Status, c.Reason, c.Message = previous.Status, previous.Reason, previous.Message
			return c
		}
		s, what := stand(p, seen, now)
		worst = max(worst, s)
		if s != answers {
			found = append(found, what)
		}
	}
	if len(paths) == 0 {
		worst, found = waiting, []problem{{hyperv1.WaitingForFirstAnswerReason, "it has no load balancer or host name yet"}}
	}
	switch worst {
	case answers:
		return c
	case lost:
		c.Status = metav1.ConditionFalse
		found = slices.DeleteFunc(found, func(p problem) bool {
			return p.reason == hyperv1.WaitingForFirstAnswerReason || p.reason == hyperv1.CheckedInsideOnlyReason
		})
	case waiting:
		c.Status = metav1.ConditionUnknown
		if neverReachable(hcp, previous) {
			c.Status = metav1.ConditionFalse
		}
		found = slices.DeleteFunc(found, func(p problem) bool { return p.reason != hyperv1.WaitingForFirstAnswerReason })
	case insideOnly:
		c.Status = metav1.ConditionUnknown
	}
	c.Reason, c.Message = found[0].reason, messages(found)
	return c
}

// neverReachable is true for a cluster that has never served, neither since paths are checked nor under an older
// operator.
func neverReachable(hcp *hyperv1.HostedControlPlane, previous *metav1.Condition) bool {
	if previous == nil {
		return !hcp.Status.Initialized
	}
	return previous.Status == metav1.ConditionFalse && previous.Reason == hyperv1.WaitingForFirstAnswerReason
}

func messages(found []problem) string {
	var out []string
	for _, p := range found {
		out = append(out, p.message)
	}
	return strings.Join(out, "; ")
}
