// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestAnAnswerThatIsKnownToLeaveNothingToWriteIsNotRead(t *testing.T) {
	// It could not be read, which shows whether anybody tries.
	const known = `{"children":`
	hash := xxhash.Sum64String(known)
	sync := func(body string, rest *pipeline.NoOp) (*pipeline.Response, error) {
		about := snapshot(t)
		about.NoOp = rest
		return webhook(t, serve(t, answer(200, body)), "").SyncComposite(t.Context(), about)
	}
	rest := &pipeline.NoOp{Answer: hash, ResyncAfter: time.Minute}

	response, err := sync(known, rest)
	want := &pipeline.Response{ResyncAfter: time.Minute, Hash: hash, IsNoOp: true}
	if diff := cmp.Diff(want, response); diff != "" || err != nil {
		t.Errorf("the known answer: error %v, response (-want +got):\n%s", err, diff)
	}
	if response, err := sync(known, nil); err == nil {
		t.Errorf("without anything known it was read as %+v", response)
	}
	response, err = sync(`{}`, rest)
	if err != nil || response.IsNoOp || response.Hash != xxhash.Sum64String(`{}`) {
		t.Errorf("another answer: response %+v, error %v", response, err)
	}
}
