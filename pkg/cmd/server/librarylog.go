// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
)

const (
	// libraryVerbosity is the verbosity from which the log has what libraries say about themselves.
	libraryVerbosity = 2
	// connectionPatience is how long connections may fail one after the other before that is logged.
	connectionPatience = 10 * time.Second
	// connectionPause is the time without a failure after which the next one begins a new row. gRPC
	// waits up to two minutes between attempts.
	connectionPause = 5 * time.Minute
)

// ourPackages begins the names of the functions of this module.
const ourPackages = "github.com/metacontroller/metacontroller-apiserver/"

// applyLog applies the settings of the log. Below libraryVerbosity it leaves out the lines of
// libraries that are no warnings and no errors. A log that is filtered by file, or that is buffered, is
// left whole: its lines are not written where they are made.
func applyLog(logs *logsapi.LoggingConfiguration, gates featuregate.FeatureGate) error {
	streams := &logsapi.LoggingOptions{ErrorStream: os.Stderr, InfoStream: os.Stdout}
	buffered := logs.Options.Text.InfoBufferSize.Value() > 0 || logs.Options.JSON.InfoBufferSize.Value() > 0
	if len(logs.VModule) == 0 && !buffered {
		rows := &failureRows{}
		streams.ErrorStream = &libraryFilter{out: os.Stderr, connections: rows}
		streams.InfoStream = &libraryFilter{out: os.Stdout, connections: rows}
	}
	return logsapi.ValidateAndApplyWithOptions(logs, streams, gates)
}

// libraryFilter writes those lines of a log that a person needs. It is called once for each line, by
// the function that logs it.
type libraryFilter struct {
	out         io.Writer
	connections *failureRows
}

// Write implements io.Writer.
func (f *libraryFilter) Write(line []byte) (int, error) {
	verbose := klog.V(libraryVerbosity).Enabled() //nolint:forbidigo // the verbosity is that of the process
	if !verbose && f.drops(line, time.Now()) {
		return len(line), nil
	}
	return f.out.Write(line)
}

func (f *libraryFilter) drops(line []byte, now time.Time) bool {
	switch {
	case bytes.Contains(line, []byte("grpc: addrConn.createTransport failed to connect")):
		// The client of the storage tries again, and does so before the storage listens.
		return f.connections.isShort(now)
	case bytes.Contains(line, []byte("No authorization-kubeconfig provided, so SubjectAccessReview")):
		// This is what --standalone is.
		return true
	case tellsOfTrouble(line):
		return false
	}
	var stack [64]uintptr
	return isLibraryInfo(runtime.CallersFrames(stack[:runtime.Callers(3, stack[:])]))
}

// tellsOfTrouble reports whether a line is a warning or an error by its words. Libraries that log
// through a context have no warnings.
func tellsOfTrouble(line []byte) bool {
	for _, word := range []string{"Warning: ", "Failed", "Error", "Timed out", "invalid", "err=", `"err":`} {
		if bytes.Contains(line, []byte(word)) {
			return true
		}
	}
	return false
}

// isLibraryInfo reports whether a stack, from the writer of a line outwards, is that of a library
// that logs something other than a warning or an error.
func isLibraryInfo(frames *runtime.Frames) bool {
	for {
		frame, more := frames.Next()
		pkg, function := splitFunction(frame.Function)
		switch {
		case isUrgent(function) && isLog(pkg):
			return false
		case pkg == "log": // Go's own log knows no levels
			return false
		case !isLog(pkg):
			return pkg != "runtime" && pkg != "main" && !strings.HasPrefix(frame.Function, ourPackages)
		case !more:
			return false
		}
	}
}

// isUrgent reports whether a function of a log package logs a warning or an error.
func isUrgent(function string) bool {
	for _, level := range []string{"Warn", "Error", "Fatal", "Exit"} {
		if strings.HasPrefix(function, level) {
			return true
		}
	}
	return false
}

// isLog reports whether a package passes on what others log.
func isLog(pkg string) bool {
	for _, log := range []string{"k8s.io/klog/v2", "github.com/go-logr/", "go.uber.org/zap", "k8s.io/component-base/logs", "log/slog"} {
		if strings.HasPrefix(pkg, log) {
			return true
		}
	}
	return false
}

// splitFunction returns the package and the name of a function or a method.
func splitFunction(full string) (pkg, name string) {
	dir := full[:strings.LastIndexByte(full, '/')+1]
	pkg, rest, _ := strings.Cut(full[len(dir):], ".")
	return dir + pkg, rest[strings.LastIndexByte(rest, '.')+1:]
}

// failureRows tells short rows of failures from those that last.
type failureRows struct {
	mu          sync.Mutex
	first, last time.Time
}

// isShort notes a failure and reports whether its row has not lasted for connectionPatience yet.
func (r *failureRows) isShort(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.last) > connectionPause {
		r.first = now
	}
	r.last = now
	return now.Sub(r.first) < connectionPatience
}
