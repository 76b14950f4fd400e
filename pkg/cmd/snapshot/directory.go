// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// abandonedAfter is the time since its last write after which a part counts as abandoned by a killed save. A save
	// that runs writes more often: its request to the cluster ends after a minute.
	abandonedAfter = time.Hour

	// leastKept is the minimum number of snapshots to keep on a full volume, unless keep is lower.
	leastKept = 3
)

// directory is the directory in which snapshots are saved under the time as their name.
type directory struct {
	path string
	// keep is the number of snapshots to keep; 0 keeps all.
	keep int
}

// save creates a file in the directory. If the volume is full, it removes the oldest snapshots until there is room, as
// long as leastKept of them stay.
func (d directory) save(open func() (io.ReadCloser, error), stderr io.Writer) error {
	tidyErr := d.tidy(time.Now(), "") // no reason not to save; if it stays, it is met again below
	name := fileName(time.Now())
	for {
		err := saveAs(open, filepath.Join(d.path, name), stderr)
		if err == nil {
			return d.tidy(time.Now(), name)
		}
		removed := ""
		if isFull(err) {
			var removeErr error
			removed, removeErr = d.removeOldest(time.Now())
			err = errors.Join(err, removeErr)
		}
		if removed == "" {
			return errors.Join(explainFull(err, d.path), tidyErr)
		}
		fmt.Fprintf(stderr, "The volume of %s is full with fewer than --keep=%d snapshots: enlarge it. Removed %s, the "+
			"oldest\n", d.path, d.keep, removed)
	}
}

// tidy removes the snapshots beyond the number that is kept, the oldest first, and the parts that killed saves have
// left. The snapshot named latest counts, but tidy never removes it. latest is empty before the first save.
func (d directory) tidy(now time.Time, latest string) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("look for old snapshots: %w", err)
	}
	old := abandonedParts(entries, now)
	if kept := d.keep; kept > 0 {
		if latest != "" {
			kept--
		}
		saved := fromOldest(entries, now, latest)
		old = append(old, saved[:max(0, len(saved)-kept)]...)
	}
	return d.remove(old)
}

// removeOldest removes the oldest snapshot, and returns its name. It returns "" if no more than leastKept or all are
// kept.
func (d directory) removeOldest(now time.Time) (string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return "", fmt.Errorf("look for old snapshots: %w", err)
	}
	saved := fromOldest(entries, now, "")
	if d.keep == 0 || len(saved) <= min(d.keep, leastKept) {
		return "", nil
	}
	return saved[0], d.remove(saved[:1])
}

func (d directory) remove(names []string) error {
	var errs []error
	for _, name := range names {
		if err := os.Remove(filepath.Join(d.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove an old snapshot: %w", err))
		}
	}
	return errors.Join(errs...)
}

// fromOldest returns the names of the snapshots but one, from the oldest on. A clock that was ahead named a snapshot
// from the future, so its age is unknown. It counts as older than those with a time that can be true: otherwise such
// names would stay, and each new snapshot would be removed by the next one.
func fromOldest(entries []os.DirEntry, now time.Time, except string) []string {
	var future, past []string // each in order of time, because entries are in order of names
	for _, entry := range entries {
		at, ours := savedAt(entry.Name())
		switch {
		case !ours || !entry.Type().IsRegular() || entry.Name() == except:
		case at.After(now):
			future = append(future, entry.Name())
		default:
			past = append(past, entry.Name())
		}
	}
	return append(future, past...)
}

// abandonedParts returns the names of the parts that killed saves have left.
func abandonedParts(entries []os.DirEntry, now time.Time) []string {
	var parts []string
	for _, entry := range entries {
		name, _, isPart := strings.Cut(entry.Name(), partMark)
		if _, ours := savedAt(name); !ours || !isPart || !entry.Type().IsRegular() {
			continue
		}
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > abandonedAfter {
			parts = append(parts, entry.Name())
		}
	}
	return parts
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// explainFull adds to an error of a full volume what to do about it. Other errors stay as they are.
func explainFull(err error, dir string) error {
	if isFull(err) {
		return fmt.Errorf("%w; the volume of %s is full: enlarge it", err, dir)
	}
	return err
}
