// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func inlineHook(t *testing.T, name, template string, options Options) *Webhook {
	t.Helper()
	hook := &v1alpha1.Hook{Inline: &v1alpha1.InlineHook{}}
	if err := yaml.UnmarshalStrict([]byte(template), hook.Inline); err != nil {
		t.Fatal(err)
	}
	options.MaxResponseBytes = limit
	made, err := New(name, hook, nil, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	if err := made.Connect(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return made
}

const namesParent = `{status: {name: "${parent.metadata.name}"}, children: [{object: {apiVersion: v1, kind: ` +
	`Pod, metadata: {name: "${parent.metadata.name}"}}}]}`

func TestInlineHooksAnswer(t *testing.T) {
	response, err := inlineHook(t, Sync, namesParent, Options{}).SyncComposite(t.Context(), snapshot(t))
	if err != nil {
		t.Fatal(err)
	}
	if string(response.Status) != `{"name":"shop"}` || len(response.Children) != 1 || response.Children[0].Name != "shop" {
		t.Errorf("response %+v", response)
	}
	decorator := inlineHook(t, Sync, `{labels: {a: "${object.metadata.name}", b: null}, attachments: `+
		`[]}`, Options{Decorates: true})
	response, err = decorator.SyncDecorator(t.Context(), snapshot(t))
	if err != nil || *response.Labels["a"] != "shop" || response.Labels["b"] != nil || !response.SaysChildren {
		t.Errorf("response %+v, error %v", response, err)
	}
	customize := inlineHook(t, Customize, `relatedResources: [{apiVersion: v1, resource: pods, names: `+
		`["${parent.metadata.name}"]}]`, Options{})
	rules, _, err := customize.Customize(t.Context(), snapshot(t))
	if err != nil || len(rules) != 1 || rules[0].Names[0] != "shop" {
		t.Errorf("rules %v, error %v", rules, err)
	}
}

// A request that is the same as the last one is not evaluated. Another template would answer something else.
func TestTheSameRequestIsEvaluatedOnce(t *testing.T) {
	hook := inlineHook(t, Sync, namesParent, Options{})
	first, err := hook.SyncComposite(t.Context(), snapshot(t))
	if err != nil {
		t.Fatal(err)
	}
	hook.inline = inlineHook(t, Sync, `{}`, Options{}).inline
	second, err := hook.SyncComposite(t.Context(), snapshot(t))
	if err != nil || second.Hash != first.Hash {
		t.Errorf("response %+v, error %v", second, err)
	}
	about := snapshot(t)
	about.Finalizing = true
	if third, err := hook.SyncComposite(t.Context(), about); err != nil || third.Hash == first.Hash {
		t.Errorf("another request has response %+v, error %v", third, err)
	}
}

// A request that failed is not evaluated again, neither one that has no answer nor one whose answer cannot be used.
func TestTheSameRequestFailsOnce(t *testing.T) {
	for template, want := range map[string]string{
		`status: {a: "${parent.spec.gone}"}`:                   "no such key: spec",
		`{status: {}, children: [{object: "${{'kind': 1}}"}]}`: "kind",
	} {
		hook := inlineHook(t, Sync, template, Options{})
		_, first := hook.SyncComposite(t.Context(), snapshot(t))
		hook.inline = inlineHook(t, Sync, `{}`, Options{}).inline
		_, second := hook.SyncComposite(t.Context(), snapshot(t))
		if first == nil || !strings.Contains(first.Error(), want) || second == nil || second.Error() != first.Error() {
			t.Errorf("%s: errors %v and %v", template, first, second)
		}
		about := snapshot(t)
		about.Finalizing = true
		if _, err := hook.SyncComposite(t.Context(), about); err != nil {
			t.Errorf("%s: another request has error %v", template, err)
		}
	}
}

// An evaluation that fails is the error of one parent: the hook does not count as down.
func TestAFailedEvaluation(t *testing.T) {
	hook := inlineHook(t, Sync, `status: {a: "${parent.spec.gone}"}`, Options{})
	for range 2 * failuresToOpen {
		_, err := hook.SyncComposite(t.Context(), snapshot(t))
		const want = `sync hook failed: inline: status.a: no such key: spec (at 1:12 of the expression)`
		if err == nil || err.Error() != want {
			t.Fatalf("error\n%v\nwant\n%s", err, want)
		}
	}
	if err := hook.CircuitOpen(); err != nil {
		t.Error(err)
	}
	large := inlineHook(t, Sync, `status: {a: "${'x'.replace('x', 'xxxxxxxxxx').replace('x', `+
		`'xxxxxxxxxx').replace('x', 'xxxxxxxxxx')}y"}`, Options{})
	if _, err := large.SyncComposite(t.Context(), snapshot(t)); err == nil || !strings.Contains(err.Error(), "the "+
		"answer is too large") {
		t.Errorf("error %v", err)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	about := snapshot(t)
	about.Finalizing = true
	if _, err := hook.SyncComposite(ctx, about); !errors.Is(err, stopped) {
		t.Errorf("error %v", err)
	}
}

func TestPreviewsEvaluateInlineHooks(t *testing.T) {
	var ended []Call
	hook := inlineHook(t, Sync, namesParent, Options{}).Preview(&Preview{
		Answer:  func(Call) ([]byte, error) { return nil, nil },
		Request: func(Call) []byte { return nil },
		Ended:   func(call Call) { ended = append(ended, call) },
	})
	var response *pipeline.Response
	response, err := hook.SyncComposite(t.Context(), snapshot(t))
	if err != nil || len(response.Children) != 1 || len(ended) != 1 || !ended[0].Inline || !ended[0].Made {
		t.Errorf("response %+v, error %v, calls %+v", response, err, ended)
	}
}

// The evaluations of a controller are one after the other. The long ones of a process leave processors free, and do not
// delay short ones.
func TestEvaluationsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1 << 20)
		evaluate := func(name string) *evaluationTurn {
			_, room, err := b.Enter(t.Context(), name, 0)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			taken, err := room.takeTurn(ctx)
			if err != nil {
				return nil
			}
			return taken
		}
		// pause returns a channel that is closed when the evaluation continues.
		pause := func(long *evaluationTurn) chan struct{} {
			continues := make(chan struct{})
			go func() {
				defer close(continues)
				if err := long.pause(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
			return continues
		}
		first := evaluate("first")
		<-pause(first)
		for i := range runtime.NumCPU()/2 - 1 {
			<-pause(evaluate(strconv.Itoa(i)))
		}
		second := evaluate("second")
		waits := pause(second)
		if evaluate("first") != nil {
			t.Error("two evaluations of a controller run at once")
		}
		if evaluate("short") == nil {
			t.Error("a short evaluation has to wait")
		}
		select {
		case <-waits:
			t.Error("the evaluations that take long use more than half of the processors")
		default:
		}
		waitsAgain := pause(first)
		<-waits
		second.end()
		<-waitsAgain
		first.end()
		if evaluate("first") == nil {
			t.Error("the evaluation after one that has ended has to wait")
		}
	})
}

func TestTheDeveloperModeDoesNotLogQuickEvaluations(t *testing.T) {
	hook := inlineHook(t, Sync, namesParent, Options{DeveloperMode: true})
	var lines []string
	if _, err := hook.SyncComposite(klog.NewContext(t.Context(), messages(&lines)), snapshot(t)); err != nil {
		t.Fatal(err)
	}
	if len(lines) > 0 {
		t.Errorf("the log says %q", lines)
	}
}
