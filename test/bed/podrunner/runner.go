package podrunner

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// refresh is how often the files of a running pod are compared with their Secrets and ConfigMaps; a kubelet takes about as long.
	refresh = 30 * time.Second
	// retry is the pace at which a pod that cannot start (a Secret is missing) is tried again.
	retry = 500 * time.Millisecond
)

// Options say what a Runner runs.
type Options struct {
	// Config is that of an administrator; the pods get identities of their own.
	Config *rest.Config
	// Dir takes the private directories of the pods and, in Dir/logs, one log per container.
	Dir string
	// Images are the images that can be run, by the reference that templates name.
	Images map[string]Image
	// Env is added to every container and wins over the template, e.g. AWS_ENDPOINT_URL.
	Env []string
	// Progress gets a line for each start and end of a process; nil for silence.
	Progress io.Writer
}

// Image is what an image of ours has in it.
type Image struct {
	Bin        string // local directory with its programs
	Entrypoint string // name of the program that runs when a container gives no command
	// Args are added to those of the template, by program and subcommand: periods of seconds instead of half an hour, for instance.
	Args map[string][]string
}

// Runner runs Deployments.
type Runner struct {
	Options
	client client.Client
	kube   kubernetes.Interface
	wake   chan event.TypedGenericEvent[*appsv1.Deployment] // a pod's readiness changed

	mu          sync.Mutex
	deployments map[types.NamespacedName]*replicas

	stop    context.CancelFunc
	stopped chan error
}

// replicas are the running pods of one generation of a Deployment's template.
type replicas struct {
	mu       sync.Mutex // held by one reconcile at a time, and by Kill
	template string     // hash
	pods     []*pod
}

// Start starts a Runner. It runs until Stop.
func Start(ctx context.Context, opts Options) (*Runner, error) {
	if opts.Progress == nil {
		opts.Progress = io.Discard
	}
	kube, err := kubernetes.NewForConfig(opts.Config)
	if err != nil {
		return nil, fmt.Errorf("starting the pod runner: %w", err)
	}
	mgr, err := ctrl.NewManager(opts.Config, ctrl.Options{
		Scheme:     clientgoscheme.Scheme,
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, // a test binary may start several
	})
	if err != nil {
		return nil, fmt.Errorf("starting the pod runner: %w", err)
	}
	r := &Runner{
		Options:     opts,
		client:      mgr.GetClient(),
		kube:        kube,
		wake:        make(chan event.TypedGenericEvent[*appsv1.Deployment], 100),
		deployments: map[types.NamespacedName]*replicas{},
		stopped:     make(chan error, 1),
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("podrunner").
		For(&appsv1.Deployment{}).
		WatchesRawSource(source.Channel(r.wake, &handler.TypedEnqueueRequestForObject[*appsv1.Deployment]{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10}).
		Complete(r)
	if err != nil {
		return nil, fmt.Errorf("starting the pod runner: %w", err)
	}
	// Not the caller's context: when that ends, the operators still have to be stopped, in order, by Stop.
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() { r.stopped <- mgr.Start(ctx) }()
	return r, nil
}

// Stop stops every pod.
func (r *Runner) Stop() error {
	r.stop()
	err := <-r.stopped
	r.mu.Lock()
	defer r.mu.Unlock()
	var wg sync.WaitGroup
	for _, d := range r.deployments {
		wg.Go(d.stop)
	}
	wg.Wait()
	clear(r.deployments)
	return err
}

// Kill ends the processes of a Deployment the way a crash does. They are started again like after any crash.
func (r *Runner) Kill(namespace, name string) error {
	d := r.replicas(types.NamespacedName{Namespace: namespace, Name: name})
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pods) == 0 {
		return fmt.Errorf("killing %s/%s: it does not run", namespace, name)
	}
	for _, p := range d.pods {
		p.kill()
	}
	return nil
}

// Reconcile makes the processes of a Deployment what its template says, and its status what the processes are.
func (r *Runner) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	d := &appsv1.Deployment{}
	err := r.client.Get(ctx, req.NamespacedName, d)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err != nil || !d.DeletionTimestamp.IsZero() || !r.ours(d) {
		r.replicas(req.NamespacedName).stop()
		return ctrl.Result{}, nil
	}
	running := r.replicas(req.NamespacedName)
	running.mu.Lock()
	defer running.mu.Unlock()

	result := ctrl.Result{RequeueAfter: refresh}
	problem := r.ensurePods(ctx, d, running)
	if problem != nil {
		result.RequeueAfter = retry
	}
	old := d.DeepCopy()
	d.Status = status(d, running.pods, problem, time.Now())
	if equality.Semantic.DeepEqual(old.Status, d.Status) {
		return result, nil
	}
	err = r.client.Status().Patch(ctx, d, client.MergeFrom(old))
	return result, client.IgnoreNotFound(err)
}

// ours says whether every container's image is one of ours.
func (r *Runner) ours(d *appsv1.Deployment) bool {
	for _, c := range d.Spec.Template.Spec.Containers {
		if _, ok := r.Images[c.Image]; !ok {
			return false
		}
	}
	return true
}

// ensurePods starts and stops pods until there are as many as wanted, all from the present template.
func (r *Runner) ensurePods(ctx context.Context, d *appsv1.Deployment, running *replicas) error {
	template, err := hash(d.Spec.Template)
	if err != nil {
		return err
	}
	if running.template != template {
		running.stopDownTo(0)
		running.template = template
	}
	want := 1
	if d.Spec.Replicas != nil {
		want = int(*d.Spec.Replicas)
	}
	running.stopDownTo(want)
	for _, p := range running.pods {
		if err := p.refresh(ctx); err != nil {
			return err
		}
	}
	for len(running.pods) < want {
		p, err := r.newPod(ctx, d, len(running.pods))
		if err != nil {
			return err
		}
		running.pods = append(running.pods, p)
		p.start()
	}
	return nil
}

func (r *Runner) replicas(name types.NamespacedName) *replicas {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deployments[name] == nil {
		r.deployments[name] = &replicas{}
	}
	return r.deployments[name]
}

func (d *replicas) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopDownTo(0)
}

func (d *replicas) stopDownTo(want int) {
	for len(d.pods) > want {
		last := d.pods[len(d.pods)-1]
		d.pods = d.pods[:len(d.pods)-1]
		last.stop()
	}
}

func (r *Runner) say(format string, args ...any) {
	fmt.Fprintf(r.Progress, format+"\n", args...)
}
