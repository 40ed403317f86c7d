package signals

// Families returns every family in the order in which a decision boundary lists them.
func Families() []Family {
	return []Family{Keying, Lifetime, ExchangeKey, Authorization, Lifecycle}
}

// FamilyText says what class of repair a family calls for: what to change, what
// does not help, and how the running system recovers (DETECTION §5). It returns
// "" for a family that is not in Families.
func FamilyText(f Family) string {
	switch f {
	case Keying:
		return "State was looked up under the wrong session. Refuse requests without a valid server-issued session id (400; the client then sends a new initialize), " +
			"and read capabilities from a snapshot taken at initialize. Locks do not help. Clients recover by initializing again."
	case Lifetime:
		return "A registry is keyed by something that clients choose. Key every registry by (session, token | id | uri) and derive the scope of a cancel from the session. " +
			"A keying fix alone does not help. Crossed entries clear by restart or eviction."
	case ExchangeKey:
		return "Answers are routed by request id. Route them by exchange, or refuse an id that is already in flight; (session, id) is not enough inside one session. " +
			"On the client's side: one session per conversation."
	case Authorization:
		return "An id was honoured for somebody it was not given to. Bind ids to the subject that received them and check the subject on every request; possession of an id proves nothing."
	case Lifecycle:
		return "The end of one session ended work of another. A session's end may close only its own streams."
	}
	return ""
}
