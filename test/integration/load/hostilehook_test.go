// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

var hostileFor = flag.Duration("hostile-for", 10*time.Second, "how long a hook does all that is expensive")

// hostileAnswer is one that costs the server as much as it can.
type hostileAnswer struct {
	status     int
	etag, body string
}

// repeated returns a list of so many megabytes, which has the numbers of its parts at %d.
func repeated(megabytes int, format string) string {
	text := &strings.Builder{}
	for i := 0; text.Len() < megabytes<<20; i++ {
		fmt.Fprintf(text, format+",", i)
	}
	return strings.TrimSuffix(text.String(), ",")
}

func hostileAnswers() []hostileAnswer {
	const soon = `"resyncAfterSeconds":0.001`
	return []hostileAnswer{
		{body: `{"events":[{"reason":"A","message":"x"}],` + soon + `}`},
		{status: 500, body: strings.Repeat(`Secret "key": "value", 'a': b, `, 8<<20/31)},
		{body: `{` + repeated(4, `"childrem%d":{}`) + `,` + soon + `}`},
		{body: `{"status":{},` + soon + `}`, etag: strings.Repeat("e", 900<<10)},
		{body: `{"children":[` + repeated(8, `{"kind":"A%d"}`) + `]}`},
		{body: `{"status":{` + repeated(8, `"a%d":1`) + `},` + soon + `}`},
		{body: `{"status":{"a":"` + strings.Repeat("x", 30<<20) + `"},` + soon + `}`},
		{body: `{"events":[` + repeated(8, `{"reason":"A%d"}`) + `],` + soon + `}`},
		{body: strings.Repeat(`{"a":`, 9000) + `"Secret"` + strings.Repeat(`}`, 9000)},
	}
}

// serveHostile serves a customize hook that asks for the Secrets of a namespace, and a sync hook with hostile answers.
func serveHostile(t *testing.T, namespace string) (url string, calls *atomic.Int64) {
	t.Helper()
	answers, calls := hostileAnswers(), &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/customize" {
			_, _ = fmt.Fprintf(w, `{"relatedResources":[{"apiVersion":"v1","resource":"secrets","namespace":%q}]}`, namespace)
			return
		}
		answer := answers[int(calls.Add(1))%len(answers)]
		if answer.etag != "" {
			w.Header().Set("ETag", answer.etag)
		}
		if answer.status != 0 {
			w.WriteHeader(answer.status)
		}
		_, _ = io.WriteString(w, answer.body)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL, calls
}

// createSecrets creates Secrets of many short lines, of a megabyte each.
func (f *fixture) createSecrets(count int) {
	f.Helper()
	for i := range count {
		lines := &strings.Builder{}
		for line := range 70_000 {
			fmt.Fprintf(lines, "%x\n", uint64(line+i*1_000_000)*2_654_435_761%4_294_967_291)
		}
		secret := &corev1.Secret{StringData: map[string]string{"a": lines.String()}}
		secret.Name = fmt.Sprint("s", i)
		if _, err := env.Kube.CoreV1().Secrets(f.Namespace).Create(f.Context(), secret, metav1.CreateOptions{}); err != nil {
			f.Fatal(err)
		}
	}
}

// edit changes the parent again and again, and returns how long it takes at the median until the child follows.
func (f *fixture) edit(parent string, goesOn func(edits int) bool) (median time.Duration, edits int) {
	f.Helper()
	var took []time.Duration
	for goesOn(len(took)) {
		value := base64.StdEncoding.EncodeToString([]byte(time.Now().String()))
		f.set(parent, value)
		took = append(took, f.timeUntilValue(parent, value))
	}
	slices.Sort(took)
	return took[len(took)/2], len(took)
}

// goMemory returns how many bytes Go has from the system. Those of the race detector are not among them.
func goMemory(t *testing.T) int64 {
	t.Helper()
	families, err := env.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gauge := func(name string) int64 {
		metrics := families[name].GetMetric()
		if len(metrics) != 1 {
			t.Fatalf("there is no metric %s", name)
		}
		return int64(metrics[0].GetGauge().GetValue())
	}
	return gauge("go_memstats_sys_bytes") - gauge("go_memstats_heap_released_bytes")
}

// memory is the limit of the manifests.
const memory = 512 << 20

// limitMemory restarts the server with the limit, until the test ends.
func limitMemory(t *testing.T) {
	t.Helper()
	restart := func(environment []string) {
		env.Server.Environment = environment
		if err := errors.Join(env.Server.Stop(), env.Server.Start(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	}
	before := env.Server.Environment
	t.Cleanup(func() { restart(before) })
	restart(append(slices.Clone(before), fmt.Sprintf("GOMEMLIMIT=%d", memory*9/10)))
}

// expectNotHeldUp edits the parent of a victim while a hostile hook does what is expensive. begin is called before each
// edit.
func (f *fixture) expectNotHeldUp(usual time.Duration, begin func(edits int)) {
	f.Helper()
	until, used := time.Now().Add(*hostileFor), int64(0)
	beside, edits := f.edit("p", func(edits int) bool {
		begin(edits)
		if edits%5 == 0 {
			used = max(used, goMemory(f.T))
		}
		return edits < 5 || time.Now().Before(until)
	})
	f.Logf("an edit takes %s, and %s beside a hostile hook (%d edits); the server had up to %d MiB",
		usual, beside, edits, used>>20)
	if most := 3 * max(usual, 200*time.Millisecond); beside > most {
		f.Errorf("beside a hostile hook, an edit takes %s, want %s at most", beside, most)
	}
	if used > memory {
		f.Errorf("the server had %d bytes, want %d at most", used, memory)
	}
}

// With the memory limit of the manifests, the hook of one tenant neither ends the server nor holds up the parents of
// another tenant for long. For a minute of it: make bench-hostile-hook.
func TestAHostileHookHoldsUpNoOtherTenant(t *testing.T) {
	limitMemory(t)
	victim := prepare(t, hook.Answering(t, oneConfigMap))
	victim.CreateParent("p", object{"value": "0"})
	victim.start()
	victim.timeUntilValue("p", "0")
	usual, _ := victim.edit("p", func(edits int) bool { return edits < 20 })

	hostile := prepare(t, hook.Answering(t, oneConfigMap))
	hostile.createSecrets(8)
	url, calls := serveHostile(t, hostile.Namespace)
	for i := range 10 {
		hostile.CreateParent(fmt.Sprint("p", i), object{"value": "0"})
	}
	hostile.start(func(spec *v1alpha1.CompositeControllerSpec) {
		webhook := func(path string) *v1alpha1.Hook {
			return &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{
				URL: ptr.To(url + path), Etag: &v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)},
			}}
		}
		spec.ResyncPeriodSeconds = ptr.To(int32(1))
		spec.Hooks.Sync, spec.Hooks.Customize = webhook("/sync"), webhook("/customize")
	})
	victim.expectNotHeldUp(usual, func(int) {})
	if calls.Load() < 10 {
		t.Errorf("the hostile hook was called %d times", calls.Load())
	}
	hostile.DeleteController()
	hostile.WaitUntilControllerIsGone()
}

// doubled returns variables with the name of a kind and a number, each of which has twice what the one before it has.
func doubled(kind, first, twice string) string {
	text := fmt.Sprintf("- {name: %s0, expression: %q}\n", kind, first)
	for i := range 40 {
		before := fmt.Sprintf("variables.%s%d", kind, i)
		text += fmt.Sprintf("- {name: %s%d, expression: %q}\n", kind, i+1, strings.ReplaceAll(twice, "x", before))
	}
	return text
}

// hostileAttacks are expressions about 10,000 objects or a text of 10,000 characters, with what each exceeds; empty if
// it costs less than it may.
func hostileAttacks() map[string]string {
	const cost = "costs too much: the cost limit of an expression is"
	const made = "costs too much: the functions in all expressions of a hook"
	return map[string]string{
		"parent.spec.items.map(a, parent.spec.items.filter(b, b.n == a.n).size()).size()": cost,
		"size(variables.text39)":                                       made,
		"variables.text8.matches('(.*x){1,9}y(.*)+')":                  cost,
		"lists.range(2000).all(a, lists.range(20).all(b, a + b >= 0))": "",
	}
}

// The parents of a tenant whose expressions cost too much get their own errors, and do not hold up the inline hook of
// another tenant.
func TestAHostileInlineHookHoldsUpNoOtherTenant(t *testing.T) {
	limitMemory(t)
	victim := prepare(t, hook.Answering(t, oneConfigMap))
	victim.CreateParent("p", object{"value": "0"})
	victim.start(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Sync = harness.InlineHook(t, `{children: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: `+
			`"${parent.metadata.name}"}, data: {value: "${parent.spec.value}"}}}]}`)
	})
	victim.timeUntilValue("p", "0")
	usual, _ := victim.edit("p", func(edits int) bool { return edits < 20 })

	hostile, attacks := prepare(t, hook.Answering(t, oneConfigMap)), slices.Sorted(maps.Keys(hostileAttacks()))
	template := "children: []\nvariables:\n" + doubled("text", "parent.spec.text", "x + x")
	items, chosen := []object{}, "0"
	for i, attack := range attacks {
		template += fmt.Sprintf("- {name: attack%d, expression: %q}\n", i, attack)
		chosen = fmt.Sprintf("parent.spec.attack == %d ? variables.attack%d : dyn(%s)", i, i, chosen)
	}
	for i := range 10_000 {
		items = append(items, object{"n": i})
	}
	for i := range attacks {
		hostile.CreateParent(fmt.Sprint("p", i), object{"attack": i, "items": items, "text": strings.Repeat("x", 10_000)})
	}
	hostile.start(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Sync = harness.InlineHook(t, template+fmt.Sprintf("status: {result: %q}\n", "${"+chosen+"}"))
	})
	victim.expectNotHeldUp(usual, func(edits int) {
		changed := object{"edits": fmt.Sprint(edits)}
		hostile.PatchParent(fmt.Sprint("p", edits%len(attacks)), object{"metadata": object{"annotations": changed}})
	})
	for i, attack := range attacks {
		if want := hostileAttacks()[attack]; want != "" {
			env.WaitForEvent(t, hostile.Namespace, fmt.Sprint("p", i), "SyncError", want)
			continue
		}
		hostile.WaitForParent(fmt.Sprint("p", i), func(parent *unstructured.Unstructured) error {
			if result, _, _ := unstructured.NestedBool(parent.Object, "status", "result"); !result {
				return fmt.Errorf("the result of %s is missing", attack)
			}
			return nil
		})
	}
	hostile.DeleteController()
	hostile.WaitUntilControllerIsGone()
}
