package hostedcluster

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/index"
	"github.com/hosted-control-planes/hypershift/internal/flow"
	"github.com/hosted-control-planes/hypershift/internal/names"
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
		return flow.Block(hyperv1.UnreadableReason, "the object has values that cannot be read; write these fields again: %s", text)
	}
	problems := append(judge(s.hc), r.checkInfraID(s.hc)...)
	problems = append(problems, checkEncryptionKept(s.hc, s.hcp)...)
	keys, err := r.checkEncryptionKeys(ctx, s)
	if err != nil {
		return err
	}
	problems = append(problems, keys...)
	conflicts, err := r.conflicts(ctx, s)
	if err != nil {
		return err
	}
	problems = append(problems, conflicts...)
	if len(problems) == 0 {
		return nil
	}
	var messages []string
	for _, p := range problems {
		messages = append(messages, p.message)
	}
	return flow.Block(problems[0].reason, "%s", strings.Join(messages, "; "))
}

// judge lists everything that is wrong with a HostedCluster by itself.
func judge(hc *hyperv1.HostedCluster) []problem {
	var problems []problem
	for _, check := range []func(*hyperv1.HostedCluster) []problem{
		checkName, checkClusterID, checkPlatform, checkTags, checkServices, checkNetworks, checkPlacement,
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
	}
	other, err := r.olderWith(ctx, s.hc, controlPlaneIndex, s.controlPlane)
	if err != nil {
		return nil, err
	}
	if other != nil {
		problems = append(problems, problemf(hyperv1.NamespaceInUseReason,
			"namespace %s is for the control plane of HostedCluster %s: choose another name or namespace for this cluster", s.controlPlane, clusterKey(other)))
	}
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
