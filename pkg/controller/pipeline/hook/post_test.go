// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/transport"
)

func TestACallIsAPostOfJSON(t *testing.T) {
	type call struct{ method, path, contentType, ifNoneMatch, authorization, body string }
	calls := make(chan call, 1)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		calls <- call{r.Method, r.URL.String(), r.Header.Get("Content-Type"), r.Header.Get("If-None-Match"), r.Header.Get("Authorization"), string(body)}
		_, _ = io.WriteString(w, `{"status":{"a":1},"resyncAfterSeconds":5}`)
	})
	response, err := webhook(t, address+"/sync?a=b", "").SyncComposite(t.Context(), snapshot(t))
	if err != nil {
		t.Fatal(err)
	}
	want := call{method: "POST", path: "/sync?a=b", contentType: "application/json", body: string(protocol.Composite().AppendRequest(nil, v1alpha1.HookVersionV1, snapshot(t)))}
	if got := <-calls; got != want {
		t.Errorf("the call was\n%+v\nwant\n%+v", got, want)
	}
	if string(response.Status) != `{"a":1}` || response.ResyncAfter != 5*time.Second {
		t.Errorf("the answer is %+v", response)
	}
}

func TestOnlyStatus200IsAnAnswer(t *testing.T) {
	for _, status := range []int{201, 202, 204, 206, 304, 400, 404, 412, 500, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			body := `{"status":{}}`
			if status == 204 || status == 304 {
				body = ""
			}
			address := serve(t, answer(status, body))
			response, err := webhook(t, address, "").SyncComposite(t.Context(), snapshot(t))
			if err == nil {
				t.Fatalf("the answer is %+v", response)
			}
			want := fmt.Sprintf("sync hook failed: %s: unsupported status code: %d body: %s (200 is expected)", address, status, body)
			if body == "" {
				want = fmt.Sprintf("sync hook failed: %s: unsupported status code: %d without a body (200 is expected)", address, status)
			}
			if err.Error() != want {
				t.Errorf("error is\n%s\nwant\n%s", err, want)
			}
			if errors.Is(err, ErrMalformed) {
				t.Error("a refusal is no answer that cannot be read")
			}
		})
	}
}

// longTraceback is what the hook of the example bluegreen answers about an annotation that somebody has
// broken.
const longTraceback = `Traceback (most recent call last):
  File "/hooks/hook.py", line 108, in do_POST
    status, text = 200, json.dumps(HOOKS[self.path](json.loads(request)))
                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/hooks/hook.py", line 16, in sync
    blue, green = (Color(color, parent, children["ReplicaSet.apps/v1"]) for color in ("blue", "green"))
    ^^^^^^^^^^^
  File "/hooks/hook.py", line 16, in <genexpr>
    blue, green = (Color(color, parent, children["ReplicaSet.apps/v1"]) for color in ("blue", "green"))
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/hooks/hook.py", line 53, in __init__
    self.template = json.loads(observed["metadata"]["annotations"][TEMPLATE])
                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/local/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/local/lib/python3.11/json/decoder.py", line 337, in decode
    obj, end = self.raw_decode(s, idx=_w(s, 0).end())
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/local/lib/python3.11/json/decoder.py", line 353, in raw_decode
    obj, end = self.scan_once(s, idx)
               ^^^^^^^^^^^^^^^^^^^^^^
json.decoder.JSONDecodeError: Unterminated string starting at: line 1 column 24 (char 23)
`

// The exception tells what happened, and the lines before it tell where.
func TestTheErrorOfAFailingAnswerBeginsWithItsException(t *testing.T) {
	const head = `json.decoder.JSONDecodeError: Unterminated string starting at: line 1 column 24 (char 23); Traceback (most recent call last): … `
	const tail = `self.template = json.loads(observed["metadata"]["annotations"][TEMPLATE]) File "/usr/local/lib/python3.11/json/__init__.py", line 346, in loads ` +
		`return _default_decoder.decode(s) File "/usr/local/lib/python3.11/json/decoder.py", line 337, in decode obj, end = self.raw_decode(s, idx=_w(s, 0).end()) ` +
		`File "/usr/local/lib/python3.11/json/decoder.py", line 353, in raw_decode obj, end = self.scan_once(s, idx)`
	for status, want := range map[int]string{500: "unsupported status code: 500 body: " + head, 200: `it is "` + strings.ReplaceAll(head, `"`, `\"`)} {
		about := webhook(t, serve(t, answer(status, longTraceback)), "")
		about.limit = 1 << 20
		_, err := about.SyncComposite(t.Context(), snapshot(t))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(strings.ReplaceAll(err.Error(), `\"`, `"`), tail) {
			t.Errorf("error is\n%v\nwant in it\n%s\n%s", err, want, tail)
		}
		if err != nil && len(err.Error()) > 3000 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	}
}

func TestAnErrorWithoutABodyPointsAtTheLog(t *testing.T) {
	address := serve(t, answer(500, ""))
	_, err := webhook(t, address, "").SyncComposite(t.Context(), snapshot(t))
	want := "sync hook failed: " + address + ": unsupported status code: 500 without a body (200 is expected): see the " +
		"log of the hook"
	if err == nil || err.Error() != want {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}

func TestAnAnswerThatCannotBeReadNamesTheHook(t *testing.T) {
	address := serve(t, answer(200, "<html>"))
	_, err := webhook(t, address, "").SyncComposite(t.Context(), snapshot(t))
	want := "sync hook failed: " + address + `: the hook's answer cannot be read: it must be a JSON object, but it is "<html>"`
	if err == nil || err.Error() != want || !errors.Is(err, ErrMalformed) {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}

func TestTheTimeoutCoversTheWholeCall(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"an answer that never begins": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then a closed connection is noticed
			<-r.Context().Done()
		},
		"an answer that never ends": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"status":`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"a refusal that never ends": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusInternalServerError)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	}
	for name, handler := range tests {
		t.Run(name, func(t *testing.T) {
			address := serve(t, handler)
			_, err := webhook(t, address, "50ms").SyncComposite(t.Context(), snapshot(t))
			want := "sync hook failed: " + address + ": no complete answer within 50ms: make the hook faster, or set a longer spec.hooks.sync.webhook.timeout"
			if err == nil || err.Error() != want {
				t.Errorf("error is\n%v\nwant\n%s", err, want)
			}
		})
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	_, err := webhook(t, address, "1h").SyncComposite(ctx, snapshot(t))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestTheSizeOfAnAnswerIsLimited(t *testing.T) {
	padded := func(size int) string {
		return `{"status":{"a":"` + strings.Repeat("x", size-len(`{"status":{"a":""}}`)) + `"}}`
	}
	tests := map[string]struct {
		handler http.HandlerFunc
		fits    bool
	}{
		"an answer of the limit fits": {answer(200, padded(limit)), true},
		"one more byte does not":      {answer(200, padded(limit+1)), false},
		"nor does a refusal":          {answer(500, padded(limit+1)), false},
		"nor one that grows when it is decompressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			compressed := gzip.NewWriter(w)
			_, _ = io.WriteString(compressed, padded(1<<20))
			_ = compressed.Close()
		}, false},
		"nor one without an end": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, padded(limit))
			}
		}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			address := serve(t, test.handler)
			_, err := webhook(t, address, "").SyncComposite(t.Context(), snapshot(t))
			if test.fits {
				if err != nil {
					t.Error(err)
				}
				return
			}
			want := "sync hook failed: " + address + ": the hook's answer cannot be read: it is larger than the 1000 bytes that --hook-max-response-bytes allows"
			if err == nil || err.Error() != want {
				t.Errorf("error is\n%v\nwant\n%s", err, want)
			}
		})
	}
}

func TestAnAnswerMayBeCompressed(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		compressed := gzip.NewWriter(w)
		_, _ = io.WriteString(compressed, `{"status":{"a":1}}`)
		_ = compressed.Close()
	})
	response, err := webhook(t, address, "").SyncComposite(t.Context(), snapshot(t))
	if err != nil {
		t.Fatal(err)
	}
	if string(response.Status) != `{"a":1}` {
		t.Errorf("the status is %s", response.Status)
	}
}

func TestRedirects(t *testing.T) {
	tests := map[string]struct {
		status int
		method string
		posted bool
	}{
		"307 posts again": {http.StatusTemporaryRedirect, "POST", true},
		"308 posts again": {http.StatusPermanentRedirect, "POST", true},
		"302 gets":        {http.StatusFound, "GET", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			address := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/new" {
					http.Redirect(w, r, "/new", test.status)
					return
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				if posted := string(body) == string(protocol.Composite().AppendRequest(nil, v1alpha1.HookVersionV1, snapshot(t))); r.Method != test.method || posted != test.posted {
					t.Errorf("redirected to a %s of %s", r.Method, body)
				}
				_, _ = io.WriteString(w, `{}`)
			})
			if _, err := webhook(t, address+"/old", "").SyncComposite(t.Context(), snapshot(t)); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a circle of redirects is an error", func(t *testing.T) {
		address := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusTemporaryRedirect) })
		_, err := webhook(t, address, "").SyncComposite(t.Context(), snapshot(t))
		if err == nil || !strings.HasSuffix(err.Error(), "http error: stopped after 10 redirects") {
			t.Errorf("error is %v", err)
		}
	})
}

func TestAHookThatAsksToBeCalledLater(t *testing.T) {
	tests := map[string]struct {
		header      string
		least, most time.Duration
	}{
		"in seconds":        {"7", 7 * time.Second, 7 * time.Second},
		"at a date":         {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), 58 * time.Minute, time.Hour},
		"it knows not when": {"whenever", 0, 0},
		"without a time":    {"", 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", test.header)
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, strings.Repeat("busy", limit)) // the client does not read it
			})
			_, err := webhook(t, address, "").SyncComposite(t.Context(), snapshot(t))
			throttled, ok := errors.AsType[*ThrottledError](err)
			if !ok {
				t.Fatalf("error is %v", err)
			}
			if throttled.After < test.least || throttled.After > test.most {
				t.Errorf("called again after %s, want %s to %s", throttled.After, test.least, test.most)
			}
		})
	}
}

func TestCredentialsInAURLAreSentAndNotTold(t *testing.T) {
	withPassword := func(address string) string {
		return strings.Replace(address, "http://", "http://user:s3cret@", 1) + "/?key=s3cret"
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	tests := map[string]struct {
		address string
		timeout string
	}{
		"a refusal":                   {serve(t, answer(403, "no")), ""},
		"an answer that is malformed": {serve(t, answer(200, "no")), ""},
		"an answer that is too large": {serve(t, answer(200, strings.Repeat("x", limit+1))), ""},
		"a request to come later":     {serve(t, answer(429, "")), ""},
		"a circle of redirects": {serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}), ""},
		"a redirect to what is no URL": {serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://user:s3cret@[hooks/?key=s3cret")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}), ""},
		"a redirect to nobody": {serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", withPassword(closed.URL))
			w.WriteHeader(http.StatusTemporaryRedirect)
		}), ""},
		"nobody there":      {closed.URL, ""},
		"no answer in time": {serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() }), "20ms"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := webhook(t, withPassword(test.address), test.timeout).SyncComposite(t.Context(), snapshot(t))
			if err == nil {
				t.Fatal("there is no error")
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
	t.Run("they are sent", func(t *testing.T) {
		address := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if user, password, ok := r.BasicAuth(); !ok || user != "user" || password != "s3cret" {
				t.Errorf("credentials are %v %q %q", ok, user, password)
			}
			_, _ = io.WriteString(w, "{}")
		})
		if _, err := webhook(t, withPassword(address), "").SyncComposite(t.Context(), snapshot(t)); err != nil {
			t.Error(err)
		}
	})
}

// Opening a connection for each call would take longer than most answers.
func TestConnectionsAreKeptBetweenCalls(t *testing.T) {
	const workers = 5
	var mu sync.Mutex
	peers := map[string]int{}
	arrived, release := make(chan struct{}, workers), make(chan struct{})
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		peers[r.RemoteAddr]++
		mu.Unlock()
		arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(w, "{}")
	})
	hook, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &address}}, nil, Options{Limits: Limits{MaxResponseBytes: limit}, MaxIdleConnections: workers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hook.Close)
	for range 3 {
		var calls sync.WaitGroup
		for range workers {
			calls.Go(func() {
				if _, err := hook.SyncComposite(t.Context(), snapshot(t)); err != nil {
					t.Error(err)
				}
			})
		}
		for range workers {
			<-arrived // all at once, so that each takes a connection
		}
		for range workers {
			release <- struct{}{}
		}
		calls.Wait()
	}
	if len(peers) != workers {
		t.Errorf("3 times %d calls came over %d connections", workers, len(peers))
	}
}

func TestAnErrorThatIsNotOfTheTransport(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"the URL is left out": {&url.Error{Op: "Post", URL: "http://user:s3cret@hooks.example", Err: errors.New("broken pipe")}, "http error: broken pipe"},
		"all else is kept":    {errors.New("broken pipe"), "http error: broken pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := httpError(t.Context(), test.err).Error(); got != test.want {
				t.Errorf("error is %q, want %q", got, test.want)
			}
		})
	}
}

func TestLongHeadersAreRefused(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		_, _ = io.WriteString(w, "{}")
	})
	_, err := webhook(t, address, "").SyncComposite(t.Context(), snapshot(t))
	if err == nil || !strings.Contains(err.Error(), "headers exceeded 65536 bytes") {
		t.Errorf("the error is %v", err)
	}
}

func TestTheAnswerOfACustomizeHookIsLimited(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		name := strings.Repeat("x", 1<<20)
		_, _ = io.WriteString(w, `{"relatedResources":[{"apiVersion":"v1","resource":"pods","names":["`+name+`"]}]}`)
	})
	spec := &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &address}}
	hook, err := New(Customize, spec, nil, Options{Limits: Limits{MaxResponseBytes: 32 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hook.Close)
	const want = "it is larger than the 1048576 bytes that the answer of a customize hook may have"
	if _, _, err := hook.Customize(t.Context(), snapshot(t)); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("the error is %v", err)
	}
}

// redirectedTo is the hook at a URL, with the redirects that are followed.
func redirectedTo(t *testing.T, url string, redirects transport.Redirects) *Webhook {
	t.Helper()
	made, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url}}, nil,
		Options{Limits: Limits{MaxResponseBytes: limit, Redirects: redirects}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

// Whoever serves a hook would else read what only the server reaches.
func TestARedirectStaysOnTheHostOfTheHook(t *testing.T) {
	for name, test := range map[string]struct {
		redirects transport.Redirects
		host      string
		follows   bool
	}{
		"to another port of the host":        {transport.SameHost, "127.0.0.1", true},
		"to another host":                    {transport.SameHost, "localhost", false},
		"to another host, and none is given": {"", "localhost", false},
		"to another host that is allowed":    {transport.AnyHost, "localhost", true},
	} {
		for _, status := range []int{
			http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
		} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				var reached atomic.Bool
				other := strings.Replace(serve(t, func(w http.ResponseWriter, _ *http.Request) {
					reached.Store(true)
					_, _ = io.WriteString(w, `{"status":{"secret":1}}`)
				}), "127.0.0.1", test.host, 1)
				address := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, status) })
				_, err := redirectedTo(t, address, test.redirects).SyncComposite(t.Context(), snapshot(t))
				if reached.Load() != test.follows || (err == nil) != test.follows {
					t.Errorf("it is reached: %v, the error is %v", reached.Load(), err)
				}
				if err != nil && (!strings.Contains(err.Error(), "--hook-redirects") || strings.Contains(err.Error(), "secret")) {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
}

func TestARedirectDoesNotTellTheQuery(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		headers := make(chan http.Header, 1)
		other := serve(t, func(w http.ResponseWriter, r *http.Request) {
			headers <- r.Header.Clone()
			_, _ = io.WriteString(w, "{}")
		})
		other = strings.Replace(other, "127.0.0.1", "localhost", 1)
		address := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other+"/", status) })
		hook := redirectedTo(t, address+"/sync?key=s3cret", transport.AnyHost)
		if _, err := hook.SyncComposite(t.Context(), snapshot(t)); err != nil {
			t.Fatal(err)
		}
		for name, values := range <-headers {
			if strings.Contains(strings.Join(values, " "), "s3cret") {
				t.Errorf("the other host is sent %s: %s", name, values)
			}
		}
	}
}

func TestABufferIsUsedAgainWhenAllAreDoneWithIt(t *testing.T) {
	t.Parallel()
	var all bufferPool
	first := all.get()
	first.bytes = append(first.bytes, "first"...)
	_, again := first.reader(), first.reader()
	first.release()
	first.written(httptrace.WroteRequestInfo{})
	if second := all.get(); second == first {
		t.Fatal("it is used again while somebody may read it")
	}
	if got, err := io.ReadAll(again); err != nil || string(got) != "first" {
		t.Errorf("read %q, %v", got, err)
	}
	first.written(httptrace.WroteRequestInfo{})
	if first.users.Load() != 0 || len(first.bytes) != 0 {
		t.Errorf("it has %d users and %d bytes when nothing needs it any more", first.users.Load(), len(first.bytes))
	}
}

func TestABufferThatWasNotSentWellIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	var all bufferPool
	first := all.get()
	first.reader()
	first.written(httptrace.WroteRequestInfo{Err: io.ErrClosedPipe})
	first.release()
	if users := first.users.Load(); users != 1 {
		t.Errorf("it has %d users, want one: the transport, which may still read it", users)
	}
}

func TestALargeBufferIsNotKept(t *testing.T) {
	t.Parallel()
	var all bufferPool
	large := all.get()
	large.bytes = make([]byte, maxPooledBytes+1)
	large.release()
	if next := all.get(); cap(next.bytes) > 0 {
		t.Errorf("there is room for %d bytes", cap(next.bytes))
	}
}

// After a call, the caller is the only user of its buffer, wherever the request was redirected. The
// buffer was neither given to another call too early, nor is it lost.
func TestABufferHasOneUserAfterARedirect(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{
		"to a request without a body":   http.StatusSeeOther,
		"to a request of the same body": http.StatusTemporaryRedirect,
		"none":                          http.StatusOK,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					t.Error(err)
				}
				if r.URL.Path == "/" {
					w.Header().Set("Location", "/there")
					w.WriteHeader(status)
				}
			})
			transport, _ := (*Metrics)(nil).measure(&http.Transport{MaxConnsPerHost: 1}, Sync, address, ControllerRef{})
			client := &http.Client{Transport: transport}
			ask := func(ctx context.Context, method string, posted *buffer) {
				request, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if posted != nil {
					request.Body, request.ContentLength = posted.reader(), int64(len(posted.bytes))
					request.GetBody = func() (io.ReadCloser, error) { return posted.reader(), nil }
				}
				response, err := client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			posted := new(bufferPool).get()
			posted.bytes = []byte("request")
			ask(context.WithValue(t.Context(), bufferKey{}, posted), http.MethodPost, posted)
			ask(t.Context(), http.MethodGet, nil) // over the same connection, after all that was sent before
			if users := posted.users.Load(); users != 1 {
				t.Errorf("the buffer has %d users, want one", users)
			}
		})
	}
}

// connections is a hook that accepts connections by itself. Its addresses and goroutines end with the test.
func connections(t *testing.T, serve func(number int, connection net.Conn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	serving.Go(func() {
		for number := 1; ; number++ {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, connection)
			mu.Unlock()
			serving.Go(func() {
				defer func() { _ = connection.Close() }()
				serve(number, connection)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, connection := range open {
			_ = connection.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return "http://" + listener.Addr().String()
}

// answerOnce reads one request and answers it. It returns what was read, and false if there was none.
func answerOnce(connection net.Conn, reader *bufio.Reader) bool {
	request, err := http.ReadRequest(reader)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, request.Body)
	_, err = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	return err == nil
}

// A server closes an idle connection when it wants, which may be while the next request is under way.
func TestAClosedIdleConnectionIsNoError(t *testing.T) {
	ends := map[string]func(net.Conn){
		"it is reset": func(connection net.Conn) {
			_, _ = connection.Read(make([]byte, 1)) // the first byte of the next request: too late for it
			_ = connection.(*net.TCPConn).SetLinger(0)
		},
		"it ends": func(connection net.Conn) {
			_, _ = connection.Read(make([]byte, 1<<16))
		},
	}
	for name, end := range ends {
		for size, padding := range map[string]int{"a small request": 10, "a large request": 8 << 20} {
			t.Run(name+", "+size, func(t *testing.T) {
				url := connections(t, func(_ int, connection net.Conn) {
					if answerOnce(connection, bufio.NewReader(connection)) {
						end(connection)
					}
				})
				hook := webhook(t, url, "")
				about := snapshot(t)
				about.Controller = []byte(`{"padding":"` + strings.Repeat("x", padding) + `"}`)
				for i := range 4 {
					if _, err := hook.SyncComposite(t.Context(), about); err != nil {
						t.Fatalf("call %d: %v", i, err)
					}
				}
			})
		}
	}
}

// A server of HTTP/1.0 closes each connection after its answer. One with a single thread serves calls one after the
// other.
func TestASingleThreadedServerOfHTTP10(t *testing.T) {
	for name, answer := range map[string]string{
		"with a length":            "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"that the end of it ends":  "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}",
		"without any header field": "HTTP/1.0 200 OK\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			var thread sync.Mutex
			url := connections(t, func(_ int, connection net.Conn) {
				thread.Lock()
				defer thread.Unlock()
				request, err := http.ReadRequest(bufio.NewReader(connection))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, request.Body)
				_, _ = io.WriteString(connection, answer)
				_ = connection.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, connection) // the thread is free when the client has closed, too
			})
			hook, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url}}, nil,
				Options{Limits: Limits{MaxResponseBytes: limit}, MaxIdleConnections: 5})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(hook.Close)
			for range 2 {
				for _, err := range callAtOnce(t, hook, 20) {
					t.Error(err)
				}
			}
		})
	}
}

// A hook that closes a new connection without an answer has failed.
func TestAClosedNewConnectionIsAnError(t *testing.T) {
	url := connections(t, func(_ int, connection net.Conn) { _, _ = connection.Read(make([]byte, 1<<16)) })
	_, err := webhook(t, url, "").SyncComposite(t.Context(), snapshot(t))
	if err == nil || !strings.Contains(err.Error(), hasCrashed) {
		t.Errorf("the error is %v", err)
	}
}

// hookWithDeadConnections returns a hook with that many idle connections, which lead nowhere. New ones lead
// to the hook.
func hookWithDeadConnections(t *testing.T, idle int) *Webhook {
	t.Helper()
	var answered sync.WaitGroup
	answered.Add(idle)
	url := connections(t, func(number int, connection net.Conn) {
		reader := bufio.NewReader(connection)
		if number > idle {
			for answerOnce(connection, reader) {
			}
			return
		}
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		answered.Done()
		answered.Wait() // so that each of the first calls has a connection of its own
		_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		_, _ = io.Copy(io.Discard, reader) // dead
	})
	timeout := v1alpha1.Duration("300ms")
	hook, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url, Timeout: &timeout}}, nil,
		Options{Limits: Limits{MaxResponseBytes: limit}, MaxIdleConnections: idle})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hook.Close)
	for _, err := range callAtOnce(t, hook, idle) {
		t.Error(err)
	}
	return hook
}

// callAtOnce makes so many calls at once, and returns the errors of those that failed.
func callAtOnce(t *testing.T, hook *Webhook, calls int) (errs []error) {
	about := snapshot(t)
	var mu sync.Mutex
	var under sync.WaitGroup
	for range calls {
		under.Go(func() {
			if _, err := hook.SyncComposite(t.Context(), about); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	under.Wait()
	return errs
}

// When the node of a hook is gone, all idle connections lead nowhere, and new ones lead to its successor.
func TestDeadConnectionsCostOneTimeout(t *testing.T) {
	const idle = 4
	hook, about, timeouts := hookWithDeadConnections(t, idle), snapshot(t), 0
	for range idle + 2 {
		_, err := hook.SyncComposite(t.Context(), about)
		if _, ok := errors.AsType[*timeoutError](err); ok {
			timeouts++
		} else if err != nil {
			t.Error(err)
		}
	}
	if timeouts != 1 {
		t.Errorf("there were %d timeouts, want one", timeouts)
	}
}

// Calls over dead connections show nothing about the hook, whose next calls have new connections.
func TestDeadConnectionsDoNotMakeAHookCountAsDown(t *testing.T) {
	hook := hookWithDeadConnections(t, failuresToOpen)
	if errs := callAtOnce(t, hook, failuresToOpen); len(errs) != failuresToOpen {
		t.Errorf("over dead connections, the errors are %v", errs)
	}
	if err := hook.CircuitOpen(); err != nil {
		t.Errorf("the hook counts as down: %v", err)
	}
	for _, err := range callAtOnce(t, hook, failuresToOpen) {
		t.Errorf("over new connections: %v", err)
	}
}
