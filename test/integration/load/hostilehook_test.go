// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
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

// With the memory limit of the manifests, the hook of one tenant neither ends the server nor holds up the parents of
// another tenant for long. For a minute of it: make bench-hostile-hook.
func TestAHostileHookHoldsUpNoOtherTenant(t *testing.T) {
	const memory = 512 << 20
	before := env.Server.Environment
	env.Server.Environment = append(slices.Clone(before), fmt.Sprintf("GOMEMLIMIT=%d", memory*9/10))
	restart := func() {
		if err := errors.Join(env.Server.Stop(), env.Server.Start(t.Context())); err != nil {
			t.Error(err)
		}
	}
	restart()
	t.Cleanup(func() { env.Server.Environment = before })

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
	until, used := time.Now().Add(*hostileFor), int64(0)
	beside, edits := victim.edit("p", func(edits int) bool {
		if edits%5 == 0 {
			used = max(used, goMemory(t))
		}
		return edits < 5 || time.Now().Before(until)
	})
	t.Logf("an edit takes %s, and %s beside a hostile hook (%d edits, %d hostile calls); the server had up to %d MiB",
		usual, beside, edits, calls.Load(), used>>20)
	if calls.Load() < 10 {
		t.Errorf("the hostile hook was called %d times", calls.Load())
	}
	if most := 3 * max(usual, 200*time.Millisecond); beside > most {
		t.Errorf("beside a hostile hook, an edit takes %s, want %s at most", beside, most)
	}
	if used > memory {
		t.Errorf("the server had %d bytes, want %d at most", used, memory)
	}
	hostile.DeleteController()
	hostile.WaitUntilControllerIsGone()
	restart()
}
