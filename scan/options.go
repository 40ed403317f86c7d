package scan

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ParseZone reads an offset from UTC such as "+02:00", "-0530", "UTC" or "Z", in
// seconds east. given is false for "".
func ParseZone(s string) (offset int, given bool, err error) {
	switch strings.ToUpper(s) {
	case "":
		return 0, false, nil
	case "Z", "UTC", "GMT":
		return 0, true, nil
	}
	for _, layout := range []string{"-07:00", "-0700", "-07"} {
		if t, err := time.Parse(layout, s); err == nil {
			_, offset := t.Zone()
			return offset, true, nil
		}
	}
	return 0, false, fmt.Errorf("cannot read time zone %q: use an offset such as +02:00, or UTC", s)
}

// ParseTime reads a bound of the time window: RFC 3339, a date and time without a
// zone (in the zone given, else UTC), a date, or a duration before now such as "15m".
func ParseTime(s, zone string, now time.Time) (int64, error) {
	if s == "" {
		return 0, nil
	}
	offset, _, err := ParseZone(zone)
	if err != nil {
		return 0, err
	}
	if d, err := time.ParseDuration(strings.TrimPrefix(s, "-")); err == nil {
		return now.Add(-d).UnixNano(), nil
	}
	loc := time.FixedZone("", offset)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			if t.Year() < 1678 || t.Year() > 2261 { // what a count of nanoseconds holds
				return 0, fmt.Errorf("cannot use time %q: it must lie between the years 1678 and 2261", s)
			}
			return t.UnixNano(), nil
		}
	}
	return 0, fmt.Errorf("cannot read time %q: use RFC 3339, such as 2026-11-30T14:05:00Z, a date, or a duration before now, such as 15m", s)
}

type domainRule struct{ name, glob string }

// domainsOf turns NAME=GLOB rules into the function that names a domain. A glob
// is held against the path of the input and against server and path of the
// endpoint, such as http://10.0.0.1:8080/mcp; * stands for any characters, ? for one.
func domainsOf(rules []string) (func(source, server, path string) string, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	var list []domainRule
	for _, r := range rules {
		name, glob, ok := strings.Cut(r, "=")
		if !ok || name == "" || glob == "" {
			return nil, fmt.Errorf("cannot read domain rule %q: %w", r, errors.New("use NAME=GLOB, such as prod='http://10.0.0.*/mcp' or prod='logs/*.log'"))
		}
		list = append(list, domainRule{name, glob})
	}
	return func(source, server, path string) string {
		for _, r := range list {
			if match(r.glob, source) || match(r.glob, server+path) {
				return r.name
			}
		}
		return ""
	}, nil
}

// match reports whether s matches glob. It takes time of the product of their lengths at most.
func match(glob, s string) bool {
	g, i := 0, 0
	star, from := -1, 0
	for i < len(s) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, from = g, i
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == s[i]):
			g++
			i++
		case star >= 0:
			from++
			g, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}
