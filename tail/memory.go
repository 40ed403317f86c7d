package tail

import (
	"runtime/debug"
	"runtime/metrics"
)

// boundMemory lets the collector try to stay below so many bytes, as far as that is
// possible: where what lives comes near, a measure above it is set, since a collector
// that tries what cannot be takes half of the processor for nothing. 0 = none is set.
func boundMemory(most int64) {
	if most == 0 {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetMemoryLimit(memoryLimit(most, int64(live[0].Value.Uint64())))
}

// memoryLimit leaves room for garbage of 20 percent of what lives, and for stacks and buffers.
func memoryLimit(most, live int64) int64 {
	const others = 16 << 20
	return max(most, live+live/5+others)
}
