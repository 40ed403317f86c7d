package rules

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// wire is recorded traffic of one server, told to an engine.
type wire struct {
	eng  *Engine
	at   int64  // ns
	last uint64 // exchange
}

func newWire() *wire { return &wire{eng: NewEngine(Options{}), at: 1e18} }

func (w *wire) say(e event.Event) {
	w.at += 1e6
	e.Time, e.Domain, e.At.N = event.At(w.at), event.Domain{Server: "http://h"}, w.at
	w.eng.Apply(&e)
}

// ask opens an exchange with one request of a session and returns its number.
func (w *wire) ask(method, id, session string) uint64 {
	return w.post(event.RPC{Kind: mcp.KindRequest, ID: mcp.ID(id), Method: method, CapsKnown: true}, session)
}

func (w *wire) post(rpc event.RPC, session string) uint64 {
	w.last++
	x := event.ExchangeID{N: w.last}
	w.say(event.Event{Kind: event.Opened, Exchange: x, HTTPMethod: "POST", Stream: event.StreamPost, Asked: event.Named(session)})
	w.say(event.Event{Kind: event.Message, Exchange: x, Dir: event.ToServer, RPC: rpc})
	return w.last
}

// answer gives an exchange its result and closes it.
func (w *wire) answer(x uint64, id string) { w.reply(x, id, event.Session{}) }

func (w *wire) reply(x uint64, id string, names event.Session) {
	on := event.ExchangeID{N: x}
	w.say(event.Event{Kind: event.Head, Exchange: on, Status: 200, Answered: names})
	w.say(event.Event{Kind: event.Message, Exchange: on, Dir: event.ToClient, RPC: event.RPC{Kind: mcp.KindResult, ID: mcp.ID(id)}})
	w.say(event.Event{Kind: event.Closed, Exchange: on, By: event.ByServer})
}

// call is a request with its result; gives is the session that it makes, if any.
func (w *wire) call(method, id, session, gives string) {
	x := w.ask(method, id, session)
	names := event.Session{}
	if gives != "" {
		names = event.Named(gives)
	}
	w.reply(x, id, names)
}

func (w *wire) cancel(id, session string) {
	x := w.post(event.RPC{Kind: mcp.KindNotification, Method: mcp.Cancelled, CancelID: mcp.ID(id)}, session)
	w.accept(x)
}

// accept closes the exchange of a notification.
func (w *wire) accept(x uint64) {
	on := event.ExchangeID{N: x}
	w.say(event.Event{Kind: event.Head, Exchange: on, Status: 202})
	w.say(event.Event{Kind: event.Closed, Exchange: on, By: event.ByServer})
}

// listen opens the stream of a session.
func (w *wire) listen(session string) uint64 {
	w.last++
	w.say(event.Event{Kind: event.Opened, Exchange: event.ExchangeID{N: w.last}, HTTPMethod: "GET", Stream: event.StreamGet, Asked: event.Named(session)})
	return w.last
}

// end deletes a session.
func (w *wire) end(session string) {
	w.last++
	on := event.ExchangeID{N: w.last}
	w.say(event.Event{Kind: event.Opened, Exchange: on, HTTPMethod: "DELETE", Asked: event.Named(session)})
	w.say(event.Event{Kind: event.Head, Exchange: on, Status: 200})
	w.say(event.Event{Kind: event.Closed, Exchange: on, By: event.ByServer})
}

// update is an update that arrives on a stream.
func (w *wire) update(stream uint64, uri string) {
	w.say(event.Event{Kind: event.Message, Exchange: event.ExchangeID{N: stream}, Dir: event.ToClient,
		RPC: event.RPC{Kind: mcp.KindNotification, Method: mcp.ResourceUpdated, URI: uri}})
}

// subscribe is an accepted subscription.
func (w *wire) subscribe(id, session, uri string) {
	x := w.post(event.RPC{Kind: mcp.KindRequest, ID: mcp.ID(id), Method: mcp.Subscribe, URI: uri}, session)
	w.answer(x, id)
}
