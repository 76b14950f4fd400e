// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/leader"
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
	etcd *etcd
	// leaseName is the name of the Lease.
	leaseName string
	flags     []string // of all servers
	replicas  []*replica
	// fixtures are controllers, each for parents of a namespace of its own.
	fixtures []*harness.Fixture
	hook     *hook.Server
	from     hostcluster.Position
}

// replica is one server.
type replica struct {
	*process.Process
	// name is a group of its user, by which the audit log tells replicas apart.
	name string
	port int
	dir  string
	// isEnding is true once it was told to end, or killed. It would end at once if it was told again.
	isEnding bool
}

// newFleet returns servers that all serve, with flags beside those that they need.
func newFleet(t testing.TB, count int, flags ...string) *fleet {
	t.Helper()
	env.InstallRights(t)
	f := &fleet{TB: t, etcd: startEtcd(t), leaseName: harness.Name("lease"), flags: flags, from: env.AuditEnd(t)}
	for range count {
		f.start()
	}
	if count > 0 {
		f.serve()
	}
	return f
}

// serve has the cluster find the API at the first server, until the test ends.
func (f *fleet) serve() {
	f.Helper()
	env.Register(f, f.replicas[0].port)
	f.eventually(func(ctx context.Context) error { return aggregation.Served(ctx, env.Config) })
	f.Cleanup(func() {
		ctx := context.WithoutCancel(f.Context())
		_, err := env.Host.RunKubectl(ctx, "delete", "--ignore-not-found", "apiservice", aggregation.APIServiceName)
		if err != nil {
			f.Error(err)
		}
	})
}

// start starts one more server, with flags beside those of all. It does not wait for anything.
func (f *fleet) start(flags ...string) *replica {
	f.Helper()
	return f.startIn(f.TempDir(), flags...)
}

// startIn is start with the folder for the data.
func (f *fleet) startIn(dir string, flags ...string) *replica {
	f.Helper()
	binary, err := env.ServerBinary(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	r := &replica{name: harness.Name("replica"), dir: dir}
	if r.port, err = process.FreePort(); err != nil {
		f.Fatal(err)
	}
	// The group says in the audit log which replica a request is of.
	kubeconfig, err := env.Host.WriteKubeconfig(
		r.name, harness.ServerUser, "system:serviceaccounts", "system:authenticated", r.name)
	if err != nil {
		f.Fatal(err)
	}
	args := []string{"--data-dir=" + filepath.Join(dir, "data"), "--kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(r.port),
		"--certificate-secret=metacontroller-apiserver-certificates", "--leader-election-id=" + f.leaseName,
		"--shutdown-delay-duration=0"}
	if f.etcd != nil {
		args = append(args, f.etcd.flags...)
	}
	command := exec.Command(binary, slices.Concat(args, f.flags, flags)...)
	if r.Process, err = process.Start("metacontroller-apiserver", filepath.Join(dir, r.name+".log"), command); err != nil {
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
func (f *fleet) run(t *testing.T, count, parents int) {
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
		spec := fixture.CompositeSpec()
		spec.Namespaces = []string{fixture.Namespace}
		// It goes with the storage of the fleet: when the test ends, no server may be there to delete it.
		created, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Create(f.Context(),
			&v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: harness.Name("test")}, Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			f.Fatal(err)
		}
		fixture.Controller = harness.Composite(created.Name)
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

// leader returns the replica that holds a Lease; nil if none does.
func (f *fleet) leader(ctx context.Context, leaseName string) (*replica, error) {
	lease, err := env.Kube.CoordinationV1().Leases(aggregation.Namespace).Get(ctx, leaseName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
		return nil, nil
	}
	for _, one := range f.replicas {
		if lease.Annotations[leader.AddressAnnotation] == fmt.Sprintf("127.0.0.1:%d", one.port) {
			return one, nil
		}
	}
	return nil, fmt.Errorf("the leader is at %s", lease.Annotations[leader.AddressAnnotation])
}

// waitForLeader waits until a replica leads that is none of the given ones. It returns that, and how long it took.
func (f *fleet) waitForLeader(but ...*replica) (*replica, time.Duration) {
	f.Helper()
	began := time.Now()
	var found *replica
	f.eventually(func(ctx context.Context) error {
		var err error
		if found, err = f.leader(ctx, f.leaseName); err != nil {
			return err
		}
		if found == nil || slices.Contains(but, found) {
			return errors.New("there is no other leader")
		}
		return nil
	})
	return found, time.Since(began)
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

// expectWriters fails the test unless these replicas have written, each after the one before it had written for the
// last time.
func (f *fleet) expectWriters(want ...*replica) {
	f.Helper()
	writes := hostcluster.Request{User: harness.ServerUser, Verbs: hostcluster.Writes()}
	events, err := env.Host.Audit().Find(f.from, writes)
	if err != nil {
		f.Fatal(err)
	}
	slices.SortStableFunc(events, func(a, b auditv1.Event) int {
		return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp.Time)
	})
	var writers []string
	for _, event := range events {
		of := ptr.Deref(event.ObjectRef, auditv1.ObjectReference{})
		isOurs := func(one *harness.Fixture) bool { return one.Namespace == of.Namespace }
		if of.Resource == "events" || !slices.ContainsFunc(f.fixtures, isOurs) {
			continue
		}
		if writer := f.nameOf(event.User.Groups); len(writers) == 0 || writers[len(writers)-1] != writer {
			writers = append(writers, writer)
		}
	}
	var names []string
	for _, one := range want {
		names = append(names, one.name)
	}
	if !slices.Equal(writers, names) {
		f.Errorf("these have written, one after the other: %v, want %v", writers, names)
	}
}

// lists returns how often the parents have been listed since a position, by replica.
func (f *fleet) lists(from hostcluster.Position) map[string]int {
	f.Helper()
	events, err := env.Host.Audit().Find(from, hostcluster.Request{
		User: harness.ServerUser, Verbs: []string{"list", "watch"},
		Group: f.fixtures[0].Parents.Group, Resource: f.fixtures[0].Parents.Resource,
	})
	if err != nil {
		f.Fatal(err)
	}
	lists := map[string]int{}
	for _, event := range events {
		if event.Stage == auditv1.StageResponseStarted {
			continue // a watch is logged again when it ends
		}
		if event.Verb == "list" || strings.Contains(event.RequestURI, "sendInitialEvents=true") {
			lists[f.nameOf(event.User.Groups)]++
		}
	}
	return lists
}

func (f *fleet) nameOf(groups []string) string {
	for _, one := range f.replicas {
		if slices.Contains(groups, one.name) {
			return one.name
		}
	}
	return fmt.Sprint(groups)
}

// configOf reaches a replica directly, as a user who may do everything.
func (f *fleet) configOf(replica *replica) *rest.Config {
	f.Helper()
	bundle := env.Kubectl(f, "get", "apiservice", aggregation.APIServiceName, "-o", "jsonpath={.spec.caBundle}")
	authority, err := base64.StdEncoding.DecodeString(bundle)
	if err != nil {
		f.Fatal(err)
	}
	config := rest.CopyConfig(env.Config)
	config.Host = fmt.Sprintf("https://127.0.0.1:%d", replica.port)
	config.ServerName = aggregation.ServiceName + "." + aggregation.Namespace + ".svc"
	config.CAFile, config.CAData = "", authority
	return config
}

// get asks a replica for a path once.
func (f *fleet) get(ctx context.Context, from *replica, path string) (status int, header http.Header, err error) {
	f.Helper()
	config := f.configOf(from)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
	if err != nil {
		return 0, nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	return response.StatusCode, response.Header, response.Body.Close()
}
