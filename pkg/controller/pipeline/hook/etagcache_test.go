// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// etagHook is a sync hook with an ETag cache.
func etagHook(t *testing.T, url string, etag v1alpha1.WebhookEtagConfig) *Webhook {
	t.Helper()
	made, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url, Etag: &etag}}, nil,
		Options{Limits: Limits{MaxResponseBytes: limit}, MaxIdleConnections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

// turn is one call: what it must carry, what the hook answers, and what comes of it.
type turn struct {
	parent      string // UID
	ifNoneMatch string
	status      int // 0 is 200
	etag, body  string
	// want is the status that is read, or with refused the end of the error.
	want    string
	refused bool
}

// play has a hook called turn by turn.
func play(t *testing.T, etag v1alpha1.WebhookEtagConfig, turns []turn) {
	t.Helper()
	var now turn
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := strings.Join(r.Header.Values("If-None-Match"), ","); got != now.ifNoneMatch {
			t.Errorf("the request carries If-None-Match %q, want %q", got, now.ifNoneMatch)
		}
		if now.etag != "" {
			w.Header().Set("ETag", now.etag)
		}
		if now.status != 0 {
			w.WriteHeader(now.status)
		}
		_, _ = io.WriteString(w, now.body)
	})
	hook := etagHook(t, address, etag)
	for i, next := range turns {
		now = next
		about := snapshot(t)
		about.Parent = parsed(t, fmt.Sprintf(`{"kind":"Web","metadata":{"name":"shop","namespace":"default","uid":%q}}`, next.parent))
		response, err := hook.SyncComposite(t.Context(), about)
		switch {
		case next.refused && (err == nil || !strings.HasSuffix(err.Error(), next.want)):
			t.Errorf("call %d: error is\n%v\nwant\n%s", i, err, next.want)
		case !next.refused && err != nil:
			t.Errorf("call %d: %v", i, err)
		case !next.refused && string(response.Status) != next.want:
			t.Errorf("call %d: the status is %s, want %s", i, response.Status, next.want)
		}
	}
}

func TestAnswersAreKnownByTheirETags(t *testing.T) {
	const first, second = `{"status":{"n":1}}`, `{"status":{"n":2}}`
	const one, two = `{"n":1}`, `{"n":2}`
	enabled := v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)}
	const notEnabled304 = "unsupported status code: 304 without a body (200 is expected)"
	tests := map[string]struct {
		etag  v1alpha1.WebhookEtagConfig
		turns []turn
	}{
		"200, 304, 412, 200 new": {enabled, []turn{
			{parent: "a", etag: `"x"`, body: first, want: one},
			{parent: "a", ifNoneMatch: `"x"`, status: 304, want: one},
			{parent: "a", ifNoneMatch: `"x"`, status: 412, body: "a body nobody reads", want: one},
			{parent: "a", ifNoneMatch: `"x"`, etag: `"y"`, body: second, want: two},
			{parent: "a", ifNoneMatch: `"y"`, status: 304, etag: `"y"`, want: two},
		}},
		"an answer without an ETag leaves what was known": {enabled, []turn{
			{parent: "a", etag: `"x"`, body: first, want: one},
			{parent: "a", ifNoneMatch: `"x"`, body: second, want: two},
			{parent: "a", ifNoneMatch: `"x"`, status: 304, want: one},
		}},
		"nothing is known at first": {enabled, []turn{
			{parent: "a", status: 304, refused: true, want: notEnabled304},
			{parent: "a", status: 412, body: "no", refused: true, want: "unsupported status code: 412 body: no (200 is expected)"},
			{parent: "a", body: first, want: one},
			{parent: "a", status: 304, refused: true, want: notEnabled304},
		}},
		"another parent is another, whatever its name": {enabled, []turn{
			{parent: "a", etag: `"x"`, body: first, want: one},
			{parent: "b", etag: `"y"`, body: second, want: two},
			{parent: "a", ifNoneMatch: `"x"`, status: 304, want: one},
			{parent: "b", ifNoneMatch: `"y"`, status: 304, want: two},
		}},
		"an answer that cannot be read is not kept": {enabled, []turn{
			{parent: "a", etag: `"x"`, body: first, want: one},
			{parent: "a", ifNoneMatch: `"x"`, etag: `"y"`, body: "[]", refused: true, want: `it must be a JSON object, but it is "[]"`},
			{parent: "a", ifNoneMatch: `"x"`, status: 304, want: one},
		}},
		"other statuses are errors as ever": {enabled, []turn{
			{parent: "a", etag: `"x"`, body: first, want: one},
			{parent: "a", ifNoneMatch: `"x"`, status: 500, etag: `"y"`, body: "no", refused: true, want: "unsupported status code: 500 body: no (200 is expected)"},
			{parent: "a", ifNoneMatch: `"x"`, status: 304, want: one},
		}},
		"a weak ETag": {enabled, []turn{
			{parent: "a", etag: `W/"x"`, body: first, want: one},
			{parent: "a", ifNoneMatch: `W/"x"`, status: 304, want: one},
		}},
		"a hook without the cache": {v1alpha1.WebhookEtagConfig{Enabled: ptr.To(false)}, []turn{
			{parent: "a", etag: `"x"`, body: first, want: one},
			{parent: "a", etag: `"x"`, body: first, want: one},
			{parent: "a", status: 304, refused: true, want: notEnabled304},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { play(t, test.etag, test.turns) })
	}
}

// Upstream's key was the kind, the namespace and the name.
func TestQ44ARecreatedParentIsAnother(t *testing.T) {
	play(t, v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)}, []turn{
		{parent: "before", etag: `"x"`, body: `{"status":{"n":1}}`, want: `{"n":1}`},
		{parent: "after", etag: `"x"`, body: `{"status":{"n":2}}`, want: `{"n":2}`},
		{parent: "after", ifNoneMatch: `"x"`, status: 304, want: `{"n":2}`},
	})
}

// Upstream panicked while it built such a hook.
func TestQ20AnETagTimeoutNeedsNoCleanup(t *testing.T) {
	play(t, v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true), CacheTimeoutSeconds: ptr.To[int32](60)}, []turn{
		{parent: "a", etag: `"x"`, body: `{"status":{"n":1}}`, want: `{"n":1}`},
		{parent: "a", ifNoneMatch: `"x"`, status: 304, want: `{"n":1}`},
	})
}

func TestAParentThatIsGoneIsForgotten(t *testing.T) {
	var carried []string
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		carried = append(carried, r.Header.Get("If-None-Match"))
		w.Header().Set("ETag", `"x"`)
		_, _ = io.WriteString(w, "{}")
	})
	hook := etagHook(t, address, v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)})
	about := snapshot(t)
	about.Parent = parsed(t, `{"kind":"Web","metadata":{"name":"shop","uid":"a"}}`)
	call := func(about *pipeline.Snapshot) {
		if _, err := hook.SyncComposite(t.Context(), about); err != nil {
			t.Fatal(err)
		}
	}
	call(about)
	call(about)
	hook.Forget("a")
	call(about)
	if want := []string{"", `"x"`, ""}; fmt.Sprint(carried) != fmt.Sprint(want) {
		t.Errorf("the calls carried %q, want %q", carried, want)
	}
	webhook(t, address, "").Forget("a") // without a cache there is nothing to forget
}

func TestAnswersTimeOut(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for name, test := range map[string]struct {
		timeout *int32
		after   time.Duration
		known   bool
	}{
		"shortly before the timeout":     {ptr.To[int32](60), time.Minute - time.Nanosecond, true},
		"with the timeout":               {ptr.To[int32](60), time.Minute, false},
		"never without a timeout":        {nil, 1000 * time.Hour, true},
		"never with none":                {ptr.To[int32](0), 1000 * time.Hour, true},
		"never with a negative timeout":  {ptr.To[int32](-1), 1000 * time.Hour, true},
		"never with the longest timeout": {ptr.To[int32](1<<31 - 1), 1000 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			config := &v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true), CacheTimeoutSeconds: test.timeout}
			answers := newETagCache(config, &etagCaches{})
			answers.put("a", "x", []byte("{}"), nil, start)
			answers.put("b", "y", []byte("{}"), nil, start.Add(test.after))
			if known := answers.get("a", start.Add(test.after)).etag == "x"; known != test.known {
				t.Errorf("it is known: %v", known)
			}
			if _, there := answers.byParent["a"]; there != test.known || answers.get("b", start.Add(test.after)).etag != "y" {
				t.Errorf("there are answers %v", answers.byParent)
			}
		})
	}
}

func TestAnswersTakeNoMoreThanTheirRoom(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	answers := newETagCache(&v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)}, &etagCaches{})
	const unit, beside = 1000, cachedAnswerBytes + 2
	answers.max = func() int { return 101*unit - 1 } // three answers of 100 units fit, with what they take beside
	known := func(parents ...types.UID) {
		t.Helper()
		size := 0
		for _, parent := range parents {
			got := answers.get(parent, now)
			size += len(got.body) + beside
			if got.etag == "" {
				t.Errorf("of %s there is no answer", parent)
			}
		}
		if len(answers.byParent) != len(parents) || answers.oldestFirst.Len() != len(parents) || answers.size != size {
			t.Errorf("there are %d answers of %d bytes, want %d of %d", len(answers.byParent), answers.size, len(parents), size)
		}
	}
	body := func(units int) []byte { return make([]byte, units*unit) }
	answers.put("a", "x", body(40), nil, now)
	answers.put("b", "x", body(40), nil, now)
	known("a", "b")
	answers.put("c", "x", body(20), nil, now)
	known("a", "b", "c")
	answers.put("d", "x", body(1), nil, now)
	known("b", "c", "d")
	answers.put("b", "y", body(79), nil, now) // instead of the one before, and the newest now
	known("c", "d", "b")
	answers.put("e", "x", body(21), nil, now)
	known("b", "e")
	answers.put("f", "x", body(101), nil, now) // never fits
	known("b", "e")
	answers.put("a", "x", body(100), nil, now)
	known("a")
	answers.forget("a")
	answers.forget("a")
	known()
}

func TestWhatIsKeptOfAnETagIsBounded(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	caches := &etagCaches{}
	enabled := &v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)}
	answers := newETagCache(enabled, caches)
	for i := range 100 {
		answers.put(types.UID(fmt.Sprint(i)), strings.Repeat("e", maxETagCacheBytes/10), []byte("{}"), nil, now)
	}
	if kept := len(answers.byParent); kept > 10 {
		t.Errorf("%d answers are kept with ETags of a tenth of the limit", kept)
	}
	for i := range 300_000 {
		answers.put(types.UID(fmt.Sprint("parent", i)), "e", nil, nil, now)
	}
	if kept := len(answers.byParent); kept > maxETagCacheBytes/cachedAnswerBytes {
		t.Errorf("%d empty answers are kept", kept)
	}
	other := newETagCache(enabled, caches)
	if mine := answers.max(); mine != maxETagCacheBytes/2 {
		t.Errorf("one of two caches may have %d bytes", mine)
	}
	other.close()
	other.close()
	if mine := answers.max(); mine != maxETagCacheBytes {
		t.Errorf("the only cache may have %d bytes", mine)
	}
}

func TestALongETagIsNotKept(t *testing.T) {
	for name, test := range map[string]struct {
		length int
		kept   bool
	}{
		"one that is kept": {maxETagBytes, true},
		"a longer one":     {maxETagBytes + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			sent := ""
			hook := etagHook(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
				sent = r.Header.Get("If-None-Match")
				w.Header().Set("ETag", strings.Repeat("e", test.length))
				_, _ = io.WriteString(w, "{}")
			}), v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)})
			about := snapshot(t)
			about.Parent.UID = "u"
			for range 2 {
				if _, err := hook.SyncComposite(t.Context(), about); err != nil {
					t.Fatal(err)
				}
			}
			if (sent != "") != test.kept {
				t.Errorf("sent is an ETag of %d bytes", len(sent))
			}
		})
	}
}
