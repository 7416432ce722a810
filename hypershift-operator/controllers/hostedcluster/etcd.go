package hostedcluster

import (
	"net/url"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// checkEtcd wants to know where the state of the cluster is kept, once.
func checkEtcd(hc *hyperv1.HostedCluster) []problem {
	etcd := hc.Spec.Etcd
	say := func(format string, args ...any) []problem {
		return []problem{problemf(hyperv1.InvalidConfigurationReason, format, args...)}
	}
	switch {
	case etcd.ManagementType == hyperv1.Managed && etcd.Unmanaged != nil:
		return say("etcd.managementType is Managed and etcd.unmanaged is set: remove one of them")
	case etcd.ManagementType == hyperv1.Managed && etcd.Managed == nil:
		return say("etcd.managementType is Managed and etcd.managed is missing: add it with its storage")
	case etcd.ManagementType == hyperv1.Managed:
		return checkEtcdStorage(etcd.Managed.Storage)
	case etcd.ManagementType != hyperv1.Unmanaged:
		return say("etcd.managementType is %q: use Managed or Unmanaged", etcd.ManagementType)
	case etcd.Managed != nil:
		return say("etcd.managementType is Unmanaged and etcd.managed is set: remove one of them")
	case etcd.Unmanaged == nil:
		return say("etcd.managementType is Unmanaged and etcd.unmanaged is missing: add the endpoint of your etcd and the Secret that opens it")
	}
	var problems []problem
	if u, err := url.Parse(etcd.Unmanaged.Endpoint); err != nil || u.Scheme != "https" || u.Host == "" {
		problems = say("etcd.unmanaged.endpoint is %q, which is not an https URL: write it like https://etcd.example.com:2379", etcd.Unmanaged.Endpoint)
	}
	if etcd.Unmanaged.TLS.ClientSecret.Name == "" {
		problems = append(problems, say("etcd.unmanaged.tls.clientSecret is empty: name a Secret with etcd-client.crt, etcd-client.key and etcd-client-ca.crt")...)
	}
	return problems
}

func checkEtcdStorage(storage hyperv1.ManagedEtcdStorageSpec) []problem {
	if storage.Type != hyperv1.PersistentVolumeEtcdStorage {
		return []problem{problemf(hyperv1.InvalidConfigurationReason, "etcd.managed.storage.type is %q: use PersistentVolume", storage.Type)}
	}
	if volume := storage.PersistentVolume; volume != nil && volume.Size != nil && volume.Size.Sign() <= 0 {
		return []problem{problemf(hyperv1.InvalidConfigurationReason, "etcd.managed.storage.persistentVolume.size is %s: ask for more than nothing, such as 8Gi", volume.Size)}
	}
	return nil
}
