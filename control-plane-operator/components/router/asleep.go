package router

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/haproxy"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const (
	// asleepFile is the key of the configuration of a router that answers for a sleeping API server. Pods of before the sleep have no
	// certificate, and could not load it as a new version of their file.
	asleepFile = "asleep.cfg"
	// certificateDir has the API server's certificate, and the key in a file of the name that HAProxy expects.
	certificateDir  = "/etc/haproxy-asleep"
	certificateFile = "server.pem"
)

// asleep answers every client of the API server. Without Retry-After: kubectl would try again ten times before it shows the message.
// Programs with other names, such as the tunnels of nodes, do not trust the certificate, and try again later. Each answer ends its connection:
// the router drains when the cluster wakes, and a connection that stays open would still get this answer.
const asleep = `    default_backend asleep

backend asleep
    server self 127.0.0.1:8444

frontend asleep
    mode http
    bind 127.0.0.1:8444 ssl crt ` + certificateDir + "/" + certificateFile + ` alpn http/1.1
    option httpclose
    timeout http-request 5s
    http-request return status 503 content-type application/json string '` + answer + `'
`

// answer is a Status as the API server would return it.
const answer = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"ServiceUnavailable","code":503,` +
	`"message":"the cluster is asleep: set annotation ` + hyperv1.SleepAnnotation + ` of its HostedCluster to false to wake it"}`

// configurationAsleep returns HAProxy's configuration for a sleeping API server.
func configurationAsleep() string {
	return haproxy.Configuration(names.ControlPlaneOperator, head+asleep)
}

// adaptDeployment gives a router that answers for the API server its certificate. No other router has it.
func adaptDeployment(env *target.ControlPlane, d *appsv1.Deployment) error {
	if !env.Answers() {
		return nil
	}
	pod := &d.Spec.Template.Spec
	for i := range pod.Volumes {
		if pod.Volumes[i].Name == "config" {
			pod.Volumes[i].ConfigMap.Items = []corev1.KeyToPath{{Key: asleepFile, Path: configFile}}
		}
	}
	const volume = "certificate"
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: names.APIServerCertificate,
		Items:      []corev1.KeyToPath{{Key: corev1.TLSCertKey, Path: certificateFile}, {Key: corev1.TLSPrivateKeyKey, Path: certificateFile + ".key"}},
	}}})
	c := component.Container(pod, "haproxy")
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: certificateDir, ReadOnly: true})
	return nil
}
