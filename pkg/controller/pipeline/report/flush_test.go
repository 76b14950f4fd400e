// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

func TestEventsThatWereToldAreWrittenBeforeTheEnd(t *testing.T) {
	writer, sent := events(t, EventOptions{QPS: 1, Burst: 25})
	const told = 50
	for i := range told {
		writer.SyncError(parent(t, fmt.Sprint("shop-", i)), errors.New("no"))
	}
	writer.Shutdown()
	if len(sent) != told {
		t.Errorf("%d of %d events were written", len(sent), told)
	}
}

func TestAHostThatDoesNotAnswerDoesNotKeepTheProcess(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer server.Close()
	defer close(over)
	writer, err := NewEvents(t.Context(), &rest.Config{Host: server.URL}, scheme.Scheme, EventOptions{QPS: 1, Burst: 25})
	if err != nil {
		t.Fatal(err)
	}
	writer.SyncError(parent(t, "shop"), errors.New("no"))
	asked := time.Now()
	writer.Shutdown()
	if took := time.Since(asked); took < flushTimeout || took > 10*flushTimeout {
		t.Errorf("it took %s to end, want about %s", took, flushTimeout)
	}
}
