// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"slices"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// What is being deleted has no use for the labels that are fought over, and goes at once.
func TestAParentIsLetGoInTheMidstOfALoop(t *testing.T) {
	w := newWorld(t)
	labels := step(stage.Metadata, "p", 1)
	w.fight(time.Millisecond, 10*time.Second, constantly(labels))
	w.sync(labels)
	w.now += time.Millisecond
	if taken, _ := w.sync(labels); len(taken) > 0 {
		t.Fatal("the labels should be held back")
	}
	labels.LetsGo = true
	if taken, _ := w.sync(labels); !slices.Equal(taken, []stage.Op{stage.Metadata}) {
		t.Errorf("the steps that are taken are %v", taken)
	}
}

// A target may be an attachment of another one. What it is written as does not make the
// other forgotten.
func TestAnObjectThatIsTargetAndAttachmentIsWatchedAsBoth(t *testing.T) {
	w := newWorld(t)
	asTarget, asAttachment := step(stage.Metadata, "p", 1), step(stage.Update, "c", 2)
	asAttachment.Type, asAttachment.Namespace, asAttachment.Name = asTarget.Type, asTarget.Namespace, asTarget.Name
	for range mostUndone {
		for _, step := range []stage.Step{asTarget, asAttachment} {
			if taken, _ := w.sync(step); len(taken) != 1 {
				t.Fatalf("%s is held back early", step.Op)
			}
			w.now += time.Millisecond
		}
	}
	if taken, _ := w.sync(asAttachment); len(taken) > 0 {
		t.Error("the attachment should be held back")
	}
}
