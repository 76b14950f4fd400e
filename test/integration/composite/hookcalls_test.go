// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// etagHook answers 200 with an ETag, or the status short to a request with that ETag. The answer
// stays the same until its version changes.
type etagHook struct {
	mu      sync.Mutex
	version int
	// short is the status for requests with the present ETag.
	short int
	// repeated holds the last short status about each parent, by UID.
	repeated map[string]int
	// carried holds the If-None-Match of the first request about each parent, by UID.
	carried map[string]string
}

func newETagHook() *etagHook {
	return &etagHook{version: 1, short: http.StatusNotModified, repeated: map[string]int{}, carried: map[string]string{}}
}

func (h *etagHook) set(version, short int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version, h.short = version, short
}

func (h *etagHook) handle(_ context.Context, call hook.Call) hook.Answer {
	var asked request
	if err := call.Decode(&asked); err != nil {
		return hook.Text(http.StatusBadRequest, err.Error())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	parent, etag := string(asked.Parent.GetUID()), fmt.Sprintf(`"%d"`, h.version)
	if _, called := h.carried[parent]; !called {
		h.carried[parent] = call.Header.Get("If-None-Match")
	}
	if call.Header.Get("If-None-Match") == etag {
		h.repeated[parent] = h.short
		return hook.Text(h.short, "")
	}
	answer := hook.JSON(object{"children": []object{hook.ConfigMap(asked.Parent.GetName(), object{"value": strconv.Itoa(h.version)})}})
	answer.Header.Set("ETag", etag)
	return answer
}

// hasRepeated reports whether the last short answer about a parent had a status.
func (h *etagHook) hasRepeated(parent string, status int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.repeated[parent] == status
}

// etag turns on the ETag cache of the sync hook.
func etag(config v1alpha1.WebhookEtagConfig) change {
	config.Enabled = ptr.To(true)
	return func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Sync.Webhook.Etag = &config }
}

// deleteAndWaitForConfigMap deletes a child and waits until it was created again.
func (f *fixture) deleteAndWaitForConfigMap(name, value string) {
	f.Helper()
	before := f.WaitForConfigMap(name, harness.HasData("value", value))
	f.DeleteConfigMap(name)
	f.WaitForConfigMap(name, func(found *corev1.ConfigMap) error {
		if found.UID == before.UID {
			return fmt.Errorf("ConfigMap %s is still the one that was deleted", name)
		}
		return harness.HasData("value", value)(found)
	})
}

// An answer is known by its ETag as long as its parent is there. Metacontroller identifies a parent by its kind,
// namespace and name, and so takes the answer about an earlier parent.
func TestQ44ETagsAreOfOneParent(t *testing.T) {
	t.Parallel()
	etags := newETagHook()
	f := start(t, etags.handle, etag(v1alpha1.WebhookEtagConfig{}))
	parent := string(f.CreateParent("a", object{}).GetUID())
	f.WaitForConfigMap("a", harness.HasData("value", "1"))

	for _, short := range []int{http.StatusNotModified, http.StatusPreconditionFailed} {
		etags.set(1, short)
		f.deleteAndWaitForConfigMap("a", "1") // from what is remembered: the hook says no more than that it is the same
		if !etags.hasRepeated(parent, short) {
			t.Errorf("the hook was not asked in a way to which it could answer %d", short)
		}
	}
	etags.set(2, http.StatusNotModified)
	f.PatchParent("a", object{"spec": object{"value": "changed"}})
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
	f.deleteAndWaitForConfigMap("a", "2")
	if !etags.hasRepeated(parent, http.StatusNotModified) {
		t.Error("the hook was not asked in a way to which it could answer 304")
	}

	f.DeleteParent("a")
	second := string(f.CreateParent("a", object{}).GetUID())
	env.Eventually(t, func(context.Context) error {
		etags.mu.Lock()
		defer etags.mu.Unlock()
		carried, called := etags.carried[second]
		if !called {
			return fmt.Errorf("the hook has not been called about the second parent")
		}
		if carried != "" {
			t.Errorf("the first call about the second parent carried the ETag %s of the first's answer", carried)
		}
		return nil
	})
}

// Metacontroller panics if cacheTimeoutSeconds is set and cacheCleanupSeconds is not.
func TestQ20ETagsTimeOutWithoutCleanup(t *testing.T) {
	t.Parallel()
	etags := newETagHook()
	f := start(t, etags.handle, etag(v1alpha1.WebhookEtagConfig{CacheTimeoutSeconds: ptr.To[int32](1)}))
	f.CreateParent("a", object{})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	first := f.Hook.Calls()[0].At
	env.Eventually(t, func(context.Context) error {
		f.PatchParent("a", object{"metadata": object{"annotations": object{"touched": time.Now().String()}}})
		carried := ""
		for _, call := range f.Hook.Calls() {
			switch now := call.Header.Get("If-None-Match"); {
			case carried != "" && now == "" && call.At.Sub(first) < time.Second:
				t.Errorf("an answer of %s ago was forgotten", call.At.Sub(first))
				return nil
			case carried != "" && now == "":
				return nil
			case now != "":
				carried = now
			}
		}
		return fmt.Errorf("in %d calls no answer timed out", len(f.Hook.Calls()))
	})
}

// throttling answers 429 so many times, and then like oneConfigMap.
func throttling(t *testing.T, times int, retryAfter string) hook.Handler {
	var mu sync.Mutex
	calls := 0
	good := answers(t, oneConfigMap)
	return func(ctx context.Context, call hook.Call) hook.Answer {
		mu.Lock()
		calls++
		refuse := calls <= times
		mu.Unlock()
		if !refuse {
			return good(ctx, call)
		}
		answer := hook.Text(http.StatusTooManyRequests, "")
		if retryAfter != "" {
			answer.Header = http.Header{"Retry-After": {retryAfter}}
		}
		return answer
	}
}

// Metacontroller calls such a hook 1500 times a second.
func TestQ8AHookThatAsksForLaterIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		retryAfter string
		times      int
		least      time.Duration // that the calls take
		touch      bool          // the parent, which comes before
	}{
		"without a time":                      {"", 8, 600 * time.Millisecond, false}, // 5 ms, doubled each time
		"in seconds":                          {"1", 3, 1900 * time.Millisecond, false},
		"at a date, unless something changes": {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, throttling(t, test.times, test.retryAfter))
			f.CreateParent("a", object{"value": "1"})
			if test.touch {
				f.WaitForCalls(1)
				f.PatchParent("a", object{"metadata": object{"annotations": object{"touched": "yes"}}})
			}
			f.WaitForConfigMap("a", harness.HasData("value", "1"))
			calls := f.Hook.Calls()
			if took := calls[test.times].At.Sub(calls[0].At); took < test.least {
				t.Errorf("%d calls took %s, want at least %s", test.times+1, took, test.least)
			}
			f.ExpectNoSyncError("a")
		})
	}
}
