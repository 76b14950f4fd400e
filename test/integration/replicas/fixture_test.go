// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// fleet is several servers with one storage. The first of them serves the API.
type fleet struct {
	testing.TB
	etcd     *etcd
	group    string
	flags    []string // of all servers
	replicas []*replica
	// fixtures are controllers, each for parents of a namespace of its own.
	fixtures []*harness.Fixture
	hook     *hook.Server
	from     hostcluster.Position
}

// replica is one server.
type replica struct {
	*process.Process
	// name is a group of its user. It names itself otherwise, see lease.
	name string
	port int
	// isEnding is true once it was told to end, or killed. It would end at once if it was told again.
	isEnding bool
}

// acquired is what a replica logs each time it has a new Lease. The name of the Lease is its own.
var acquired = regexp.MustCompile(`"Successfully acquired lease".* replica="([^"]+)"`)

// lease returns the name that the replica has at the moment.
func (r *replica) lease(t testing.TB) string {
	t.Helper()
	log, err := os.ReadFile(r.LogPath())
	if err != nil {
		t.Fatal(err)
	}
	found := acquired.FindAllSubmatch(log, -1)
	if len(found) == 0 {
		return ""
	}
	return string(found[len(found)-1][1])
}

// newFleet returns servers that all serve, with flags beside those that they need.
func newFleet(t testing.TB, count int, flags ...string) *fleet {
	t.Helper()
	env.InstallRights(t)
	f := &fleet{TB: t, etcd: startEtcd(t), group: harness.Name("group"), flags: flags, from: env.AuditEnd(t)}
	for range count {
		f.start()
	}
	env.Register(t, f.replicas[0].port)
	f.eventually(func(ctx context.Context) error { return aggregation.Served(ctx, env.Config) })
	t.Cleanup(func() {
		if _, err := env.Host.RunKubectl(context.WithoutCancel(t.Context()), "delete", "--ignore-not-found", "apiservice", aggregation.APIServiceName); err != nil {
			t.Error(err)
		}
	})
	return f
}

// start starts one more server. It does not wait for anything.
func (f *fleet) start() *replica {
	f.Helper()
	binary, err := env.ServerBinary(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	r := &replica{name: harness.Name("replica")}
	if r.port, err = process.FreePort(); err != nil {
		f.Fatal(err)
	}
	// The group says in the audit log which replica a request is of.
	kubeconfig, err := env.Host.WriteKubeconfig(r.name, harness.ServerUser, "system:serviceaccounts", "system:authenticated", r.name)
	if err != nil {
		f.Fatal(err)
	}
	dir := f.TempDir()
	command := exec.Command(binary, append(slices.Concat(f.etcd.flags, f.flags), "--data-dir="+filepath.Join(dir, "data"), "--kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(r.port), "--certificate-secret=metacontroller-apiserver-certificates",
		"--leader-election-id="+f.group, "--shutdown-delay-duration=0")...)
	if r.Process, err = process.Start("metacontroller-apiserver", filepath.Join(dir, "log"), command); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := errors.Join(r.end(), harness.RaceFree(r.LogPath())); err != nil {
			f.Error(err)
		}
		if f.Failed() {
			f.Logf("the log of %s ends with\n%s", r.name, process.Tail(r.LogPath(), 40))
		}
	})
	f.replicas = append(f.replicas, r)
	return r
}

// run makes controllers, each with some parents that have a child.
func (f *fleet) run(t *testing.T, count, parents int, changes ...harness.CompositeChange) {
	f.Helper()
	f.hook = hook.Serve(f, func(_ context.Context, call hook.Call) hook.Answer {
		var asked hook.CompositeRequest
		if err := call.Decode(&asked); err != nil {
			return hook.Text(400, err.Error())
		}
		value, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
		if asked.Finalizing {
			return hook.JSON(harness.Object{"finalized": true, "children": []any{}})
		}
		return hook.JSON(harness.Object{"status": harness.Object{"seen": value}, "children": []any{hook.ConfigMap(asked.Parent.GetName(), harness.Object{"value": value})}})
	})
	things := env.Install(f, harness.CRD{Kind: "Thing"})
	for range count {
		fixture := harness.Fixture{T: t, Env: env, Parents: things, Hook: f.hook, Namespace: env.Namespace(f)}
		spec := fixture.CompositeSpec(changes...)
		spec.Namespaces = []string{fixture.Namespace}
		fixture.RunComposite(spec)
		for i := range parents {
			fixture.CreateParent(parentName(i), harness.Object{"value": "0"})
		}
		f.fixtures = append(f.fixtures, &fixture)
	}
	for _, fixture := range f.fixtures {
		for i := range parents {
			fixture.WaitForConfigMap(parentName(i), harness.HasData("value", "0"))
		}
	}
}

func parentName(i int) string { return fmt.Sprint("p", i) }

// edit changes the first parent of each controller.
func (f *fleet) edit(value string) {
	f.Helper()
	for _, fixture := range f.fixtures {
		fixture.PatchParent(parentName(0), harness.Object{"spec": harness.Object{"value": value}})
	}
}

// waitForEdit waits until the edit has reached all children.
func (f *fleet) waitForEdit(value string) {
	f.Helper()
	for _, fixture := range f.fixtures {
		fixture.WaitForConfigMap(parentName(0), harness.HasData("value", value))
	}
}

// runners returns how many controllers each replica runs; "" for those that none does.
func (f *fleet) runners(ctx context.Context) (map[string]int, error) {
	list, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, item := range list.Items {
		count[f.nameOf(item.Status.Runner)]++
	}
	return count, nil
}

func (f *fleet) nameOf(runner *v1alpha1.Runner) string {
	if runner == nil {
		return ""
	}
	for _, replica := range f.replicas {
		if runner.Replica == replica.lease(f) {
			return replica.name
		}
	}
	return runner.Replica
}

// waitForEven waits until replicas run all controllers, each as many as any other. It returns how long that took.
func (f *fleet) waitForEven(among ...*replica) time.Duration {
	f.Helper()
	began := time.Now()
	f.eventually(func(ctx context.Context) error {
		count, err := f.runners(ctx)
		if err != nil {
			return err
		}
		least, most := len(f.fixtures), 0
		for _, replica := range among {
			least, most = min(least, count[replica.name]), max(most, count[replica.name])
		}
		if len(count) != len(among) || most-least > 1 {
			return fmt.Errorf("the controllers run in %v", count)
		}
		return nil
	})
	return time.Since(began)
}

// waitUntilRunning waits until some replicas run all controllers, and returns how long that took.
func (f *fleet) waitUntilRunning(in ...*replica) time.Duration {
	f.Helper()
	began := time.Now()
	f.eventually(func(ctx context.Context) error {
		count, err := f.runners(ctx)
		if err != nil {
			return err
		}
		for _, replica := range in {
			delete(count, replica.name)
		}
		if len(count) > 0 {
			return fmt.Errorf("other controllers run in %v", count)
		}
		return nil
	})
	return time.Since(began)
}

func (f *fleet) eventually(check func(context.Context) error) {
	f.Helper()
	if err := poll.Within(f.Context(), time.Minute, check); err != nil {
		f.Fatal(err)
	}
}

// terminate tells a replica to end. It does not wait.
func (f *fleet) terminate(r *replica) {
	f.Helper()
	r.isEnding = true
	f.signal(r, syscall.SIGTERM)
}

func (f *fleet) kill(r *replica) {
	f.Helper()
	r.isEnding = true
	f.signal(r, syscall.SIGKILL)
}

// end ends a replica, and waits until it has ended.
func (r *replica) end() error {
	if !r.isEnding {
		return r.Stop(aggregation.StopTimeout)
	}
	select {
	case <-r.Done():
		return nil
	case <-time.After(aggregation.StopTimeout):
		return errors.Join(fmt.Errorf("%s does not end", r.name), r.Kill())
	}
}

// signal sends a signal to a replica.
func (f *fleet) signal(to *replica, signal syscall.Signal) {
	f.Helper()
	if err := syscall.Kill(to.PID(), signal); err != nil {
		f.Fatal(err)
	}
}

// checkWriters fails the test unless each namespace had one writer at a time since the last check: after another
// one has begun, the former has written nothing more, unless it has a new Lease.
func (f *fleet) checkWriters() {
	f.Helper()
	f.checkWritersBy(func(of auditv1.ObjectReference) string { return of.Namespace })
}

// checkWritersOfParents is checkWriters for each parent and its child, which have the same name.
func (f *fleet) checkWritersOfParents() (writers map[string]int) {
	f.Helper()
	return f.checkWritersBy(func(of auditv1.ObjectReference) string { return of.Namespace + "/" + of.Name })
}

// checkWritersBy fails the test unless the objects with the same key had one writer at a time. It returns how many
// keys each has written last.
func (f *fleet) checkWritersBy(keyOf func(of auditv1.ObjectReference) string) (writers map[string]int) {
	f.Helper()
	events := f.writes()
	writers = map[string]int{}
	for _, fixture := range f.fixtures {
		over := map[string]map[string]string{} // who may write no more, and who has written since, by key
		current := map[string]string{}
		for _, event := range events {
			writer, of := f.writerOf(event.User.Groups), ptr.Deref(event.ObjectRef, auditv1.ObjectReference{})
			if of.Resource == "leases" && event.Verb == "create" {
				for _, former := range over {
					delete(former, writer)
				}
			}
			if of.Namespace != fixture.Namespace || of.Resource == "events" {
				continue
			}
			key := keyOf(of)
			if over[key] == nil {
				over[key] = map[string]string{}
			}
			if by, isOver := over[key][writer]; isOver {
				f.Errorf("after %s, %s has written again: %s %s", by, writer, event.Verb, event.RequestURI)
			}
			if current[key] != "" && current[key] != writer {
				over[key][current[key]] = writer
			}
			current[key] = writer
		}
		if len(current) == 0 {
			f.Errorf("nobody has written in %s", fixture.Namespace)
		}
		for _, writer := range current {
			writers[writer]++
		}
	}
	return writers
}

// checkHandOvers fails the test unless each write of a replica to a namespace since the last check was answered before
// another one began to write there. Unlike checkWriters, it lets a controller come back.
func (f *fleet) checkHandOvers() {
	f.Helper()
	events := f.writes()
	slices.SortFunc(events, func(a, b auditv1.Event) int {
		return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp.Time)
	})
	for _, fixture := range f.fixtures {
		latest := map[string]auditv1.Event{} // the write of each replica that was answered last
		for _, event := range events {
			of := ptr.Deref(event.ObjectRef, auditv1.ObjectReference{})
			if of.Namespace != fixture.Namespace || of.Resource == "events" {
				continue
			}
			writer := f.writerOf(event.User.Groups)
			for other, write := range latest {
				if other != writer && write.StageTimestamp.After(event.RequestReceivedTimestamp.Time) {
					f.Errorf("%s wrote while %s did: %s %s", writer, other, write.Verb, write.RequestURI)
				}
			}
			if last, wrote := latest[writer]; !wrote || event.StageTimestamp.After(last.StageTimestamp.Time) {
				latest[writer] = event
			}
		}
		if len(latest) == 0 {
			f.Errorf("nobody has written in %s", fixture.Namespace)
		}
	}
}

// writes returns the writes of all replicas to the cluster since it was called last.
func (f *fleet) writes() []auditv1.Event {
	f.Helper()
	events, err := env.Host.Audit().Find(f.from, hostcluster.Request{User: harness.ServerUser, Verbs: hostcluster.Writes()})
	if err != nil {
		f.Fatal(err)
	}
	f.from = env.AuditEnd(f)
	return events
}

// checkCalls fails the test if two replicas have called the hook for the edit of a parent: more than one
// call has the new value beside the status that the parent had before.
func (f *fleet) checkCalls(value string) {
	f.Helper()
	calls := map[string]int{} // by namespace
	for _, call := range f.hook.Calls() {
		var asked hook.CompositeRequest
		if err := call.Decode(&asked); err != nil {
			f.Fatal(err)
		}
		now, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
		seen, _, _ := unstructured.NestedString(asked.Parent.Object, "status", "seen")
		if now == value && seen != value {
			calls[asked.Parent.GetNamespace()]++
		}
	}
	for _, fixture := range f.fixtures {
		if count := calls[fixture.Namespace]; count != 1 {
			f.Errorf("the hook was called %d times for an edit of the parent in %s, want once", count, fixture.Namespace)
		}
	}
}

func (f *fleet) writerOf(groups []string) string {
	for _, replica := range f.replicas {
		if slices.Contains(groups, replica.name) {
			return replica.name
		}
	}
	return fmt.Sprint(groups)
}
