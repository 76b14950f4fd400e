// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// Goroutines counts the server's goroutines by the function that started them.
func (e *Env) Goroutines(ctx context.Context) (map[string]int, error) {
	dump, err := e.GetAsAdministrator(ctx, "/debug/pprof/goroutine?debug=2")
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for line := range strings.Lines(dump) {
		if creator, ok := strings.CutPrefix(line, "created by "); ok {
			creator, _, _ = strings.Cut(creator, " in goroutine ")
			counts[creator]++
		}
	}
	return counts, nil
}

// Heap is what the server's heap holds after a garbage collection, in bytes.
type Heap struct {
	All int64
	// Controllers is what controllers have allocated of it, without bounded caches. It is an
	// estimate, out of one sample in profileRate bytes.
	Controllers int64
}

// boundedCaches matches the stacks of what bounded caches retain: client-go's caches of events, the budgets of events,
// and metadata that objects share.
var boundedCaches = regexp.MustCompile(`client-go/tools/record\.\(\*(eventLogger|EventAggregator|EventSourceObjectSpamFilter)\)|` +
	`report\.\(\*reasonBudgets\)|pkg/controller/object\.intern`)

// profileRate is the number of bytes for one sample of the server's heap profile. With Go's
// default, half a megabyte, two more samples would look like a leak.
const profileRate = 16 << 10

// LiveHeap measures the server's heap.
func (e *Env) LiveHeap(ctx context.Context) (Heap, error) {
	profile, err := e.GetAsAdministrator(ctx, "/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return Heap{}, err
	}
	var heap Heap
	var controllers float64
	for record := range strings.SplitSeq(profile, "\n\n") {
		var objects, bytes float64
		_, err := fmt.Sscanf(strings.TrimSpace(record), "%g: %g [", &objects, &bytes)
		if err == nil && strings.Contains(record, "/pkg/controller") && !boundedCaches.MatchString(record) {
			controllers += inAll(objects, bytes)
		}
	}
	heap.Controllers = int64(controllers)
	for line := range strings.Lines(profile) {
		if count, err := fmt.Sscanf(line, "# HeapAlloc = %d", &heap.All); err == nil && count == 1 {
			return heap, nil
		}
	}
	return heap, fmt.Errorf("the heap profile does not say how much is in use")
}

// inAll estimates the bytes that the sampled objects stand for.
func inAll(objects, bytes float64) float64 {
	if objects == 0 {
		return 0
	}
	return bytes / (1 - math.Exp(-bytes/objects/profileRate))
}

// GetAsAdministrator reads a path from the server directly, as a user who may do everything.
func (e *Env) GetAsAdministrator(ctx context.Context, path string) (string, error) {
	certificate, err := tls.X509KeyPair(e.Config.CertData, e.Config.KeyData)
	if err != nil {
		return "", fmt.Errorf("read the certificate of the administrator: %w", err)
	}
	body, err := e.Server.GetAs(ctx, &certificate, path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w: %s", path, err, body)
	}
	return body, nil
}

// Usage is what the server takes of the machine.
func (e *Env) Usage() (process.Usage, error) { return process.UsageOf(e.Server.PID()) }
