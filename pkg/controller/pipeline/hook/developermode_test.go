// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// messages returns a logger that appends its messages at verbosity 0 to lines.
func messages(lines *[]string) klog.Logger {
	return funcr.New(func(_, line string) {
		_, after, _ := strings.Cut(line, `"msg"="`)
		message, _, _ := strings.Cut(after, `"`)
		*lines = append(*lines, message)
	}, funcr.Options{})
}

func TestTheDeveloperModeLogsIgnoredFields(t *testing.T) {
	for name, test := range map[string]struct {
		answer    string
		developer bool
		want      []string
	}{
		"a field that is ignored":      {`{"Children":[]}`, true, []string{"Hook answer has fields that are ignored"}},
		"one without the mode":         {`{"Children":[]}`, false, nil},
		"an answer with nothing wrong": {`{"children":[]}`, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := webhook(t, serve(t, answer(200, test.answer)), "")
			w.developerMode = test.developer
			var lines []string
			if _, err := w.SyncComposite(klog.NewContext(t.Context(), messages(&lines)), snapshot(t)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(lines, test.want) {
				t.Errorf("the log says %q, want %q", lines, test.want)
			}
		})
	}
}

// taking answers after a time.
type taking time.Duration

func (t taking) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(t)) //nolint:forbidigo // in a bubble of testing/synctest, sleeping takes no time
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func TestTheDeveloperModeLogsSlowCalls(t *testing.T) {
	for name, test := range map[string]struct {
		takes     time.Duration
		developer bool
		want      []string
	}{
		"near the timeout":            {6 * time.Second, true, []string{"Hook call took more than half of its timeout"}},
		"near it, without the mode":   {6 * time.Second, false, nil},
		"half of the timeout at most": {5 * time.Second, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := webhook(t, "http://hooks.example", "10s")
				w.client, w.developerMode = &http.Client{Transport: taking(test.takes)}, test.developer
				var lines []string
				if _, err := w.SyncComposite(klog.NewContext(t.Context(), messages(&lines)), snapshot(t)); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(lines, test.want) {
					t.Errorf("the log says %q, want %q", lines, test.want)
				}
			})
		})
	}
}

// A known answer has been read before. Its ignored fields are logged all the same.
func TestTheDeveloperModeReadsKnownAnswers(t *testing.T) {
	w := webhook(t, serve(t, answer(200, `{"Children":[]}`)), "")
	first, err := w.SyncComposite(t.Context(), snapshot(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, developer := range []bool{false, true} {
		w.developerMode = developer
		again := snapshot(t)
		again.NoOp = &pipeline.NoOp{Answer: first.Hash}
		response, err := w.SyncComposite(t.Context(), again)
		if err != nil || response.IsNoOp == developer {
			t.Errorf("with the mode: %v, the response is %+v, %v", developer, response, err)
		}
	}
}

func TestTheDeveloperModeQuotesWholeAnswers(t *testing.T) {
	traceback := "Traceback (most recent call last):\n" + strings.Repeat("  File \"/app/hook.py\", line 436, in handle\n", 40) + "KeyError: 'size'"
	long := strings.Repeat("x", 20_000)
	for name, test := range map[string]struct {
		body      string
		developer bool
		whole     bool
	}{
		"with it":              {traceback, true, true},
		"without it":           {traceback, false, false},
		"what is far too long": {long, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := webhook(t, serve(t, answer(500, test.body)), "")
			w.developerMode, w.limit = test.developer, 1<<20
			_, err := w.SyncComposite(t.Context(), snapshot(t))
			if err == nil || strings.Contains(err.Error(), test.body) != test.whole {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
