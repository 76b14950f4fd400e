// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

// Events about one object are bounded twice. Each kind of message has a budget of its own so that one message that
// comes again and again does not keep the next one from being seen. And each reason has a larger budget for all its
// messages. The reasons are few, so this bounds the total.

// reasonShare is the budget of a reason, as a multiple of the budget of one kind of message.
const reasonShare = 8

// combined is the beginning of the message of an event that stands for many with similar messages.
const combined = "(combined from similar events): "

// combine returns the message of the event that stands for this one and the similar ones before.
func combine(event *corev1.Event) string { return combined + event.Message }

// messageKey names the kind of message of an event about its object.
func messageKey(event *corev1.Event) string {
	message := withoutNumbers(strings.TrimPrefix(event.Message, combined))
	return reasonKey(event) + "/" + strconv.FormatUint(xxhash.Sum64String(message), 36)
}

// similarKeys names the events that an event is combined with if they become many, and the message
// that makes it another one than these: only events of one kind of message are combined.
func similarKeys(event *corev1.Event) (similar, message string) {
	return messageKey(event), strconv.FormatUint(xxhash.Sum64String(event.Message), 36)
}

// reasonKey names the object and the reason of an event.
func reasonKey(event *corev1.Event) string {
	about := &event.InvolvedObject
	return strings.Join([]string{about.APIVersion, about.Kind, about.Namespace, about.Name, string(about.UID),
		event.Type, event.Reason}, "/")
}

// withoutNumbers returns the message with each word that has a digit replaced, such as a number, a hash, a time or the
// random end of a name. The result is the kind of the message.
func withoutNumbers(message string) string {
	isInWord := func(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }
	var kind strings.Builder
	for i := 0; i < len(message); {
		end, hasDigit := i, false
		for ; end < len(message) && isInWord(message[end]); end++ {
			hasDigit = hasDigit || message[end] <= '9'
		}
		switch {
		case hasDigit:
			kind.WriteByte('#')
		case end == i:
			end++
			fallthrough
		default:
			kind.WriteString(message[i:end])
		}
		i = end
	}
	return kind.String()
}

// reasonBudgets limits the events of each reason about each object.
type reasonBudgets struct {
	options EventOptions
	clock   clock.PassiveClock
	// budgets has a rate limiter for each reasonKey, of those that were used last.
	budgets *lru.Cache
}

func newReasonBudgets(options EventOptions, clock clock.PassiveClock) *reasonBudgets {
	const most = 4096 // as many as client-go keeps of other things
	return &reasonBudgets{options, clock, lru.New(most)}
}

// take reports whether the event may be written, and takes it from the budget if so.
func (b *reasonBudgets) take(event *corev1.Event) bool {
	key := reasonKey(event)
	budget, ok := b.budgets.Get(key)
	if !ok {
		budget = flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(reasonShare*b.options.QPS,
			reasonShare*b.options.Burst, b.clock)
		b.budgets.Add(key, budget)
	}
	return budget.(flowcontrol.PassiveRateLimiter).TryAccept()
}
