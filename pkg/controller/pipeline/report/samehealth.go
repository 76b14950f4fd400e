// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

// SameHealth reports whether two states of health certainly make the same status. Either may be nil.
// It allocates little and is cheap, in contrast to Status.
func SameHealth(a, b *Health) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Uncounted == b.Uncounted && a.Total == b.Total && a.Synced == b.Synced && a.Failing == b.Failing &&
		a.Warned == b.Warned && a.Outdated == b.Outdated && a.HookCalled == b.HookCalled && a.WholeErrors == b.WholeErrors &&
		a.Paused == b.Paused && a.PausedParent == b.PausedParent && a.AllPaused == b.AllPaused &&
		// A failure is replaced, and never changed.
		a.LastError == b.LastError && a.Failure == b.Failure &&
		sameWarning(a.FieldWarning, b.FieldWarning) && sameWarning(a.ChildWarning, b.ChildWarning) &&
		sameError(a.HookErr, b.HookErr) && sameError(a.StaleCredentials, b.StaleCredentials) &&
		// What is said of write loops depends on the time.
		len(a.WriteLoops) == 0 && len(b.WriteLoops) == 0
}

func sameWarning(a, b *ParentWarning) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Parent == b.Parent && a.Reason == b.Reason && a.Message == b.Message && a.More == b.More
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error()
}
