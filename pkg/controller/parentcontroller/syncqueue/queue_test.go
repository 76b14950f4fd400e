// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

func named(name string) object.Key {
	return object.Key{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
}

// diary notes what was synced and when, in the time of the test.
type diary struct {
	mu      sync.Mutex
	started time.Time
	names   []string
	times   []time.Duration
}

func (d *diary) note(parent object.Key) (visits int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names = append(d.names, parent.Name)
	d.times = append(d.times, time.Since(d.started))
	return len(d.names)
}

// start runs a queue until the test ends. Tests run in a bubble of synctest: its time passes only
// when all goroutines wait, so a sleep takes no time and is exact.
func start(t *testing.T, workers int, sync func(*diary, object.Key) Result) (*Queue, *diary) {
	t.Helper()
	noted := &diary{started: time.Now()}
	queue := New(t.Name(), workers, nil, func(_ context.Context, parent object.Key, _ Cause) Result {
		return sync(noted, parent)
	})
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		queue.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-returned
	})
	return queue, noted
}

func TestAParentIsNeverSyncedTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		underWay, most := map[object.Key]int{}, 0
		queue, noted := start(t, 5, func(noted *diary, parent object.Key) Result {
			mu.Lock()
			underWay[parent]++
			most = max(most, underWay[parent])
			mu.Unlock()
			noted.note(parent)
			time.Sleep(10 * time.Millisecond)
			mu.Lock()
			underWay[parent]--
			mu.Unlock()
			return Done(0)
		})
		for range 100 {
			queue.Enqueue(ParentChanged, named("a"), named("b"))
			queue.Enqueue(Resync, named("a"))
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if most != 1 {
			t.Errorf("a parent was synced %d times at once", most)
		}
		if count := len(noted.names); count < 20 {
			t.Errorf("there were only %d syncs", count)
		}
	})
}

func TestDifferentParentsAreSyncedAtOnceAsFarAsThereAreWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		underWay := make(chan object.Key, 10)
		release := make(chan struct{})
		queue, _ := start(t, 3, func(_ *diary, parent object.Key) Result {
			underWay <- parent
			<-release
			return Done(0)
		})
		queue.Enqueue(ParentChanged, named("a"), named("b"), named("c"), named("d"), named("e"))
		synctest.Wait()
		if count := len(underWay); count != 3 {
			t.Errorf("%d syncs are under way, want 3", count)
		}
		close(release)
		synctest.Wait()
		if count := len(underWay); count != 5 {
			t.Errorf("%d syncs were made, want 5", count)
		}
	})
}

func TestAParentThatChangesDuringItsSyncIsSyncedOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		queue, noted := start(t, 2, func(noted *diary, parent object.Key) Result {
			if noted.note(parent) == 1 {
				<-release
			}
			return Done(0)
		})
		queue.Enqueue(ParentChanged, named("a"))
		synctest.Wait()
		queue.Enqueue(ParentChanged, named("a"))
		queue.Enqueue(ParentChanged, named("a"))
		queue.Enqueue(Resync, named("a"))
		synctest.Wait()
		close(release)
		synctest.Wait()
		if count := len(noted.names); count != 2 {
			t.Errorf("there were %d syncs, want 2", count)
		}
	})
}

// late puts a parent into the queue without a cause, as Enqueue does if the sync that is under way has taken the cause.
func late(queue *Queue, parent object.Key) { queue.queue.Add(parent) }

func TestAChangeThatASyncHasSeenCausesNoOtherSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var queue *Queue
		queue, noted := start(t, 1, func(noted *diary, parent object.Key) Result {
			if noted.note(parent) == 1 {
				late(queue, parent)
			}
			return Done(0)
		})
		queue.Enqueue(ParentChanged, named("a"))
		synctest.Wait()
		if count := len(noted.names); count != 1 {
			t.Errorf("there were %d syncs, want 1", count)
		}
		queue.Enqueue(ParentChanged, named("a"))
		synctest.Wait()
		if count := len(noted.names); count != 2 {
			t.Errorf("there were %d syncs after one more change, want 2", count)
		}
	})
}

func TestAChangeThatASyncHasSeenDoesNotHastenTheNextSync(t *testing.T) {
	for name, result := range map[string]Result{
		"that is tried again":    Backoff(0),
		"that came too early":    RequeueAfter(minBackoff),
		"that asked for another": Done(minBackoff),
	} {
		t.Run("of a sync "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var queue *Queue
				queue, noted := start(t, 1, func(noted *diary, parent object.Key) Result {
					if noted.note(parent) > 1 {
						return Done(0)
					}
					late(queue, parent)
					return result
				})
				queue.Enqueue(ParentChanged, named("a"))
				time.Sleep(time.Minute)
				synctest.Wait()
				if want := []time.Duration{0, minBackoff}; !slices.Equal(noted.times, want) {
					t.Errorf("synced after %v, want %v", noted.times, want)
				}
			})
		})
	}
}

func TestWhatChangedGoesBeforeWhatIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		queue, noted := start(t, 1, func(noted *diary, parent object.Key) Result {
			if noted.note(parent) == 1 {
				<-release
			}
			return Done(0)
		})
		queue.Enqueue(ParentChanged, named("first"))
		synctest.Wait()
		queue.Enqueue(Resync, named("again-1"), named("again-2"), named("both"))
		queue.Enqueue(ParentChanged, named("changed-1"))
		queue.Enqueue(ParentChanged, named("changed-2"), named("both"))
		synctest.Wait()
		close(release)
		synctest.Wait()
		want := []string{"first", "changed-1", "changed-2", "both", "again-1", "again-2"}
		if diff := cmp.Diff(want, noted.names); diff != "" {
			t.Errorf("order of syncs (-want +got):\n%s", diff)
		}
	})
}

// Because of the later sync, the queue hands the parent out at once. It still has to wait for the turn of the event.
func TestAnEventWaitsInItsLaneAlthoughALaterSyncIsAskedFor(t *testing.T) {
	for cause, want := range map[Cause][]string{
		ParentChanged: {"first", "waiting", "started-1", "retried", "started-2", "started-3"},
		ChildChanged:  {"first", "started-1", "retried", "started-2", "started-3", "waiting"},
	} {
		t.Run(cause.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				queue, noted := start(t, 1, func(noted *diary, parent object.Key) Result {
					switch noted.note(parent); parent.Name {
					case "first":
						<-release
					case "waiting", "retried":
						return Done(map[string]time.Duration{"waiting": time.Hour, "retried": time.Minute}[parent.Name])
					}
					return Done(0)
				})
				queue.Enqueue(ParentChanged, named("waiting"), named("retried"))
				synctest.Wait()
				noted.names = nil
				queue.Enqueue(ParentChanged, named("first"))
				synctest.Wait()
				time.Sleep(2 * time.Minute)
				queue.Enqueue(ControllerStarted, named("started-1"), named("started-2"), named("started-3"))
				queue.Enqueue(cause, named("waiting"))
				synctest.Wait()
				close(release)
				synctest.Wait()
				if diff := cmp.Diff(want, noted.names); diff != "" {
					t.Errorf("order of syncs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAFailureIsTriedAgainEverLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, noted := start(t, 1, func(noted *diary, parent object.Key) Result {
			noted.note(parent)
			return Backoff(0)
		})
		queue.Enqueue(ParentChanged, named("a"))
		time.Sleep(6 * time.Hour)
		synctest.Wait()
		noted.mu.Lock()
		defer noted.mu.Unlock()
		var pauses []time.Duration
		for i := 1; i < len(noted.times); i++ {
			pauses = append(pauses, noted.times[i]-noted.times[i-1])
		}
		for i, pause := range pauses {
			want := min(minBackoff<<min(i, 40), maxBackoff)
			if pause != want {
				t.Errorf("pause %d is %s, want %s", i, pause, want)
			}
		}
		if len(pauses) < 30 || pauses[len(pauses)-1] != 1000*time.Second {
			t.Errorf("the pauses are %v", pauses)
		}
	})
}

func TestEachParentHasABackoffOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, noted := start(t, 2, func(noted *diary, parent object.Key) Result {
			noted.note(parent)
			if parent.Name == "failing" {
				return Backoff(0)
			}
			return Done(0)
		})
		queue.Enqueue(ParentChanged, named("failing"))
		time.Sleep(time.Minute)
		synctest.Wait()
		noted.mu.Lock()
		noted.names, noted.times, noted.started = nil, nil, time.Now()
		noted.mu.Unlock()
		queue.Enqueue(ParentChanged, named("well"))
		synctest.Wait()
		if !slices.Equal(noted.names, []string{"well"}) || noted.times[0] != 0 {
			t.Errorf("synced were %v after %v, want well at once", noted.names, noted.times)
		}
	})
}

func TestAChangeEndsTheWaitOfAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, noted := start(t, 1, func(noted *diary, parent object.Key) Result {
			noted.note(parent)
			return Backoff(0)
		})
		queue.Enqueue(ParentChanged, named("a"))
		time.Sleep(time.Hour)
		synctest.Wait()
		before := len(noted.names)
		queue.Enqueue(ParentChanged, named("a"))
		synctest.Wait()
		if after := len(noted.names); after != before+1 {
			t.Errorf("%d syncs followed the change, want one", after-before)
		}
	})
}

func TestSuccessClearsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := true
		queue, noted := start(t, 1, func(noted *diary, parent object.Key) Result {
			noted.note(parent)
			if failing {
				return Backoff(0)
			}
			return Done(0)
		})
		queue.Enqueue(ParentChanged, named("a"))
		time.Sleep(time.Minute)
		synctest.Wait()
		failing = false
		queue.Enqueue(ParentChanged, named("a"))
		synctest.Wait()
		failing = true
		noted.mu.Lock()
		noted.times, noted.started = nil, time.Now()
		noted.mu.Unlock()
		queue.Enqueue(ParentChanged, named("a"))
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if want := []time.Duration{0, minBackoff, 3 * minBackoff}; !slices.Equal(noted.times, want) {
			t.Errorf("synced after %v, want %v", noted.times, want)
		}
	})
}

func TestAFailureDoesNotPutOffWhatTheSyncAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, noted := start(t, 1, func(noted *diary, parent object.Key) Result {
			noted.note(parent)
			return Backoff(time.Second)
		})
		queue.Enqueue(ParentChanged, named("a"))
		time.Sleep(time.Minute)
		synctest.Wait()
		noted.mu.Lock()
		defer noted.mu.Unlock()
		if last := noted.times[len(noted.times)-1]; last < time.Minute-time.Second || len(noted.times) < 60 {
			t.Errorf("a parent that fails and asks for a sync each second was synced %d times in a minute, the last time after %s", len(noted.times), last)
		}
	})
}

func TestASyncMayAskForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, noted := start(t, 1, func(noted *diary, parent object.Key) Result {
			switch noted.note(parent) {
			case 1:
				return Done(time.Minute)
			case 2:
				return Done(time.Second)
			default:
				return Done(0)
			}
		})
		queue.Enqueue(ParentChanged, named("a"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := []time.Duration{0, time.Minute, time.Minute + time.Second}; !slices.Equal(noted.times, want) {
			t.Errorf("synced after %v, want %v", noted.times, want)
		}
	})
}

func TestASyncThatPanicsIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, noted := start(t, 1, func(noted *diary, parent object.Key) Result {
			noted.note(parent)
			if parent.Name == "bad" {
				panic("boom")
			}
			return Done(0)
		})
		queue.Enqueue(ParentChanged, named("bad"))
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if want := []time.Duration{0, minBackoff, 3 * minBackoff}; !slices.Equal(noted.times, want) {
			t.Errorf("synced after %v, want %v", noted.times, want)
		}
		queue.Enqueue(ParentChanged, named("good"))
		synctest.Wait()
		if last := noted.names[len(noted.names)-1]; last != "good" {
			t.Errorf("the last sync was of %s, want the queue to go on", last)
		}
	})
}

func TestASyncHasTheContextOfTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		queue := New(t.Name(), 1, nil, func(ctx context.Context, _ object.Key, _ Cause) Result {
			<-ctx.Done()
			ended <- ctx.Err()
			return Done(0)
		})
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Background()))
		queue.Enqueue(ParentChanged, named("a"))
		go func() {
			synctest.Wait()
			cancel()
		}()
		queue.Run(ctx)
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the sync ended with %v", err)
			}
		default:
			t.Error("there was no sync")
		}
	})
}

func TestRunReturnsWhenTheSyncsUnderWayHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, returned := make(chan struct{}), make(chan struct{})
		var syncs, ended int
		var mu sync.Mutex
		queue := New(t.Name(), 3, nil, func(context.Context, object.Key, Cause) Result {
			mu.Lock()
			syncs++
			mu.Unlock()
			<-release
			mu.Lock()
			ended++
			mu.Unlock()
			return Done(time.Second)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(returned)
			queue.Run(ctx)
		}()
		for i := range 10 {
			queue.Enqueue(ParentChanged, named(fmt.Sprint(i)))
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case <-returned:
			t.Fatal("Run returned while syncs were under way")
		default:
		}
		close(release)
		<-returned
		if syncs != 3 || ended != 3 {
			t.Errorf("%d syncs were begun and %d ended, want the 3 that were under way", syncs, ended)
		}
		queue.Enqueue(ParentChanged, named("late"))
		time.Sleep(time.Hour)
		if syncs != 3 {
			t.Error("a sync was begun after the end")
		}
	})
}

// Otherwise the goroutines of its queue would never end. synctest finds them.
func TestALoopThatIsNotRunIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := New(t.Name(), 1, nil, func(context.Context, object.Key, Cause) Result { return Done(0) })
		queue.Enqueue(ParentChanged, named("a"))
		queue.Close()
	})
}

func TestCloseAfterRunDoesNoHarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := New(t.Name(), 1, nil, func(context.Context, object.Key, Cause) Result { return Done(0) })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		queue.Run(ctx)
		queue.Close()
		queue.Close()
	})
}
