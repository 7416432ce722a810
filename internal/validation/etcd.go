package validation

import (
	"net/url"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// etcd rejects everything but one complete description of where etcd is.
func etcd(e hyperv1.EtcdSpec, path *field.Path) field.ErrorList {
	managed, unmanaged := path.Child("managed"), path.Child("unmanaged")
	switch {
	case e.ManagementType == hyperv1.Managed && e.Unmanaged != nil:
		return field.ErrorList{configuration.forbidden(unmanaged, "etcd.managementType is Managed and etcd.unmanaged is set: remove one of them")}
	case e.ManagementType == hyperv1.Managed && e.Managed == nil:
		return field.ErrorList{configuration.required(managed, "etcd.managementType is Managed and etcd.managed is missing: add it with its storage")}
	case e.ManagementType == hyperv1.Managed:
		return etcdStorage(e.Managed.Storage, managed.Child("storage"))
	case e.ManagementType != hyperv1.Unmanaged:
		return field.ErrorList{configuration.unsupported(path.Child("managementType"), e.ManagementType, "etcd.managementType is %q: use Managed or Unmanaged", e.ManagementType)}
	case e.Managed != nil:
		return field.ErrorList{configuration.forbidden(managed, "etcd.managementType is Unmanaged and etcd.managed is set: remove one of them")}
	case e.Unmanaged == nil:
		return field.ErrorList{configuration.required(unmanaged, "etcd.managementType is Unmanaged and etcd.unmanaged is missing: add the endpoint of your etcd and the Secret that opens it")}
	}
	var errs field.ErrorList
	if u, err := url.Parse(e.Unmanaged.Endpoint); err != nil || u.Scheme != "https" || u.Host == "" {
		errs = append(errs, configuration.invalid(unmanaged.Child("endpoint"), e.Unmanaged.Endpoint,
			"etcd.unmanaged.endpoint is %q, which is not an https URL: write it like https://etcd.example.com:2379", e.Unmanaged.Endpoint))
	}
	if e.Unmanaged.TLS.ClientSecret.Name == "" {
		errs = append(errs, configuration.required(unmanaged.Child("tls", "clientSecret", "name"),
			"etcd.unmanaged.tls.clientSecret is empty: name a Secret with etcd-client.crt, etcd-client.key and etcd-client-ca.crt"))
	}
	return errs
}

func etcdStorage(storage hyperv1.ManagedEtcdStorageSpec, path *field.Path) field.ErrorList {
	if storage.Type != hyperv1.PersistentVolumeEtcdStorage {
		return field.ErrorList{configuration.unsupported(path.Child("type"), storage.Type, "etcd.managed.storage.type is %q: use PersistentVolume", storage.Type)}
	}
	if volume := storage.PersistentVolume; volume != nil && volume.Size != nil && volume.Size.Sign() <= 0 {
		return field.ErrorList{configuration.invalid(path.Child("persistentVolume", "size"), volume.Size.String(),
			"etcd.managed.storage.persistentVolume.size is %s: ask for more than nothing, such as 8Gi", volume.Size)}
	}
	return nil
}
