package cis

// Result is how a hosted cluster compares with a recommendation.
type Result string

const (
	// Met: the check passes.
	Met Result = "met"
	// Optional: the check passes in the samples where the user has set a field, which Reason names.
	Optional Result = "with a setting"
	// Differs: the check, if there is one, does not pass. Reason is why.
	Differs Result = "differs"
	// NotApplicable: there is no such thing in a hosted cluster. The check, if there is one, shows it.
	NotApplicable Result = "does not apply"
)

// A Recommendation is one of the benchmark, or several with one answer.
type Recommendation struct {
	// ID is a number, or a range such as 1.1.1-1.1.8.
	ID string
	// What states the requirement, in our words.
	What      string
	Component string
	// Samples are the names of the evaluated samples, all if empty.
	Samples []string
	Check   Check
	Result  Result
	Reason  string
}

// sections lists the number of recommendations in each section. Section 5 is about users' workloads in their cluster.
var sections = []struct {
	ID, Title string
	Count     int
}{
	{"1.1", "Files of the control plane", 21},
	{"1.2", "kube-apiserver", 30},
	{"1.3", "kube-controller-manager", 7},
	{"1.4", "kube-scheduler", 2},
	{"2", "etcd", 7},
	{"3.1", "Authentication of users", 3},
	{"3.2", "Audit log", 2},
	{"4.1", "Files of nodes", 10},
	{"4.2", "kubelet", 14},
	{"4.3", "kube-proxy", 1},
}

const (
	admission  = "--enable-admission-plugins"
	disabled   = "--disable-admission-plugins"
	authorizer = "--authorization-mode"
	gates      = "--feature-gates"
	ofTheUser  = "a decision of the cluster's administrator"
)

var table = []Recommendation{
	{"1.1.1-1.1.8", "Only root can change the manifests of static pods", pods, nil, isolated, NotApplicable, "components are pods of the management cluster, and mount no file of its nodes"},
	{"1.1.9-1.1.10", "Only root can change the files of the pod network", pods, nil, isolated, NotApplicable, "the pod network of the management cluster belongs to its administrator"},
	{"1.1.11-1.1.12", "Only etcd can read its data", pods, nil, all(isolated, unprivileged), NotApplicable, "the data is on a volume that one pod mounts, not on a node"},
	{"1.1.13-1.1.18", "Only root can change kubeconfigs of components", pods, nil, all(unprivileged, readOnlySecrets), NotApplicable, "kubeconfigs are Secrets, which no container can write to"},
	{"1.1.19-1.1.21", "Only root can read keys and change certificates", pods, nil, all(unprivileged, readOnlySecrets), NotApplicable, "keys are Secrets of the control plane namespace, which no container can write to"},

	{"1.2.1", "Requests without credentials are refused", apiServer, nil, is("--anonymous-auth", "false"), Differs, "kubelets, load balancers and operators ask for the health without credentials. RBAC allows them health, version and the ConfigMap `cluster-info`, and nothing else"},
	{"1.2.2", "No file with static tokens", apiServer, nil, absent("--token-auth-file"), Met, ""},
	{"1.2.3", "Services cannot have external addresses of their own choice", apiServer, nil, lists(admission, "DenyServiceExternalIPs"), Differs, "it would refuse Services that exist. An administrator of the hosted cluster can refuse them with a ValidatingAdmissionPolicy"},
	{"1.2.4", "The API server authenticates to kubelets with a certificate", apiServer, nil, present("--kubelet-client-certificate", "--kubelet-client-key"), Met, ""},
	{"1.2.5", "The API server verifies certificates of kubelets", apiServer, nil, present("--kubelet-certificate-authority"), Met, "in a cluster that an earlier version has created, as soon as all kubelets have a signed certificate"},
	{"1.2.6", "Not every request is allowed", apiServer, nil, all(present(authorizer), listsNo(authorizer, "AlwaysAllow")), Met, ""},
	{"1.2.7", "Kubelets can read only what belongs to their node", apiServer, nil, lists(authorizer, "Node"), Met, ""},
	{"1.2.8", "RBAC authorizes requests", apiServer, nil, lists(authorizer, "RBAC"), Met, ""},
	{"1.2.9", "The number of events is limited", apiServer, nil, lists(admission, "EventRateLimit"), Differs, "the limits of concurrent requests also hold for events, which are deleted after three hours"},
	{"1.2.10", "No admission plugin admits everything", apiServer, nil, listsNo(admission, "AlwaysAdmit"), Met, ""},
	{"1.2.11", "Images are pulled at each start of a pod", apiServer, nil, lists(admission, "AlwaysPullImages"), Differs, "pods could not start while their registry does not answer. Kubelets of Kubernetes 1.35 verify the credentials for images that are on the node"},
	{"1.2.12", "Pods get service accounts", apiServer, nil, listsNo(disabled, "ServiceAccount"), Met, ""},
	{"1.2.13", "Nothing is created in a namespace that is being deleted", apiServer, nil, listsNo(disabled, "NamespaceLifecycle"), Met, ""},
	{"1.2.14", "Kubelets can change only their own Node and pods", apiServer, nil, lists(admission, "NodeRestriction"), Met, ""},
	{"1.2.15", "No profiles are served", apiServer, nil, is("--profiling", "false"), Met, ""},
	{"1.2.16", "There is an audit log", apiServer, nil, present("--audit-log-path"), Met, "unless the user sets the profile `None`"},
	{"1.2.17-1.2.19", "Old audit logs are kept for some time, and their size is limited", apiServer, nil, is("--audit-log-path", "-"), NotApplicable, "the audit log is the log of the container. The kubelet of the management cluster rotates it. A log collector or `spec.auditWebhook` keeps it: [Audit log](audit.md)"},
	{"1.2.20", "Requests have a timeout", apiServer, nil, absent("--request-timeout"), Met, "one minute, the default"},
	{"1.2.21", "A token of a deleted service account is refused", apiServer, nil, absent("--service-account-lookup"), Met, "the default"},
	{"1.2.22", "Tokens are verified with a key of their own", apiServer, nil, present("--service-account-key-file"), Met, ""},
	{"1.2.23", "The API server authenticates to etcd with a certificate", apiServer, nil, present("--etcd-certfile", "--etcd-keyfile"), Met, ""},
	{"1.2.24", "The API server serves TLS", apiServer, nil, present("--tls-cert-file", "--tls-private-key-file"), Met, ""},
	{"1.2.25", "Client certificates are verified", apiServer, nil, present("--client-ca-file"), Met, ""},
	{"1.2.26", "The API server verifies etcd", apiServer, nil, present("--etcd-cafile"), Met, ""},
	{"1.2.27", "Secrets are encrypted in etcd", apiServer, []string{"aescbc", "kms"}, present("--encryption-provider-config"), Optional, "`spec.secretEncryption`"},
	{"1.2.28", "Secrets are encrypted with AES-CBC or a key management service", apiServer, []string{"aescbc", "kms"}, encrypted, Optional, "`spec.secretEncryption`"},
	{"1.2.29", "Only strong ciphers", apiServer, nil, strongCiphers, Met, "unless the user sets the TLS profile `Old` or `Custom`"},
	{"1.2.30", "Tokens of pods expire when they say so", apiServer, nil, is("--service-account-extend-token-expiration", "false"), Differs, "as in Kubernetes, tokens stay valid for a year for clients that do not read them again. The operator cannot know which pods have such clients"},

	{"1.3.1", "The number of terminated pods is limited", controllerManager, nil, present("--terminated-pod-gc-threshold"), Differs, "the default of Kubernetes, 12500 pods, limits it"},
	{"1.3.2", "No profiles are served", controllerManager, nil, is("--profiling", "false"), Met, ""},
	{"1.3.3", "Each controller has its own service account", controllerManager, nil, is("--use-service-account-credentials", "true"), Met, ""},
	{"1.3.4", "Tokens are signed with a key of their own", controllerManager, nil, present("--service-account-private-key-file"), Met, ""},
	{"1.3.5", "Pods can verify the API server", controllerManager, nil, present("--root-ca-file"), Met, ""},
	{"1.3.6", "Serving certificates of kubelets are rotated", controllerManager, nil, listsNo(gates, "RotateKubeletServerCertificate=false"), Met, "the default"},
	{"1.3.7", "The metrics are served on the loopback interface only", controllerManager, nil, is("--bind-address", "127.0.0.1"), Differs, "kubelets and Prometheus need them from outside of the pod. They are served with TLS, clients need a permission, and NetworkPolicies exclude other namespaces than those of monitoring"},

	{"1.4.1", "No profiles are served", scheduler, nil, field("enableProfiling", false), Met, ""},
	{"1.4.2", "The metrics are served on the loopback interface only", scheduler, nil, is("--bind-address", "127.0.0.1"), Differs, "as for 1.3.7"},

	{"2.1", "etcd serves TLS", etcd, nil, filled("client-transport-security.cert-file", "client-transport-security.key-file"), Met, ""},
	{"2.2", "Clients of etcd need a certificate", etcd, nil, field("client-transport-security.client-cert-auth", true), Met, ""},
	{"2.3", "Certificates of etcd are not self-signed", etcd, nil, unset("client-transport-security.auto-tls", "--auto-tls"), Met, ""},
	{"2.4", "Members of etcd use TLS among each other", etcd, nil, filled("peer-transport-security.cert-file", "peer-transport-security.key-file"), Met, ""},
	{"2.5", "Members of etcd need a certificate", etcd, nil, field("peer-transport-security.client-cert-auth", true), Met, ""},
	{"2.6", "Certificates of members are not self-signed", etcd, nil, unset("peer-transport-security.auto-tls", "--peer-auto-tls"), Met, ""},
	{"2.7", "etcd trusts an authority of its own", etcd, nil, filled("client-transport-security.trusted-ca-file", "peer-transport-security.trusted-ca-file"), Met, "`TestCertificatesOfOtherAuthoritiesAreRejected` connects with certificates of others"},

	{"3.1.1", "Users do not use client certificates", "", nil, nil, Differs, "the first administrator has a certificate, which expires after 30 days. `spec.configuration.authentication` adds OIDC for users"},
	{"3.1.2", "Users do not use tokens of service accounts", "", nil, nil, Differs, ofTheUser},
	{"3.1.3", "Users do not use bootstrap tokens", "", nil, nil, Differs, ofTheUser + ". The operators create them for nodes only"},
	{"3.2.1", "There is an audit policy", apiServer, nil, present("--audit-policy-file"), Met, ""},
	{"3.2.2", "The audit policy covers Secrets, workloads and connections to pods", apiServer, []string{"single", "highly-available"}, audited, Met, "with the default profile"},

	{"4.1.1", "Only root can read the unit of the kubelet", kubelet, nil, mode(kubeletUnit, 0o600), Differs, "systemd shows its content to every user, whatever its mode is. It contains no credential"},
	{"4.1.2", "The unit of the kubelet belongs to root", kubelet, nil, ofRoot(kubeletUnit), Met, ""},
	{"4.1.3-4.1.4", "Only root can read the kubeconfig of kube-proxy", kubeProxy, nil, absent("--kubeconfig"), NotApplicable, "kube-proxy runs in a pod and uses the token of its service account"},
	{"4.1.5", "Only root can read the kubeconfig of the kubelet", kubelet, nil, mode(bootstrapFile, 0o600), Met, "checked for the one with the bootstrap token. The kubelet writes the other one itself, for root only"},
	{"4.1.6", "The kubeconfig of the kubelet belongs to root", kubelet, nil, ofRoot(bootstrapFile), Met, ""},
	{"4.1.7", "Only root can change the authority of the kubelet's clients", kubelet, nil, mode(clientCAFile, 0o644), Met, ""},
	{"4.1.8", "The authority of the kubelet's clients belongs to root", kubelet, nil, ofRoot(clientCAFile), Met, ""},
	{"4.1.9", "Only root can read the configuration of the kubelet", kubelet, nil, mode(kubeletConfig, 0o600), Met, ""},
	{"4.1.10", "The configuration of the kubelet belongs to root", kubelet, nil, ofRoot(kubeletConfig), Met, ""},

	{"4.2.1", "The kubelet refuses requests without credentials", kubelet, nil, field("authentication.anonymous.enabled", false), Met, ""},
	{"4.2.2", "The kubelet asks the API server whether a request is allowed", kubelet, nil, field("authorization.mode", "Webhook"), Met, ""},
	{"4.2.3", "The kubelet verifies client certificates", kubelet, nil, field("authentication.x509.clientCAFile", clientCAFile), Met, ""},
	{"4.2.4", "The kubelet has no port without authentication", kubelet, nil, unset("readOnlyPort", "--read-only-port"), Met, "the default"},
	{"4.2.5", "Idle connections to pods end", kubelet, nil, unset("streamingConnectionIdleTimeout", "--streaming-connection-idle-timeout"), Met, "after four hours, the default"},
	{"4.2.6", "The kubelet maintains its iptables chains", kubelet, nil, unset("makeIPTablesUtilChains", "--make-iptables-util-chains"), Met, "the default"},
	{"4.2.7", "The name of the node is not replaced", kubelet, nil, absent("--hostname-override"), Differs, "the name is the one that AWS gives the instance. Its certificate is approved for this name only"},
	{"4.2.8", "The kubelet records enough events", kubelet, nil, unset("eventRecordQPS", "--event-qps"), Met, "50 per second, the default"},
	{"4.2.9", "The kubelet serves with a certificate that the API server can verify", kubelet, nil, all(field("serverTLSBootstrap", true), absent("--tls-cert-file")), Met, "it requests the certificate from the API server instead of reading it from a file"},
	{"4.2.10", "The kubelet rotates its client certificate", kubelet, nil, field("rotateCertificates", true), Met, ""},
	{"4.2.11", "The kubelet rotates its serving certificate", kubelet, nil, all(field("serverTLSBootstrap", true), listsNo(gates, "RotateKubeletServerCertificate=false")), Met, ""},
	{"4.2.12", "Only strong ciphers", kubelet, nil, strongCiphersOfKubelet, Met, "unless the user sets others"},
	{"4.2.13", "The number of processes of a pod is limited", kubelet, nil, present("--pod-max-pids"), Differs, "the limit of the node holds for all pods together. A KubeletConfiguration in `spec.config` of the NodePool sets one for each"},
	{"4.2.14", "Containers have a seccomp profile", kubelet, nil, field("seccompDefault", true), Differs, "it could break containers of the user. A KubeletConfiguration in `spec.config` of the NodePool sets it"},
	{"4.3.1", "kube-proxy serves its metrics on the loopback interface only", kubeProxy, nil, unset("metricsBindAddress", "--metrics-bind-address"), Met, "the default"},
}
