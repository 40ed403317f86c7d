//go:build !race

package scan_test

// thin is of how many inputs a property is held against one.
const thin = 1
