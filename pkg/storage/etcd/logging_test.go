// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

func TestTheLogOfEtcdBecomesOurs(t *testing.T) {
	tests := map[string]struct {
		verbosity int
		closing   bool
		log       func(*zap.Logger)
		want      []string
	}{
		"a warning is always seen": {
			log:  func(l *zap.Logger) { l.Warn("slow", zap.Int("ms", 7), zap.Error(errors.New("disk"))) },
			want: []string{`"level"=0 "msg"="slow" "ms"=7 "err"="disk"`},
		},
		"an error is always seen": {
			log:  func(l *zap.Logger) { l.Error("lost", zap.Error(errors.New("disk"))) },
			want: []string{`"msg"="lost" "error"="disk"`},
		},
		"info is for those who ask": {
			log: func(l *zap.Logger) { l.Info("published") },
		},
		"info keeps the fields and the name of its logger": {
			verbosity: infoVerbosity,
			log: func(l *zap.Logger) {
				l.Named("raft").With(zap.String("member", "a")).Info("elected", zap.Int("term", 2))
			},
			want: []string{`raft "level"=4 "msg"="elected" "member"="a" "term"=2`},
		},
		"debug is for those who ask for much": {
			verbosity: infoVerbosity,
			log:       func(l *zap.Logger) { l.Debug("applying") },
		},
		"the closed listener at the end is no error": {
			verbosity: infoVerbosity,
			closing:   true,
			log:       func(l *zap.Logger) { l.Error("serving failed", zap.Error(errors.New("closed"))) },
			want:      []string{`"level"=4 "msg"="serving failed" "err"="closed"`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			logger := funcr.New(func(prefix, args string) {
				if prefix != "" {
					args = fmt.Sprintf("%s %s", prefix, args)
				}
				got = append(got, args)
			}, funcr.Options{Verbosity: test.verbosity})
			var closing atomic.Bool
			closing.Store(test.closing)
			test.log(newLogger(logger, &closing, func(error) {}))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("log differs (-want +got):\n%s", diff)
			}
		})
	}
}
