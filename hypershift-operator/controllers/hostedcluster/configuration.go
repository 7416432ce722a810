package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/index"
	"github.com/hosted-control-planes/hypershift/internal/controlchars"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A problem is something that the user has to change.
type problem struct{ reason, message string }

func problemf(reason, format string, args ...any) problem {
	return problem{reason: reason, message: fmt.Sprintf(format, args...)}
}

// checkConfiguration refuses what cannot work, in words that say what to
// change. The CRD refuses most of it; what gets past it was written before a
// rule, or needs more than one field or object to see.
func (r *Reconciler) checkConfiguration(ctx context.Context, s *scope) error {
	if text := s.hc.Unreadable(); text != "" {
		return reconcile.Block(hyperv1.UnreadableReason, "the object has values that cannot be read; write these fields again: %s", text)
	}
	problems := append(judge(s.hc), r.checkInfraID(s.hc)...)
	problems = append(problems, r.checkLimits(s)...)
	problems = append(problems, checkEncryptionKept(s.hc, s.hcp)...)
	keys, err := r.checkEncryptionKeys(ctx, s)
	if err != nil {
		return err
	}
	problems = append(problems, keys...)
	obeyed, err := r.checkObeyed(ctx, s)
	if err != nil {
		return err
	}
	problems = append(problems, obeyed...)
	conflicts, err := r.conflicts(ctx, s)
	if err != nil {
		return err
	}
	problems = append(problems, conflicts...)
	if len(problems) == 0 {
		return nil
	}
	return reconcile.Block(problems[0].reason, "%s", messages(problems))
}

func messages(problems []problem) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.message)
	}
	return strings.Join(all, "; ")
}

// checkObeyed lists what is wrong with contents that a program of the control
// plane acts on. Once there is a good copy, that one stays in use and everything
// else goes on, so that the fault is only reported.
func (r *Reconciler) checkObeyed(ctx context.Context, s *scope) ([]problem, error) {
	var problems []problem
	for _, ref := range references(s.hc) {
		if !ref.obeyed {
			continue
		}
		_, err := r.brought(ctx, s, ref)
		var wait *reconcile.Waiting
		switch {
		case err == nil, errors.As(err, &wait) && wait.Reason != hyperv1.InvalidSecretReason:
			continue // who copies reports that there is none
		case wait == nil:
			return nil, err
		}
		copied, _, err := r.lastCopy(ctx, s, ref)
		if err != nil {
			return nil, err
		}
		p := problem{reason: wait.Reason, message: wait.Message}
		if copied != nil {
			s.refused = append(s.refused, p)
			continue
		}
		problems = append(problems, p)
	}
	return problems, nil
}

// judge lists everything that is wrong with a HostedCluster by itself.
func judge(hc *hyperv1.HostedCluster) []problem {
	var problems []problem
	for _, check := range []func(*hyperv1.HostedCluster) []problem{
		checkName, checkText, checkClusterID, checkPlatform, checkTags, checkServices, checkNetworks, checkPlacement,
		checkEtcd, checkEncryption, checkAuthentication, checkNamedCertificates, checkProxy,
	} {
		problems = append(problems, check(hc)...)
	}
	return problems
}

func checkName(hc *hyperv1.HostedCluster) []problem {
	ns := names.ControlPlaneNamespace(hc.Namespace, hc.Name)
	if names.FitsNamespace(ns) {
		return nil
	}
	return []problem{problemf(hyperv1.NameTooLongReason,
		"the control plane's namespace would be %s, which has %d characters and may have 63: choose a shorter name or namespace", ns, len(ns))}
}

// freeText are the fields that programs read as values of JSON, so that a line
// break in them is harmless, and in which people write several lines.
var freeText = []string{"configuration.authentication.oidcProviders", "configuration.proxy.noProxy"}

// checkText refuses control characters: values reach flags and files, where a
// line break could begin an option of its own.
func checkText(hc *hyperv1.HostedCluster) []problem {
	fields, err := controlchars.Fields(hc.Spec, freeText...)
	if err != nil {
		return []problem{problemf(hyperv1.InvalidConfigurationReason, "spec cannot be read: %v", err)}
	}
	var problems []problem
	for _, field := range fields {
		problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, "spec.%s has a line break or another control character: remove it", field))
	}
	return problems
}

// uuid is how metrics and reports write a cluster's name.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func checkClusterID(hc *hyperv1.HostedCluster) []problem {
	if id := hc.Spec.ClusterID; id != "" && !uuid.MatchString(id) {
		return []problem{problemf(hyperv1.InvalidConfigurationReason, "spec.clusterID is %q, which is not a UUID: create the cluster with a UUID, or without clusterID", id)}
	}
	return nil
}

// Indexes by which clusters find who stands in their way.
const (
	infraIDIndex      = "spec.infraID"
	controlPlaneIndex = "controlPlaneNamespace"
	hostnameIndex     = "hostname"
	handoutIndex      = "handout"
)

// conflicts lists what older clusters have taken already.
func (r *Reconciler) conflicts(ctx context.Context, s *scope) ([]problem, error) {
	var problems []problem
	if id := r.infraIDFor(s.hc); id != "" {
		other, err := r.olderWith(ctx, s.hc, infraIDIndex, id)
		if err != nil {
			return nil, err
		}
		if other != nil {
			problems = append(problems, problemf(hyperv1.InfraIDInUseReason,
				"infraID %s belongs to HostedCluster %s: create this cluster again with another infraID, or without", id, clusterKey(other)))
		}
		released, err := r.checkReleased(ctx, s, id)
		if err != nil {
			return nil, err
		}
		problems = append(problems, released...)
	}
	other, err := r.olderWith(ctx, s.hc, controlPlaneIndex, s.controlPlane)
	if err != nil {
		return nil, err
	}
	if other != nil {
		problems = append(problems, problemf(hyperv1.NamespaceInUseReason,
			"namespace %s is for the control plane of HostedCluster %s: choose another name or namespace for this cluster", s.controlPlane, clusterKey(other)))
	}
	secrets, err := r.handoutConflicts(ctx, s)
	if err != nil {
		return nil, err
	}
	problems = append(problems, secrets...)
	for _, host := range byHostname(s.hc) {
		other, err := r.olderWith(ctx, s.hc, hostnameIndex, host)
		if err != nil {
			return nil, err
		}
		if other != nil {
			problems = append(problems, problemf(hyperv1.UnsupportedPublishingReason,
				"spec.services uses host name %s, which belongs to HostedCluster %s: choose another", host, clusterKey(other)))
		}
	}
	return problems, nil
}

// olderWith returns a cluster that was there before hc and has the same value.
func (r *Reconciler) olderWith(ctx context.Context, hc *hyperv1.HostedCluster, by, value string) (*hyperv1.HostedCluster, error) {
	var list hyperv1.HostedClusterList
	if err := r.Client.List(ctx, &list, client.MatchingFields{by: value}); err != nil {
		return nil, fmt.Errorf("listing HostedClusters by %s: %w", by, err)
	}
	for i := range list.Items {
		if other := &list.Items[i]; other.UID != hc.UID && index.Older(other, hc) {
			return other, nil
		}
	}
	return nil, nil
}
