// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
)

// forgottenAnswer returns the error of a hook that is read strictly and answers null, as functions do
// that end without a result. Nothing is the answer that asks for nothing.
func (w *Webhook) forgottenAnswer(nothing string) error {
	return fmt.Errorf("%w: it is null, as if a return statement were missing in the hook; to ask for nothing, "+
		"answer %s (%s, null is an error)", ErrUnreadable, nothing, w.whyStrict())
}

// checkForgotten returns an error if a sync hook that is read strictly answers without the field of
// children, and the parent has some that this would delete. An unknown field may be the one that is
// missing, and is an error of its own. Finalize hooks often answer no more than that they have finished.
func (w *Webhook) checkForgotten(d *protocol.Decoder, response *pipeline.Response, field string,
	about *pipeline.Snapshot,
) error {
	if !w.strict() || response.SaysChildren || about.Finalizing || len(d.StrictErrors()) > 0 {
		return nil
	}
	lost := childrenToLose(about)
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("%w: it has no field %q, and %s of this object exist (%s); list those that are to stay, "+
		"or answer %q: [] to have all of them deleted (%s, the field must be there)",
		ErrUnreadable, field, field, enumerate.First(maxListed, lost), field, w.whyStrict())
}
