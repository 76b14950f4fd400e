// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/test/faults/proxy"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// clock is how times are printed.
const clock = "15:04:05.000"

// bound is how long a step may take to reach its end state. A step without faults takes less than
// a second; waits for retries come on top.
const bound = 30 * time.Second

// run is one play of a scenario: in a namespace of its own, with a controller of its own, and with
// processes that see no other controller.
type run struct {
	harness.Fixture
	scenario *scenario
	engine   controller.ApplyStrategy
	pattern  pattern
	id       string
	witness  *witness
	kubelet  *kubelet // nil if the scenario has none
	from     hostcluster.Position
	// gates are those of all lives of the process.
	gates []*proxy.Gate

	deaths chan struct{}

	mu       sync.Mutex
	current  *process
	isPaused bool
	// lives are the proxies of all processes so far.
	lives []*proxy.Proxy
	log   bytes.Buffer
	// lag is what the next life finds, nil if the host does not lag.
	lag *proxy.Lag
	// began is when each step began.
	began []time.Time
}

// newRun starts a run: its namespace, hook, controller and first process.
func newRun(t *testing.T, s *scenario, engine controller.ApplyStrategy, p pattern) *run {
	t.Helper()
	played.Add(1)
	r := &run{scenario: s, engine: engine, pattern: p, id: harness.Name("run"), deaths: make(chan struct{}, 100)}
	r.Fixture = harness.Fixture{T: t, Env: env, Parents: sharedTypesOf(t).things, Namespace: env.Namespace(t)}
	r.Hook = hook.Serve(t, func(ctx context.Context, call hook.Call) hook.Answer { return r.answer(ctx, call) })
	r.from = env.AuditEnd(t)
	if s.hasKubelet {
		r.kubelet = startKubelet(r)
		t.Cleanup(r.kubelet.stop)
	}
	r.witness = watchNamespace(r)
	t.Cleanup(r.cleanUp)
	t.Cleanup(r.report)
	r.createItem(foreign, nil, nil)
	if p.prepare != nil {
		p.prepare(r)
	}
	s.create(r)
	r.begin()
	t.Cleanup(r.supervise())
	return r
}

// cleanUp deletes what the run has left. Each new process lists the objects of all runs.
func (r *run) cleanUp() {
	ctx := context.WithoutCancel(r.Context())
	for _, resource := range []schema.GroupVersionResource{sharedTypesOf(r).things, sharedTypesOf(r).parts, sharedTypesOf(r).items, revisions} {
		err := env.Dynamic.Resource(resource).Namespace(r.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		if err != nil {
			r.Errorf("delete what the run has left: %v", err)
		}
	}
}

// begin starts the next life of the process, unless there is one or the run is paused.
func (r *run) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil || r.isPaused {
		return
	}
	started, err := r.start(len(r.lives))
	if err != nil {
		r.Errorf("start the process: %v", err)
		return
	}
	r.current = started
}

// start starts a life of the process. It is called with the lock held.
func (r *run) start(life int) (*process, error) {
	script := proxy.Script{Name: userAgent(life), Gates: r.gates, Lag: r.lag}
	options := controller.DefaultOptions()
	options.Namespace = "metacontroller"
	options.TargetLabelSelector = "run=" + r.id
	options.ApplyStrategy = r.engine
	// One write after the other: the n-th write is the same one in each run.
	options.Workers, options.ParallelWritesPerSync = 1, 1
	if r.pattern.options != nil {
		r.pattern.options(r, life, &options)
	}
	if r.pattern.do != nil {
		script.Do = r.pattern.do(r, life)
	}
	started, err := startProcess(&locked{mu: &r.mu, to: &r.log}, script, options)
	if err != nil {
		return nil, err
	}
	r.lives = append(r.lives, started.proxy)
	return started, nil
}

// userAgent is by what a life of the process is known in the host's audit log.
func userAgent(life int) string { return fmt.Sprintf("life-%d", life+1) }

// locked is a log that lives share.
type locked struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (l *locked) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(line)
}

// supervise starts the process again each time it dies, until the function that it returns is
// called.
func (r *run) supervise() (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-r.deaths:
				r.restart()
			case <-ended:
				r.end()
				return
			}
		}
	}()
	return func() {
		for _, gate := range r.gates {
			gate.Open()
		}
		close(ended)
		<-done
	}
}

// end ends the present life.
func (r *run) end() {
	r.mu.Lock()
	current := r.current
	r.current = nil
	r.mu.Unlock()
	if current == nil {
		return
	}
	if err := current.kill(); err != nil {
		r.Error(err)
	}
}

// restartAt is restart at a host that lags.
func (r *run) restartAt(lag *proxy.Lag) {
	r.mu.Lock()
	r.lag = lag
	r.mu.Unlock()
	r.restart()
}

// restart ends the present life and begins the next one.
func (r *run) restart() {
	r.end()
	r.begin()
}

// pause ends the process until resume is called.
func (r *run) pause() {
	r.setPaused(true)
	r.end()
}

func (r *run) resume() {
	r.setPaused(false)
	r.begin()
}

func (r *run) setPaused(isPaused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isPaused = isPaused
}

// died tells that the process was cut off.
func (r *run) died() { r.deaths <- struct{}{} }

// play takes the steps one by one. After each, the host must have what it has without faults. The
// first run of a scenario has no faults, and completes the reference.
func (r *run) play(reference *reference) {
	r.Helper()
	for i, step := range r.scenario.steps {
		r.beginStep(step)
		call(r.pattern.before, r, i)
		step.do(r)
		call(r.pattern.after, r, i)
		if !reference.isComplete {
			r.await(func() error { return step.until(r) })
			r.awaitQuiet()
			reference.states = append(reference.states, r.stateAfter(step))
		}
		r.await(func() error { return reference.states[i].compare(r.stateAfter(step)) })
		if r.pattern.quiet != nil {
			r.pattern.quiet(r, i)
			r.await(func() error { return reference.states[i].compare(r.stateAfter(step)) })
		}
	}
	if !reference.isComplete {
		reference.isComplete, reference.writes = true, r.lives[0].Writes()
	}
	r.checkInvariants(reference)
}

// reference is what the host has after each step of a scenario without faults.
type reference struct {
	states     []state
	writes     int
	isComplete bool
}

func call(hook func(*run, int), r *run, step int) {
	if hook != nil {
		hook(r, step)
	}
}

// stateAfter is what the host has after a step, as far as that is the same each time.
func (r *run) stateAfter(step step) state {
	found := r.state()
	if step.orphansRevisions {
		found = slices.DeleteFunc(found, func(line string) bool { return strings.Contains(line, `"kind":"ControllerRevision"`) })
	}
	return found
}

func (r *run) state() state {
	return r.witness.state(strings.NewReplacer(r.id, "RUN", r.Namespace, "NAMESPACE"))
}

// quiet is how long nothing changes after a step without faults.
const quiet = 500 * time.Millisecond

// awaitQuiet waits until nothing changes any more.
func (r *run) awaitQuiet() {
	for {
		select {
		case <-r.witness.changed:
		case <-time.After(quiet):
			return
		}
	}
}

func (r *run) beginStep(step step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = append(r.began, time.Now())
	fmt.Fprintf(&r.log, "---- step %d: %s\n", len(r.began), step.name)
}

// note writes a line into the log of the run.
func (r *run) note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.log, "---- %s\n", line)
}

// step names the step that is under way.
func (r *run) step() string {
	if len(r.began) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", len(r.began), r.scenario.steps[len(r.began)-1].name)
}

// await waits until check accepts what the witness has seen.
func (r *run) await(check func() error) {
	r.Helper()
	deadline := time.NewTimer(bound)
	defer deadline.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-r.witness.changed:
		case <-deadline.C:
			r.Fatalf("step %s does not end within %s: %v", r.step(), bound, err)
		case <-r.Context().Done():
			r.Fatal(err)
		}
	}
}

// report prints what is needed to understand and repeat a run that failed.
func (r *run) report() {
	if !r.Failed() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, began := range r.began {
		r.Logf("step %d, %s, began at %s", i+1, r.scenario.steps[i].name, began.Format(clock))
	}
	for i, life := range r.lives {
		r.Logf("life %d of the process:\n%s", i+1, strings.Join(life.Journal(), "\n"))
	}
	r.Logf("the log of the process:\n%s", r.log.String())
	r.Logf("state at the end:\n%s", strings.Join(r.state(), "\n"))
	if !strings.Contains(r.Name(), seedPrefix) { // a random walk says itself how to repeat it
		r.Logf("repeat it with: go test ./test/faults -count=1 -run '%s'", selecting(strings.Replace(r.Name(), "TestRandomWalk", "TestFaults", 1)))
	}
}

// selecting returns the regular expressions that select a run, and the one without faults that it is
// compared with.
func selecting(name string) string {
	elements := strings.Split(name, "/")
	for i := range elements {
		if i == 3 && elements[i] != noFaults { // below the scenario and the engine
			elements[i] = "(" + noFaults + "|" + elements[i] + ")"
		}
		elements[i] = "^" + elements[i] + "$"
	}
	return strings.Join(elements, "/")
}

// label is the metadata by which the controller of the run finds its parents.
func (r *run) label() object { return object{"labels": object{"run": r.id}} }

// createComposite creates the controller of the run.
func (r *run) createComposite(changes ...harness.CompositeChange) {
	r.Helper()
	items := harness.ChildRule(sharedTypesOf(r).items.GroupVersion().String(), "items", v1alpha1.ChildUpdateInPlace)
	spec := r.CompositeSpec(append([]harness.CompositeChange{func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{items}
	}}, changes...)...)
	spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"run": r.id}}
	harness.CreateController(r, env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers(), &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: r.id, Labels: map[string]string{"run": r.id}}, Spec: spec,
	})
	r.Controller = harness.Composite(r.id)
}

// createDecorator is createComposite for the other kind.
func (r *run) createDecorator(changes ...harness.DecoratorChange) {
	r.Helper()
	spec := r.DecoratorSpec(changes...)
	items := harness.AttachmentRule(sharedTypesOf(r).items.GroupVersion().String(), "items", v1alpha1.ChildUpdateInPlace)
	spec.Attachments = []v1alpha1.DecoratorControllerAttachmentRule{items}
	spec.Resources[0].LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"run": r.id}}
	harness.CreateController(r, env.Metacontroller.MetacontrollerV1alpha1().DecoratorControllers(), &v1alpha1.DecoratorController{
		ObjectMeta: metav1.ObjectMeta{Name: r.id, Labels: map[string]string{"run": r.id}}, Spec: spec,
	})
	r.Controller = harness.Decorator(r.id)
}
