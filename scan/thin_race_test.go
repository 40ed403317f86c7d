//go:build race

package scan_test

// thin is of how many inputs a property is held against one: the race detector makes
// everything many times slower, and looks for races, which one input shows as well as another.
const thin = 8
