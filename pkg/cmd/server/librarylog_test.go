// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/logs/json"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

func TestTheLogOfAStartIsWhatAPersonNeeds(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string
	}{
		"text": {
			want: []string{`"Starting" version=`, `"Storing objects in the embedded etcd"`, `"Made a serving certificate"`, `"Serving" address="127.0.0.1:`, `"Stopping"`},
		},
		"JSON": {
			args: []string{"--logging-format=json"},
			want: []string{`"msg":"Starting"`, `"msg":"Storing objects in the embedded etcd"`, `"msg":"Made a serving certificate"`, `"msg":"Serving"`, `"msg":"Stopping"`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := startProcess(t, newDataDir(t), test.args...)
			p.signal(t, syscall.SIGTERM)
			want(t, "exit code", p.exitCode(t), 0)
			lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(p.output.String()), "\n"), func(line string) bool {
				return strings.Contains(line, "Data race detection enabled") // of a server that is built with it
			})
			if len(lines) != len(test.want) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(test.want), p.output)
			}
			for i, text := range test.want {
				if !strings.Contains(lines[i], text) {
					t.Errorf("line %d does not say %s: %s", i+1, text, lines[i])
				}
			}
		})
	}
}

func TestMoreVerbosityShowsWhatLibrariesSay(t *testing.T) {
	p := startProcess(t, newDataDir(t), "-v=2")
	p.signal(t, syscall.SIGTERM)
	want(t, "exit code", p.exitCode(t), 0)
	for _, text := range []string{"Serving securely on", "No authorization-kubeconfig provided"} {
		if !strings.Contains(p.output.String(), text) {
			t.Errorf("it does not say %s:\n%s", text, p.output)
		}
	}
}

func TestWhatOfALogIsWritten(t *testing.T) {
	tests := map[string]struct {
		log     func(context.Context)
		written bool
	}{
		"our own line":                       {func(ctx context.Context) { klog.FromContext(ctx).Info("ours") }, true},
		"our own error":                      {func(ctx context.Context) { klog.FromContext(ctx).Error(nil, "ours") }, true},
		"a line of a library":                {func(ctx context.Context) { cache.WaitFor(ctx, "things") }, false},
		"an error of a library":              {func(ctx context.Context) { utilruntime.HandleErrorWithContext(ctx, errors.New("no"), "Thing") }, true},
		"a library's line that is a warning": {func(ctx context.Context) { rest.WarningLogger{}.HandleWarningHeaderWithContext(ctx, 299, "", "old") }, true},
		"what is true of every --standalone": {func(ctx context.Context) {
			klog.FromContext(ctx).Info("No authorization-kubeconfig provided, so SubjectAccessReview fails")
		}, false},
		"a connection that fails the first time": {func(ctx context.Context) {
			klog.FromContext(ctx).Info("grpc: addrConn.createTransport failed to connect to x")
		}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var text, asJSON bytes.Buffer
			filtered := func(out *bytes.Buffer) *libraryFilter {
				return &libraryFilter{out: out, connections: &failureRows{}}
			}
			jsonLogger, _ := json.Factory{}.Create(*logsapi.NewLoggingConfiguration(), logsapi.LoggingOptions{ErrorStream: filtered(&asJSON)})
			for output, logger := range map[*bytes.Buffer]klog.Logger{
				&text:   textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(filtered(&text)))),
				&asJSON: jsonLogger,
			} {
				test.log(klog.NewContext(t.Context(), logger))
				if written := output.Len() > 0; written != test.written {
					t.Errorf("written: %q", output)
				}
			}
		})
	}
}

func TestConnectionsThatFailForLongAreLogged(t *testing.T) {
	begin := time.Now()
	rows := &failureRows{}
	for _, failure := range []struct {
		at    time.Duration
		short bool
	}{
		{0, true}, {time.Second, true}, {9 * time.Second, true}, {11 * time.Second, false}, {2 * time.Minute, false}, // one row
		{20 * time.Minute, true}, {20*time.Minute + 11*time.Second, false}, // the next one
	} {
		want(t, "short after "+failure.at.String(), rows.isShort(begin.Add(failure.at)), failure.short)
	}
}

func TestTheLogNamesTheClusterThatIsExtended(t *testing.T) {
	host := newFakeHost(t, newClientAuthority(t))
	var output bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&output))))
	options := newTestOptions(t, host.serverConfig(t))
	if err := extended(t, options).prepare(ctx); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`"Extending the cluster" address="` + regexp.QuoteMeta(host.server.URL) + `" version="v1.37.0"`).Match(output.Bytes()) {
		t.Errorf("the log says %s", output.String())
	}
}
