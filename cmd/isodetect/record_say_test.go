package main

import (
	"bytes"
	"errors"
	"net/url"
	"testing"
)

// A server that is down is told once; how often it was is told at the end.
func TestRecordSaysWhatItCannotReach(t *testing.T) {
	var b bytes.Buffer
	u := &url.URL{Scheme: "http", Host: "h:1"}
	say := firstUnreached(&b, u)
	say(errors.New("refused"))
	say(errors.New("refused"))
	if got, want := b.String(), "isodetect: cannot reach http://h:1: refused; clients get 502\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	f := func(n, unreached int64, want string) {
		t.Helper()
		if got := recorded(n, unreached); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(0, 0, "0 exchanges")
	f(1, 0, "1 exchange")
	f(9, 2, "9 exchanges, 2 of them for which the server could not be reached")
}
