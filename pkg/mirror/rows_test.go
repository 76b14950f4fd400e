// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"testing"
	"testing/synctest"
	"time"
)

// What a replica told before another one took over may arrive after what that one tells, and the latter tells nothing twice.
func TestTheLateWordOfAFormerRunnerHidesTheRowOfThePresentOneOnlyForAMoment(t *testing.T) {
	for name, end := range map[string]func(*world, *origin){
		"it lets the row go": func(_ *world, former *origin) { former.set(false, "x") },
		"its stream ends":    func(_ *world, former *origin) { former.setDown(true) },
		"it goes": func(w *world, former *origin) {
			former.setDown(true)
			w.leave("former")
			<-time.After(2 * grace)
		},
		"its stream begins anew, without the row": func(_ *world, former *origin) {
			former.setDown(true)
			former.set(false, "x")
			former.setDown(false)
			<-time.After(2 * retryInterval)
		},
	} {
		t.Run(name, func(t *testing.T) {
			former, present := newOrigin("former", "x"), newOrigin("present", "x")
			former.down = true
			inWorld(t, newOrigin("local", "l"), []*origin{former, present}, func(w *world) {
				w.expect("l@local x@present -former")
				former.setDown(false)
				<-time.After(2 * retryInterval)
				synctest.Wait()
				w.expect("l@local x@former")
				end(w, former)
				synctest.Wait()
				w.expectRows("l@local x@present")
			})
		})
	}
}

func TestARowOfThisProcessIsShownAgain(t *testing.T) {
	local, former := newOrigin("local", "x"), newOrigin("former")
	inWorld(t, local, []*origin{former}, func(w *world) {
		w.expect("x@local")
		former.set(true, "x")
		synctest.Wait()
		w.expect("x@former")
		former.set(false, "x")
		synctest.Wait()
		w.expect("x@local")
	})
}

func TestThePresentRunnerIsHeardAgain(t *testing.T) {
	former, present := newOrigin("former"), newOrigin("present", "x")
	inWorld(t, newOrigin("local"), []*origin{former, present}, func(w *world) {
		w.expect("x@present")
		former.set(true, "x")
		synctest.Wait()
		present.set(true, "x")
		synctest.Wait()
		w.expect("x@present")
		present.set(false, "x")
		synctest.Wait()
		w.expect("x@former")
	})
}

// A row that is gone must not be shown again as one told it who does not tell of changes any more.
func TestARowThatIsHiddenIsForgotten(t *testing.T) {
	for name, end := range map[string]func(former *origin){
		"when its origin lets it go":         func(former *origin) { former.set(false, "x") },
		"when the stream of its origin ends": func(former *origin) { former.setDown(true) },
	} {
		t.Run(name, func(t *testing.T) {
			former, present := newOrigin("former", "x"), newOrigin("present")
			inWorld(t, newOrigin("local", "l"), []*origin{former, present}, func(w *world) {
				w.expect("l@local x@former")
				present.set(true, "x")
				synctest.Wait()
				w.expect("l@local x@present")
				end(former)
				synctest.Wait()
				if hidden := w.mirror.session.rows.hidden; len(hidden) != 0 {
					t.Errorf("%v is still kept", hidden)
				}
				present.set(false, "x")
				synctest.Wait()
				w.expectRows("l@local")
			})
		})
	}
}

// A row that its origin told and does not tell of any more is shown until another one has it. Then nothing is left of it.
func TestARowOfASilentReplicaIsNotHidden(t *testing.T) {
	killed, heir := newOrigin("killed", "x"), newOrigin("heir")
	inWorld(t, newOrigin("local", "l"), []*origin{killed, heir}, func(w *world) {
		w.expect("l@local x@killed")
		killed.setDown(true)
		synctest.Wait()
		w.expectRows("l@local x@killed")
		heir.set(true, "x")
		synctest.Wait()
		w.expectRows("l@local x@heir")
		heir.set(false, "x")
		synctest.Wait()
		w.expectRows("l@local")
	})
}
