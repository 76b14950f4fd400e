// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package calllog

// The sizes with which a ring begins to grow.
const (
	minCalls = 4
	minBytes = 4 << 10
)

// ring has calls and their bytes. It drops the oldest calls to make room for new ones.
type ring struct {
	// calls is a ring buffer. It holds number calls, and the oldest is at index first. It grows up to maxCalls.
	calls         []call
	first, number int
	maxCalls      int
	// bytes is used as a ring, too. The positions of what is in it grow without end; their remainder is the index.
	bytes []byte
	head  uint64
	// dropped is called with each call that is dropped; it may be nil.
	dropped func(*call)
}

// span is the range of the bytes of a call, from start to end, without a gap.
type span struct{ start, end uint64 }

// newRing returns a ring for at most maxCalls calls, which calls dropped with each call that it drops.
func newRing(maxCalls int, dropped func(*call)) ring {
	return ring{maxCalls: maxCalls, dropped: dropped}
}

// at returns a call; zero is the oldest.
func (r *ring) at(i int) *call { return &r.calls[(r.first+i)%len(r.calls)] }

// add returns the place for a new call of size bytes in a ring of at most limit bytes. It drops the calls whose places
// it needs. The place still has the earlier call, whose memory can be reused.
func (r *ring) add(size, limit int) *call {
	switch {
	case r.number < len(r.calls):
	case r.number < r.maxCalls:
		r.grow()
	default:
		r.drop()
	}
	r.makeRoom(size, limit)
	added := r.at(r.number)
	added.span = span{r.head, r.head + uint64(size)}
	r.head += uint64(size)
	r.number++
	return added
}

// grow adds places for more calls.
func (r *ring) grow() {
	calls := make([]call, min(r.maxCalls, max(2*len(r.calls), minCalls)))
	for i := range r.number {
		calls[i] = *r.at(i)
	}
	r.calls, r.first = calls, 0
}

// drop drops the oldest call.
func (r *ring) drop() {
	if r.dropped != nil {
		r.dropped(r.at(0))
	}
	r.first = (r.first + 1) % len(r.calls)
	r.number--
}

// dropWhere drops the calls that is selects. The others keep their order and their bytes.
func (r *ring) dropWhere(is func(*call) bool) {
	kept := 0
	for i := range r.number {
		one, place := r.at(i), r.at(kept)
		if !is(one) {
			*place, *one = *one, *place
			kept++
		} else if r.dropped != nil {
			r.dropped(one)
		}
	}
	r.number = kept
}

// makeRoom frees the next size bytes from head on, without a gap.
func (r *ring) makeRoom(size, limit int) {
	r.shrink(limit)
	if size == 0 {
		return
	}
	if !r.fits(size) && len(r.bytes) < limit {
		r.resize(min(limit, max(2*len(r.bytes), len(r.bytes)+size, minBytes)))
	}
	for !r.fits(size) {
		r.drop()
	}
	r.head = r.start(size)
}

// start returns where size bytes begin: at head, or at the next beginning of the ring if they would cross its end.
func (r *ring) start(size int) uint64 {
	if at := int(r.head % uint64(len(r.bytes))); at+size > len(r.bytes) {
		return r.head + uint64(len(r.bytes)-at)
	}
	return r.head
}

// fits reports whether size bytes are free. In a ring without calls, all are.
func (r *ring) fits(size int) bool {
	if len(r.bytes) < size {
		return false
	}
	if r.number == 0 {
		return true
	}
	return r.start(size)+uint64(size)-r.at(0).span.start <= uint64(len(r.bytes))
}

// shrink drops calls until the remaining ones have at most limit bytes.
func (r *ring) shrink(limit int) {
	if len(r.bytes) <= limit {
		return
	}
	for r.number > 0 && r.used() > limit {
		r.drop()
	}
	r.resize(limit)
}

// used returns how many bytes the calls have.
func (r *ring) used() (used int) {
	for i := range r.number {
		used += int(r.at(i).span.end - r.at(i).span.start)
	}
	return used
}

// resize copies the bytes of all calls into a ring of another size, which has room for them.
func (r *ring) resize(size int) {
	before := *r
	r.bytes, r.head = make([]byte, size), 0
	for i := range r.number {
		one := r.at(i)
		kept := before.read(one.span)
		one.span = span{r.head, r.head + uint64(len(kept))}
		copy(r.bytes[r.head:], kept)
		r.head = one.span.end
	}
}

// read returns bytes. They are overwritten when their call is dropped.
func (r *ring) read(of span) []byte {
	if of.start == of.end {
		return nil
	}
	at := of.start % uint64(len(r.bytes))
	return r.bytes[at : at+of.end-of.start]
}
