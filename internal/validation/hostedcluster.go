package validation

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/controlchars"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// HostedCluster returns every error that the object shows by itself.
func HostedCluster(hc *hyperv1.HostedCluster) field.ErrorList {
	s := &hc.Spec
	errs := clusterName(hc.Namespace, hc.Name)
	errs = append(errs, clusterText(s)...)
	errs = append(errs, clusterID(s.ClusterID)...)
	errs = append(errs, platform(s)...)
	errs = append(errs, clusterTags(s)...)
	errs = append(errs, services(hc)...)
	errs = append(errs, networks(s)...)
	errs = append(errs, placement(s)...)
	errs = append(errs, etcd(s.Etcd, spec.Child("etcd"))...)
	errs = append(errs, encryption(s.SecretEncryption, spec.Child("secretEncryption"))...)
	errs = append(errs, apiServer(s)...)
	errs = append(errs, authentication(authenticationOf(s), oauthOf(s), s.IssuerURL)...)
	errs = append(errs, namedCertificates(apiServerOf(s), ReservedServerNames(hc))...)
	errs = append(errs, ingress(hc)...)
	errs = append(errs, annotations(hc)...)
	return append(errs, clusterProxy(proxyOf(s), spec.Child("configuration", "proxy"))...)
}

// clusterName rejects a name for which there can be no namespace of the control plane.
func clusterName(namespace, name string) field.ErrorList {
	ns := names.ControlPlaneNamespace(namespace, name)
	if names.FitsNamespace(ns) {
		return nil
	}
	return field.ErrorList{reason(hyperv1.NameTooLongReason).invalid(field.NewPath("metadata", "name"), name,
		"the control plane's namespace would be %s, which has %d characters and may have 63: choose a shorter name or namespace", ns, len(ns))}
}

// multiline are the fields that programs read as JSON values, in which a line
// break is harmless, and in which people write several lines.
var multiline = []string{"configuration.authentication.oidcProviders", "configuration.proxy.noProxy"}

// clusterText rejects control characters: values end up in flags and files, where
// a line break could start another option.
func clusterText(s *hyperv1.HostedClusterSpec) field.ErrorList {
	fields, err := controlchars.Fields(*s, multiline...)
	if err != nil {
		return field.ErrorList{configuration.secret(spec, "spec cannot be read: %v", err)}
	}
	var errs field.ErrorList
	for _, f := range fields {
		errs = append(errs, configuration.secret(spec.Child(f), "spec.%s has a line break or another control character: remove it", f))
	}
	return errs
}

// uuid is the format in which metrics and reports write the ID of a cluster.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func clusterID(id string) field.ErrorList {
	if id == "" || uuid.MatchString(id) {
		return nil
	}
	return field.ErrorList{configuration.invalid(spec.Child("clusterID"), id, "spec.clusterID is %q, which is not a UUID: create the cluster with a UUID, or without clusterID", id)}
}

// InfraID rejects a cluster without a known infraID, before one is set. infraID is the cluster's
// present or future infraID; example is an issuer URL from which it could be derived, "" for an
// installation without a bucket for OIDC documents.
func InfraID(infraID, issuerURL, example string) field.ErrorList {
	at := spec.Child("infraID")
	switch {
	case infraID != "":
		return nil
	case example == "":
		return field.ErrorList{configuration.required(at,
			"spec.infraID is not set, and this installation has no bucket for OIDC documents whose URL could say it: set spec.infraID to what spec.issuerURL ends in")}
	}
	return field.ErrorList{configuration.required(at,
		"spec.infraID is not set, and is not part of spec.issuerURL %q: create the cluster with spec.issuerURL %s", issuerURL, example)}
}
