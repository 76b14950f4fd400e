// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package calllog

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
)

// names makes names of calls. They sort by time.
type names struct {
	// process tells the process from others.
	process int64
}

// suffixes is how many suffixes there are, as many as numbers of four digits to the base 36.
const suffixes = 36 * 36 * 36 * 36

// of returns the name of the call with that number, which began at a time: the time in microseconds, and a suffix that tells it
// from those of other controllers and processes at the same time.
func (n names) of(number uint64, began time.Time) string {
	seed := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(n.process)), number)
	suffix := strconv.FormatUint(suffixes+xxhash.Sum64(seed)%suffixes, 36)[1:]
	return began.UTC().Format("20060102-150405") + "-" + strconv.Itoa(1_000_000 + began.Nanosecond()/1000)[1:] + "-" + suffix
}
