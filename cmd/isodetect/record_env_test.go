package main

import "testing"

// ISODETECT_REVEAL is set for scans; a recorder must not store credentials for it.
func TestRevealOfARecorderIsByHand(t *testing.T) {
	f := func(flags string, want string) {
		t.Helper()
		c := newRecord()
		if flags == "scan" {
			c = newScan()
		}
		if err := setFromEnvironment(c.Flags(), func(name string) (string, bool) { return "true", name == "ISODETECT_REVEAL" }, origin{}); err != nil {
			t.Fatal(err)
		}
		if got := c.Flags().Lookup("reveal").Value.String(); got != want {
			t.Errorf("%s: reveal is %s, want %s", flags, got, want)
		}
	}
	f("scan", "true")
	f("record", "false")
}
