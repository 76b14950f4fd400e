// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// The fixed limits of a hook. Other limits are elsewhere: Options.MaxResponseBytes comes from the
// operator's flag --hook-max-response-bytes, the deadline of a call from webhook.timeout, and package
// protocol limits resyncAfterSeconds.
const (
	// defaultTimeout is the deadline of a call if webhook.timeout sets no positive one.
	defaultTimeout = 10 * time.Second
	// maxETagCacheBytes limits the answers in the ETag caches of all hooks. Each has an equal part. If a hook has more,
	// its oldest answers are dropped and have to be sent again.
	maxETagCacheBytes = 64 << 20
	// maxETagBytes limits the length of an ETag. An answer with a longer one is not kept.
	maxETagBytes = 4 << 10
	// cachedAnswerBytes is about how many bytes an answer in an ETag cache takes beside its body and its ETag.
	cachedAnswerBytes = 256
	// maxCustomizeBytes limits the answer of a customize hook. What it says is kept for each parent.
	maxCustomizeBytes = 1 << 20
	// maxThrottle limits the pause that a hook asks for with Retry-After. A hook that asks for more
	// is called after that time and may answer the same.
	maxThrottle = time.Hour
	// maxPooledBytes limits the buffers of requests and answers that are kept for later calls.
	maxPooledBytes = 1 << 20
	// maxExpectedBytes limits the memory that is allocated before an answer is read. A larger
	// answer gets more while it is read.
	maxExpectedBytes = 1 << 20
)

// A hook counts as down after failuresToOpen calls in a row without an answer. Then probes are
// made: the first one after minPause. The pause doubles up to maxPause with every probe that fails.
const (
	failuresToOpen = 5
	minPause       = time.Second
	maxPause       = 15 * time.Second
	// changeInterval is the time between calls about changed parents while the hook is down.
	changeInterval = time.Second
)

// maxResponse returns how many bytes the answer of a hook may have, and what says so.
func maxResponse(hook string, limit int64) (most int64, why string) {
	if hook == Customize && limit > maxCustomizeBytes {
		return maxCustomizeBytes, "the answer of a customize hook may have"
	}
	return limit, "--hook-max-response-bytes allows"
}

// timeout returns the deadline of a call. It is ten seconds if the spec sets no positive one.
func timeout(spec *v1alpha1.Webhook) (time.Duration, error) {
	if spec.Timeout == nil {
		return defaultTimeout, nil
	}
	timeout, err := spec.Timeout.Parse()
	if err != nil {
		return 0, fmt.Errorf("invalid webhook config: timeout: %w", err)
	}
	if timeout <= 0 {
		return defaultTimeout, nil
	}
	return timeout, nil
}
