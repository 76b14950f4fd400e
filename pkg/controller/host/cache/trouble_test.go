// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatIsTrouble(t *testing.T) {
	why := errors.New("why")
	for name, test := range map[string]struct {
		happens func(*trouble)
		want    error
	}{
		"nothing has happened":                     {func(*trouble) {}, nil},
		"a request fails":                          {func(t *trouble) { t.watched(why) }, why},
		"a request fails, and the next does not":   {func(t *trouble) { t.watched(why); t.watched(nil) }, nil},
		"a list fails, and the next does not":      {func(t *trouble) { t.listed(why); t.listed(nil) }, nil},
		"a list fails, and a watch does not":       {func(t *trouble) { t.listed(why); t.watched(nil) }, nil},
		"a watch fails, and a list does not":       {func(t *trouble) { t.watched(why); t.listed(nil) }, why},
		"a watch breaks":                           {func(t *trouble) { t.begins(); t.ends(why) }, why},
		"a watch ends as watches do":               {func(t *trouble) { t.begins(); t.ends(nil) }, nil},
		"a watch breaks, and another one begins":   {func(t *trouble) { t.begins(); t.ends(why); t.watched(nil); t.begins() }, why},
		"a watch breaks, and another one lasts":    {func(t *trouble) { t.begins(); t.ends(why); t.watched(nil); t.begins(); <-time.After(enough) }, nil},
		"a watch breaks, and another one has":      {func(t *trouble) { t.begins(); t.ends(why); t.begins(); <-time.After(enough); t.ends(nil) }, nil},
		"a watch breaks after one that has lasted": {func(t *trouble) { t.begins(); <-time.After(enough); t.ends(why) }, why},
		"a watch breaks, and sends a change then":  {func(t *trouble) { t.begins(); t.ends(why); t.begins(); t.progresses() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var trouble trouble
				test.happens(&trouble)
				if got := trouble.err(0); !errors.Is(got, test.want) || test.want == nil && got != nil {
					t.Errorf("the trouble is %v, want %v", got, test.want)
				}
			})
		})
	}
}

// A list that hangs after a watch has ended is neither refused nor broken.
func TestWhatHangsAfterAWatchIsTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var trouble trouble
		trouble.begins()
		trouble.ends(nil)
		trouble.watched(nil)
		<-time.After(maxUnwatched - time.Second)
		if err := trouble.err(watchErrorDelay); err != nil {
			t.Errorf("it is told too early: %v", err)
		}
		<-time.After(time.Second)
		if trouble.err(watchErrorDelay) == nil {
			t.Error("it is not told")
		}
		trouble.begins()
		if err := trouble.err(watchErrorDelay); err != nil {
			t.Errorf("it is still told: %v", err)
		}
	})
}

// A host that restarts refuses requests, and breaks watches, for some seconds.
func TestTroubleIsAsOldAsItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("why")
		var trouble trouble
		for range 9 {
			trouble.begins()
			trouble.ends(why)
			<-time.After(time.Second)
			if trouble.err(watchErrorDelay) != nil {
				t.Fatal("it is told too early")
			}
		}
		<-time.After(time.Second)
		if trouble.err(watchErrorDelay) == nil {
			t.Error("it is not told")
		}
		trouble.begins()
		<-time.After(enough)
		trouble.ends(why)
		if trouble.err(watchErrorDelay) != nil {
			t.Error("what begins after a watch that lasted is told at once")
		}
	})
}
