package correlate

import (
	"iter"
	"slices"
	"strings"
)

// SubIndex finds the sessions that may have a subscription which covers a resource,
// without a walk over all subscribers. A session stands under each of its
// subscriptions as long as it is among Domain.Subscribers.
type SubIndex struct {
	Under     map[uint64][]*Party // by hash of what must begin the URI, each in the order of Domain.Subscribers
	Templates int                 // how many stand under the stem of a template
}

// Subscribing yields, in the order of Domain.Subscribers, the sessions of which a
// subscription may cover an update of u: every one of which one does is among them.
func (d *Domain) Subscribing(u URI) iter.Seq[*Party] {
	return func(yield func(*Party) bool) {
		var room [8][]*Party
		lists := d.Covering.lists(room[:0], u)
		for len(lists) > 0 {
			next := lists[0][0]
			for _, l := range lists[1:] {
				if l[0].Subscriber < next.Subscriber {
					next = l[0]
				}
			}
			if !yield(next) {
				return
			}
			for i := 0; i < len(lists); i++ {
				if lists[i][0] != next {
					continue
				}
				if lists[i] = lists[i][1:]; len(lists[i]) == 0 {
					lists = slices.Delete(lists, i, i+1)
					i--
				}
			}
		}
	}
}

// lists appends what stands under u and under every beginning of it that URI.Covers
// takes for a cover: one that ends before or behind a boundary.
func (x *SubIndex) lists(to [][]*Party, u URI) [][]*Party {
	if len(x.Under) == 0 {
		return to
	}
	add := func(k uint64) {
		if l := x.Under[k]; len(l) > 0 {
			to = append(to, l)
		}
	}
	h := stemOfURI
	for i := 0; i < len(u.Normal); i++ {
		c := u.Normal[i]
		if c == '/' || c == '?' || c == '#' {
			add(uint64(h))
		}
		if h = h.with(c); c == '/' && i+1 < len(u.Normal) {
			add(uint64(h))
		}
	}
	add(uint64(h))
	if x.Templates == 0 {
		return to
	}
	h = stemOfTemplate
	add(uint64(h))
	for i := 0; i < len(u.Text); i++ {
		if h = h.with(u.Text[i]); u.Text[i] == '/' {
			add(uint64(h))
		}
	}
	return to
}

// stem is the hash of the beginning of a URI (FNV-1a), from a start of its own for
// each kind, so that it grows by a byte as the URI is walked.
type stem uint64

const (
	stemOfURI      stem = 14695981039346656037
	stemOfTemplate stem = 14695981039346656037 ^ 0x9E3779B97F4A7C15
)

func (h stem) with(c byte) stem { return (h ^ stem(c)) * 1099511628211 }

func (h stem) over(s string) uint64 {
	for i := 0; i < len(s); i++ {
		h = h.with(s[i])
	}
	return uint64(h)
}

// stems returns the keys of a subscription: of its URI and, if it is a template, of
// the path in front of the first expression.
func (s URI) stems() (uri, template uint64, isTemplate bool) {
	uri = stemOfURI.over(s.Normal)
	open := strings.IndexByte(s.Text, '{')
	if open < 0 {
		return uri, 0, false
	}
	return uri, stemOfTemplate.over(s.Text[:strings.LastIndexByte(s.Text[:open], '/')+1]), true
}

// add puts a session under one of its subscriptions.
func (x *SubIndex) add(p *Party, u URI) {
	uri, template, isTemplate := u.stems()
	x.put(uri, p)
	if isTemplate && x.put(template, p) {
		x.Templates++
	}
}

func (x *SubIndex) put(k uint64, p *Party) bool {
	if x.Under == nil {
		x.Under = map[uint64][]*Party{}
	}
	list := x.Under[k]
	i, found := place(list, p)
	if !found {
		x.Under[k] = slices.Insert(list, i, p)
	}
	return !found
}

// remove takes a session away from under a subscription that it has no more. Another
// one that it keeps may stand under the same key.
func (x *SubIndex) remove(p *Party, u URI) {
	uri, template, isTemplate := u.stems()
	keepURI, keepTemplate := false, false
	for i := range p.Subs {
		o, t, has := p.Subs[i].URI.stems()
		keepURI, keepTemplate = keepURI || o == uri, keepTemplate || has && t == template
	}
	if !keepURI {
		x.take(uri, p)
	}
	if isTemplate && !keepTemplate && x.take(template, p) {
		x.Templates--
	}
}

// clear takes a session away from under all its subscriptions.
func (x *SubIndex) clear(p *Party) {
	for i := range p.Subs {
		uri, template, isTemplate := p.Subs[i].URI.stems()
		x.take(uri, p)
		if isTemplate && x.take(template, p) {
			x.Templates--
		}
	}
}

func (x *SubIndex) take(k uint64, p *Party) bool {
	list := x.Under[k]
	i, found := place(list, p)
	switch {
	case !found:
		return false
	case len(list) == 1:
		delete(x.Under, k)
	default:
		x.Under[k] = slices.Delete(list, i, i+1)
	}
	return true
}

func place(list []*Party, p *Party) (int, bool) {
	if n := len(list); n == 0 || list[n-1].Subscriber < p.Subscriber {
		return n, false // mostly the newest subscriber of all
	}
	return slices.BinarySearchFunc(list, p, func(a, b *Party) int { return int(a.Subscriber) - int(b.Subscriber) })
}
