package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	controlplane "github.com/hosted-control-planes/hypershift/control-plane-operator/operator"
	hypershift "github.com/hosted-control-planes/hypershift/hypershift-operator/operator"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
)

// operatorNamespace is the namespace of the hypershift-operator.
const operatorNamespace = "hypershift"

// hypershiftOperator identifies the hypershift-operator in operators.kill.
var hypershiftOperator = types.NamespacedName{Namespace: operatorNamespace, Name: names.HypershiftOperator}

const image = "hypershift.test/hypershift:test"

// followed are the Deployments of the hypershift-operator that operators runs or reports as available. Cluster API and its
// AWS provider do not run here: scenarios with machines are in test/lab/e2e.
var followed = []string{names.ControlPlaneOperator, names.ClusterAPI}

// operators runs the hypershift-operator, and a control-plane-operator for each of its Deployments, in this process.
type operators struct {
	env    *environment
	client client.Client
	wake   chan event.TypedGenericEvent[*appsv1.Deployment]
	cancel context.CancelFunc
	ended  chan error
	log    *os.File

	mu       sync.Mutex
	programs map[types.NamespacedName]*program
}

// startOperators starts the hypershift-operator and returns when its cache has synced.
func startOperators(ctx context.Context, e *environment) (_ *operators, err error) {
	o := &operators{
		env: e, ended: make(chan error, 1), programs: map[types.NamespacedName]*program{},
		wake: make(chan event.TypedGenericEvent[*appsv1.Deployment], 100),
	}
	if o.log, err = os.Create(e.log("operators")); err != nil {
		return nil, fmt.Errorf("opening the log of the operators: %w", err)
	}
	ctrl.SetLogger(zap.New(zap.WriteTo(o.log)))
	klog.SetLogger(ctrl.Log)
	mgr, err := ctrl.NewManager(e.Config, ctrl.Options{
		Scheme: clientgoscheme.Scheme, Metrics: server.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return nil, err
	}
	o.client = mgr.GetClient()
	err = ctrl.NewControllerManagedBy(mgr).Named("deployments-of-the-environment").
		For(&appsv1.Deployment{}).
		WatchesRawSource(source.Channel(o.wake, &handler.TypedEnqueueRequestForObject[*appsv1.Deployment]{})).
		WithEventFilter(predicate.NewPredicateFuncs(func(obj client.Object) bool { return slices.Contains(followed, obj.GetName()) })).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10}).
		Complete(o)
	if err != nil {
		return nil, err
	}
	// Not the caller's context: after it ends, the operators still have to delete the tests' resources.
	ctx, o.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() { o.ended <- mgr.Start(ctx) }()
	ready := make(chan struct{})
	o.start(hypershiftOperator, &program{
		config: e.As(operatorNamespace, names.HypershiftOperator), build: e.buildHypershiftOperator, changed: sync.OnceFunc(func() { close(ready) }),
	})
	select {
	case <-ready:
		return o, nil
	case <-time.After(time.Minute):
		return nil, errors.Join(errors.New("the hypershift-operator does not start: see "+e.log("operators")), o.stop())
	}
}

// start starts a program under that name.
func (o *operators) start(name types.NamespacedName, p *program) {
	p.name = name.String()
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.stopped.Go(func() { p.run(ctx) })
	o.mu.Lock()
	defer o.mu.Unlock()
	o.programs[name] = p
}

func (o *operators) program(name types.NamespacedName) *program {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.programs[name]
}

// stop stops all operators.
func (o *operators) stop() error {
	o.cancel()
	err := <-o.ended
	o.mu.Lock()
	defer o.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range o.programs {
		all.Go(p.stop)
	}
	all.Wait()
	return errors.Join(err, o.log.Close())
}

// kill ends an operator without a graceful shutdown. It restarts.
func (o *operators) kill(name types.NamespacedName) error {
	if p := o.program(name); p == nil || !p.kill() {
		return fmt.Errorf("killing %s: it does not run", name)
	}
	return nil
}

// Reconcile runs the control-plane-operator of a Deployment, and writes the status of the Deployment.
func (o *operators) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	d := &appsv1.Deployment{}
	if err := o.client.Get(ctx, req.NamespacedName, d); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	} else if err != nil || !d.DeletionTimestamp.IsZero() {
		o.end(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	ready := true
	if d.Name == names.ControlPlaneOperator {
		ready = o.follow(d)
	}
	before := d.DeepCopy()
	status(d, ready)
	if equality.Semantic.DeepEqual(before.Status, d.Status) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(o.client.Status().Patch(ctx, d, client.MergeFrom(before)))
}

// follow starts the control-plane-operator of a Deployment, or restarts it after a change of the template, and reports
// whether it is ready.
func (o *operators) follow(d *appsv1.Deployment) bool {
	name := client.ObjectKeyFromObject(d)
	if p := o.program(name); p != nil {
		if equality.Semantic.DeepEqual(p.template, d.Spec.Template) {
			return p.isReady()
		}
		o.end(name)
	}
	template := *d.Spec.Template.DeepCopy()
	o.start(name, &program{
		template: template,
		config:   o.env.As(d.Namespace, template.Spec.ServiceAccountName),
		build:    controlPlaneOperator(template.Spec),
		changed: func() {
			select {
			case o.wake <- event.TypedGenericEvent[*appsv1.Deployment]{Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}}:
			default: // stopping: the channel is not read
			}
		},
	})
	return false
}

func (o *operators) end(name types.NamespacedName) {
	o.mu.Lock()
	p := o.programs[name]
	delete(o.programs, name)
	o.mu.Unlock()
	if p != nil {
		p.stop()
	}
}

// status sets the status that the Deployment controller would write.
func status(d *appsv1.Deployment, ready bool) {
	available := appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "MinimumReplicasUnavailable", LastTransitionTime: metav1.Now()}
	n := ptr.Deref(d.Spec.Replicas, 1)
	s := appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, UnavailableReplicas: n}
	if ready {
		available.Status, available.Reason = corev1.ConditionTrue, "MinimumReplicasAvailable"
		s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas = n, n, 0
	}
	for _, c := range d.Status.Conditions {
		if c.Type == available.Type && c.Status == available.Status {
			available.LastTransitionTime = c.LastTransitionTime
		}
	}
	s.Conditions = []appsv1.DeploymentCondition{available}
	d.Status = s
}

// resync is how often the operators compare AWS with the desired state without a change in Kubernetes.
const resync = "3s"

// buildHypershiftOperator makes the hypershift-operator with the flags of an installation.
func (e *environment) buildHypershiftOperator(ctx context.Context, i *instance) (ctrl.Manager, error) {
	opts, err := hypershift.Parse(names.HypershiftOperator, []string{
		"--namespace=" + operatorNamespace,
		"--metrics-addr=127.0.0.1:0",
		"--health-addr=0",
		"--control-plane-operator-image=" + image,
		"--cluster-api-image=hypershift.test/cluster-api:test",
		"--capi-provider-aws-image=hypershift.test/cluster-api-provider-aws:test",
		"--private-platform=AWS",
		// The load balancers of the emulator have names that do not resolve, and forward no traffic.
		"--check-load-balancers=false",
		"--oidc-storage-provider-s3-bucket-name=" + e.Management.Bucket,
		"--oidc-storage-provider-s3-region=" + accounts.Region,
		"--resync-period=" + resync, "--aws-permissions-check-period=" + resync, "--oidc-check-period=" + resync,
	}, os.Environ())
	if err != nil {
		return nil, err
	}
	deps, err := hypershift.NewDependencies(opts)
	if err != nil {
		return nil, err
	}
	deps.Manager = i.manager()
	o, err := hypershift.New(ctx, i.config, opts, deps)
	if err != nil {
		return nil, err
	}
	return o, o.AddControllers(ctx)
}

// manager returns the options of a manager that shares its process with others.
func (i *instance) manager() ctrl.Options {
	return ctrl.Options{Logger: i.log, Controller: config.Controller{SkipNameValidation: ptr.To(true)}}
}

// parsing serializes Parse, which registers the flag of the kubeconfig in a global variable.
var parsing sync.Mutex

// controlPlaneOperator makes the control-plane-operator with the arguments and the environment of its Deployment.
func controlPlaneOperator(pod corev1.PodSpec) func(context.Context, *instance) (ctrl.Manager, error) {
	return func(_ context.Context, i *instance) (ctrl.Manager, error) {
		c := pod.Containers[0]
		if len(pod.Containers) != 1 || !slices.Equal(c.Command, []string{names.ControlPlaneOperator}) {
			return nil, fmt.Errorf("the pod does not run %s: %+v", names.ControlPlaneOperator, pod.Containers)
		}
		var environ []string
		for _, v := range c.Env {
			if v.ValueFrom == nil {
				environ = append(environ, v.Name+"="+v.Value)
			}
		}
		parsing.Lock()
		opts, err := controlplane.Parse(names.ControlPlaneOperator, append(slices.Clone(c.Args),
			"--metrics-addr=127.0.0.1:0", "--health-addr=0", "--resync-period="+resync, "--api-start-interval=1s", "--api-interval=2s"), environ)
		parsing.Unlock()
		if err != nil {
			return nil, err
		}
		deps := controlplane.NewDependencies(opts)
		deps.Manager = i.manager()
		o, err := controlplane.New(i.config, opts, deps)
		if err != nil {
			return nil, err
		}
		return o, o.AddControllers()
	}
}
