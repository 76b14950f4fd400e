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
	"time"
)

// abandonedAfter is the time after its last write from which on a part counts as left by a killed save. A save that runs writes
// more often: its request to the cluster ends after a minute.
const abandonedAfter = time.Hour

// directory is where snapshots are saved with the time as their name.
type directory struct {
	path string
	// keep is how many of them are kept; 0 for all.
	keep int
}

// save makes a file in the directory. What is not kept is removed before, too, because it may be what fills the
// volume. As many snapshots as are kept stay also if the new one cannot be saved.
func (d directory) save(snapshot io.Reader, stderr io.Writer) error {
	tidyErr := d.tidy(time.Now(), "") // no reason not to save; if it stays, it is met again below
	name := fileName(time.Now())
	if err := saveAs(snapshot, filepath.Join(d.path, name), stderr); err != nil {
		return errors.Join(explainFull(err, d.path, d.adviceWhenFull()), tidyErr)
	}
	return d.tidy(time.Now(), name)
}

// tidy removes the snapshots beyond the number that is kept, the oldest first, and the parts that killed saves have
// left. The snapshot named latest counts, but stays whatever its name says. It is empty before one is saved.
func (d directory) tidy(now time.Time, latest string) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("look for old snapshots: %w", err)
	}
	old := append(d.surplus(entries, now, latest), abandonedParts(entries, now)...)
	var errs []error
	for _, name := range old {
		if err := os.Remove(filepath.Join(d.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove an old snapshot: %w", err))
		}
	}
	return errors.Join(errs...)
}

// surplus returns the names of the snapshots beyond the number that is kept. A snapshot from the future was named by a
// clock that was ahead, so that nothing is known of its age. It counts as older than those with a time that can be
// true: otherwise such names would stay, and each new snapshot would be removed by the next one.
func (d directory) surplus(entries []os.DirEntry, now time.Time, latest string) []string {
	if d.keep == 0 {
		return nil
	}
	var future, past []string // each in order of time, because entries are in order of names
	kept := d.keep
	for _, entry := range entries {
		at, ours := savedAt(entry.Name())
		switch {
		case !ours || !entry.Type().IsRegular():
		case entry.Name() == latest:
			kept--
		case at.After(now):
			future = append(future, entry.Name())
		default:
			past = append(past, entry.Name())
		}
	}
	others := append(future, past...)
	return others[:max(0, len(others)-kept)]
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
