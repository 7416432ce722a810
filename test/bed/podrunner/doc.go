// Package podrunner runs the Deployments of our own operators as processes of this machine, for beds without a kubelet.
//
//	Deployment (every container's image is in Options.Images)
//	   ─► pod: a private directory, a kubeconfig with the token of the pod's service account
//	        ─► per container: the image's program, built for this machine, with the arguments, environment and files of the template
//	   ─► Deployment status from probes
//
// What a process sees is as close to a pod as it gets without a container:
//
//   - its identity: KUBECONFIG holds a short-lived token of the pod's service account, so that the RBAC we ship is enforced;
//   - its files: volumes of type Secret, ConfigMap, projected and emptyDir are directories of their own, kept up to date, and
//     mount paths in arguments, environment and in the files themselves are rewritten to them;
//   - its ports: a declared containerPort becomes a free port of loopback, and ":<port>" or "<port>" at the end of an argument or
//     of an environment value follows. A template must therefore name its ports in both places, which is good manners anyway;
//   - its life: it is restarted with back-off when it ends or when its liveness probe fails, and stopped with SIGTERM.
//
// Not here: other images (such a Deployment is left alone), init containers, exec probes, Pod objects, resource limits. What a
// template asks for and the runner cannot give is an error in the Deployment's Progressing condition, not silence.
package podrunner
