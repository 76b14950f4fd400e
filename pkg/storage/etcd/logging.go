// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"runtime"
	"sort"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
)

// Verbosities of etcd's log levels in our log. etcd logs much at level info.
const (
	infoVerbosity  = 4
	debugVerbosity = 8
)

// logBridge is a zap core that writes to klog.
type logBridge struct {
	logger klog.Logger
	fields []zapcore.Field
	// closing turns warnings and errors into info. While it closes, etcd logs its own closed
	// listener as an error.
	closing *atomic.Bool
}

// Enabled reports whether entries of a level are logged.
func (b *logBridge) Enabled(level zapcore.Level) bool {
	return b.loggerFor(level).Enabled()
}

// loggerFor returns our logger at the verbosity for a level of etcd.
func (b *logBridge) loggerFor(level zapcore.Level) klog.Logger {
	switch {
	case level >= zapcore.WarnLevel && !b.closing.Load():
		return b.logger
	case level >= zapcore.InfoLevel:
		return b.logger.V(infoVerbosity)
	default:
		return b.logger.V(debugVerbosity)
	}
}

// With returns a core that adds the fields to each of its entries.
func (b *logBridge) With(fields []zapcore.Field) zapcore.Core {
	all := make([]zapcore.Field, 0, len(b.fields)+len(fields))
	return &logBridge{logger: b.logger, closing: b.closing, fields: append(append(all, b.fields...), fields...)}
}

// Check adds the core to an entry that is to be written.
func (b *logBridge) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if b.Enabled(entry.Level) {
		return checked.AddCore(entry, b)
	}
	return checked
}

// Write passes an entry on to klog.
func (b *logBridge) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	logger := b.loggerFor(entry.Level)
	if entry.LoggerName != "" {
		logger = logger.WithName(entry.LoggerName)
	}
	keysAndValues, err := splitFields(append(append([]zapcore.Field{}, b.fields...), fields...))
	if entry.Level >= zapcore.ErrorLevel && !b.closing.Load() {
		logger.Error(err, entry.Message, keysAndValues...)
		return nil
	}
	if err != nil {
		keysAndValues = append(keysAndValues, "err", err)
	}
	logger.Info(entry.Message, keysAndValues...)
	return nil
}

// Sync does nothing: the command flushes klog.
func (b *logBridge) Sync() error { return nil }

// splitFields returns zap's fields as klog's list of keys and values, and apart from them the first
// error, which klog takes separately.
func splitFields(fields []zapcore.Field) ([]any, error) {
	var first error
	encoder := zapcore.NewMapObjectEncoder()
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType && first == nil {
			first = err
			continue
		}
		field.AddTo(encoder)
	}
	keys := make([]string, 0, len(encoder.Fields))
	for key := range encoder.Fields {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	keysAndValues := make([]any, 0, 2*len(keys))
	for _, key := range keys {
		keysAndValues = append(keysAndValues, key, encoder.Fields[key])
	}
	return keysAndValues, first
}

// fatalReporter replaces os.Exit and panics when etcd cannot continue, for example because it cannot write its
// write-ahead log or a snapshot. It ends only the goroutine that logged the error, before that acknowledges anything.
// The error goes to the owner, which stops the API server in order.
type fatalReporter struct {
	report func(error)
}

// OnWrite implements zapcore.CheckWriteHook.
func (r fatalReporter) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	_, err := splitFields(fields)
	if err == nil {
		err = errors.New(entry.Message)
	} else {
		err = fmt.Errorf("%s: %w", entry.Message, err)
	}
	r.report(err)
	runtime.Goexit()
}

func newLogger(logger klog.Logger, closing *atomic.Bool, onFatal func(error)) *zap.Logger {
	reporter := fatalReporter{report: onFatal}
	return zap.New(&logBridge{logger: logger, closing: closing}, zap.WithFatalHook(reporter), zap.WithPanicHook(reporter))
}
