package logs

// slot is what a key of a log record names. Loggers spell one thing in many
// ways; a key is looked up by its path of letters and digits in lower case, so
// that mcp.session.id, mcp_session_id, mcpSessionId and {"mcp":{"session":{"id":…}}} are one.
type slot uint8

const (
	slotNone slot = iota

	// Containers: through = its members count as members of the record; inside =
	// its members have the path of the container in front.
	slotThrough
	slotInside

	slotTime
	slotMessage
	slotEvent
	slotInstance
	slotPod
	slotHost
	slotPID

	slotMCPSession     // a session key that says MCP
	slotSession        // a session key that may name any kind of session
	slotAsked          // the session that the request presented
	slotAnswered       // the session that a request was bound to, or that the response named
	slotResponseHeader // the session header of the response
	slotTarget
	slotOrigin
	slotOwner
	slotCanceller
	slotUpstream // the session of another hop: not the one of this server
	slotSessionHash
	slotSessionKind
	slotHeaderPresent
	slotSource

	slotRPCMethod // a method key that says RPC
	slotMethod    // a method of RPC or of HTTP
	slotHTTPMethod
	slotOperation
	slotRPCID
	slotID
	slotRequestID
	slotIDType
	slotCancelID
	slotToken
	slotBareToken
	slotTokenType
	slotURI
	slotKind
	slotType
	slotDirection
	slotTool
	slotReason
	slotStreamKind

	slotCaps
	slotCapsDigest
	slotCapsConsulted
	slotClient
	slotClientVersion
	slotProtocol

	slotStatus
	slotOutcome
	slotError
	slotErrorCode
	slotDuration
	slotPath
	slotUserAgent
	slotEndUser
	slotRemote
	slotRequestHeaders // a member that every dump of request headers has

	slotProgress
	slotTotal
	slotDetail
	slotMode
	slotStateless
	slotTransport
	slotSeq
	slotStream
	slotLog

	slots
)

// keySlots maps the paths of keys to what they name. It is read only.
var keySlots = func() map[string]slot {
	m := map[string]slot{}
	for s, paths := range map[slot][]string{
		slotThrough: {"fields", "context", "ctx", "data", "meta", "metadata", "attributes", "attrs", "labels", "extra", "record", "details", "properties", "state"},
		slotInside: {"mcp", "rpc", "jsonrpcrequest", "req", "reqheaders", "res", "resheaders", "request", "requestheaders", "response", "responseheaders",
			"resp", "respheaders", "http", "httprequest", "httpresponse", "process", "service", "serviceinstance", "k8s", "k8spod", "kubernetes",
			"clientinfo", "network", "isodetect", "mcpclient"},

		slotTime: {"time", "ts", "timestamp", "asctime", "t", "datetime", "date", "eventtime", "msec", "startutc", "starttime"},
		// The path of @timestamp is "timestamp".
		slotMessage:  {"msg", "message", "shortmessage"},
		slotEvent:    {"event", "eventname", "evt", "eventtype"},
		slotInstance: {"serviceinstanceid", "instance", "instanceid", "serviceaddr"},
		slotPod:      {"pod", "podname", "k8spodname", "kubernetespodname"},
		slotHost:     {"hostname", "hosthostname"},
		slotPID:      {"pid", "processpid", "processid"},

		slotMCPSession: {"mcpsessionid", "mcpsession", "mcpsid", "xmcpsessionid", "streamablehttpsessionid"},
		slotSession:    {"sessionid", "session", "sid", "sessid", "transportsessionid"},
		slotAsked: {"asked", "askedsession", "askedsessionid", "presented", "presentedsession", "presentedsessionid", "sessionpresented",
			"isodetectsessionpresented", "requestsession", "requestsessionid", "requestedsession", "requestedsessionid", "sessionrequested",
			"header", "sessionheader", "headersession", "headersessionid", "mcpsessionidheader", "headermcpsessionid", "mcpsessionheader",
			"reqheadersmcpsessionid", "requestheadersmcpsessionid", "httprequestheadersmcpsessionid", "httprequestheadermcpsessionid",
			"requestmcpsessionid", "requestheadermcpsessionid", "reqmcpsessionid", "httpmcpsessionid", "incomingsession", "incomingsessionid", "reqsessionid"},
		slotAnswered: {"resolved", "resolvedsession", "resolvedsessionid", "sessionresolved", "bound", "boundsession", "boundsessionid",
			"boundto", "resolvedto", "effectivesession", "effectivesessionid", "actualsession", "actualsessionid"},
		slotResponseHeader: {"resheadersmcpsessionid", "respheadersmcpsessionid", "responseheadersmcpsessionid", "httpresponseheadersmcpsessionid",
			"httpresponseheadermcpsessionid", "respmcpsessionid", "resmcpsessionid", "responsemcpsessionid", "responseheadermcpsessionid",
			"downstreammcpsessionid", "responsesessionid", "respsessionid", "respsid", "senthttpmcpsessionid", "upstreamhttpmcpsessionid"},
		slotTarget: {"target", "targetsession", "targetsessionid", "to", "tosession", "tosessionid", "deliveredto", "routedto", "recipient",
			"recipientsession", "recipientsessionid", "receiver", "receiversession", "receiversessionid", "destination", "destinationsession",
			"destinationsessionid", "destsession", "destsessionid", "streamsession", "streamsessionid"},
		slotOrigin: {"origin", "originsession", "originsessionid", "isodetectoriginsessionid", "from", "fromsession", "fromsessionid",
			"sourcesession", "sourcesessionid", "producer", "producersession", "producersessionid", "handlersession", "handlersessionid"},
		slotOwner: {"owner", "ownersession", "ownersessionid", "cancelledsession", "cancelledsessionid", "canceledsession", "canceledsessionid",
			"victimsession", "victimsessionid"},
		slotCanceller: {"canceller", "cancellersession", "cancellersessionid", "canceler", "cancelersession", "cancelersessionid", "cancelledby", "canceledby",
			"cancelledbysession", "canceledbysession", "cancelledbysessionid", "canceledbysessionid", "cancelbysessionid", "isodetectcancelbysessionid",
			"bysession", "bysessionid", "cancellingsession", "cancellingsessionid", "cancelingsession", "cancelingsessionid"},
		slotUpstream:      {"upstreamsession", "upstreamsessionid", "backendsession", "backendsessionid"},
		slotSessionHash:   {"isodetectsessionhash"},
		slotSessionKind:   {"isodetectsessionidkind"},
		slotHeaderPresent: {"isodetectsessionheaderpresent", "headerpresent", "sessionheaderpresent"},
		slotSource:        {"source", "sessionsource", "isodetectsessionsource", "resolution", "sessionresolution", "resolvedby", "resolvedvia", "resolvedfrom"},

		slotRPCMethod:  {"rpcmethod", "mcpmethod", "mcpmethodname", "jsonrpcmethod", "rpcmethodname", "mcprpcmethod", "mcprequestmethod"},
		slotMethod:     {"method"},
		slotHTTPMethod: {"httpmethod", "httprequestmethod", "reqmethod", "requestmethod", "verb"},
		slotOperation:  {"op", "operation", "action"},
		slotRPCID:      {"rpcid", "jsonrpcid", "jsonrpcrequestid", "mcprequestid", "mcprpcid", "rpcrequestid", "mcpid"},
		slotID:         {"id"},
		slotRequestID:  {"requestid"},
		slotIDType:     {"isodetectrpcidtype"},
		slotCancelID:   {"cancelrequestid", "cancelid", "cancelledrequestid", "canceledrequestid", "isodetectcancelrequestid", "cancelledid", "canceledid"},
		slotToken:      {"progresstoken", "mcpprogresstoken", "isodetectprogresstoken"},
		slotBareToken:  {"token"},
		slotTokenType:  {"isodetectprogresstokentype"},
		slotURI:        {"uri", "resourceuri", "mcpresourceuri", "resource"},
		slotKind:       {"kind", "rpckind", "messagekind", "messagetype", "mcpkind", "isodetectrpckind"},
		slotType:       {"type"},
		slotDirection:  {"direction", "dir"},
		slotTool:       {"tool", "toolname", "mcptool", "mcptoolname", "genaitoolname"},
		slotReason:     {"reason", "cancelreason"},
		slotStreamKind: {"isodetectstreamkind", "stream"},

		slotCaps:       {"capabilities", "clientcapabilities", "caps", "mcpcapabilities", "isodetectcapabilities"},
		slotCapsDigest: {"isodetectcapabilitiesdigest"},
		slotCapsConsulted: {"isodetectcapabilitiesconsulted", "capabilitiesconsulted", "consultedcapabilities", "capsconsulted", "capabilitiesused",
			"usedcapabilities", "capsused", "effectivecapabilities", "capabilitiesatdispatch", "dispatchcapabilities", "capabilitieschecked", "checkedcapabilities"},
		slotClient:        {"client", "clientname", "clientinfoname", "mcpclientname", "isodetectclientname"},
		slotClientVersion: {"clientversion", "clientinfoversion", "mcpclientversion", "isodetectclientversion"},
		slotProtocol:      {"protocol", "protocolversion", "mcpprotocolversion", "reqheadersmcpprotocolversion", "requestheadersmcpprotocolversion", "requestmcpprotocolversion"},

		slotStatus: {"status", "statuscode", "httpstatus", "httpstatuscode", "resstatuscode", "resstatus", "responsestatus", "responsestatuscode",
			"httpresponsestatus", "httpresponsestatuscode", "downstreamstatus", "responsecode"},
		slotOutcome:   {"outcome", "isodetectoutcome", "result"},
		slotError:     {"error", "err", "rpcerror", "errormessage", "errmessage", "errormsg", "errortype"},
		slotErrorCode: {"errorcode", "rpcerrorcode", "errcode", "rpcresponsestatuscode"},
		slotDuration: {"duration", "durationms", "durations", "responsetime", "responsetimems", "elapsed", "elapsedms", "latency", "latencyms", "rt",
			"took", "ms", "isodetectdurationms"},
		slotPath:      {"path", "url", "requrl", "requestpath", "requesturi", "requesturl", "urlpath", "httppath", "httptarget", "httpurl"},
		slotEndUser:   {"enduserid"},
		slotRemote:    {"remote", "remoteaddr", "remoteaddress", "clientaddress", "clientaddr", "clientip", "reqremoteaddress"},
		slotUserAgent: {"useragent", "reqheadersuseragent", "requestheadersuseragent", "requestuseragent", "useragentoriginal", "httpuseragent"},
		slotRequestHeaders: {"reqheadershost", "requestheadershost", "reqheadersaccept", "requestheadersaccept",
			"reqheaderscontenttype", "requestheaderscontenttype"},

		slotProgress:  {"progress"},
		slotTotal:     {"total"},
		slotDetail:    {"detail", "progressmessage"},
		slotMode:      {"mode", "isodetectmode", "sessionmode"},
		slotStateless: {"stateless", "statelesshttp"},
		slotTransport: {"transport", "networktransport", "mcptransport"},
		slotSeq:       {"isodetectseq"},
		slotLog:       {"log"},
	} {
		for _, p := range paths {
			m[p] = s
		}
	}
	return m
}()

// recentKeys remembers the keys of the line before by their order: most logs
// write the same keys in the same order again and again.
type recentKeys struct {
	n    int // of the current line
	keys [32]recentKey
}

type recentKey struct {
	path [maxPath]byte
	size int
	slot slot
}

// slotOf returns what the key with this path names.
func (k *recentKeys) slotOf(path []byte) slot {
	if k.n == len(k.keys) {
		return keySlots[string(path)]
	}
	key := &k.keys[k.n]
	k.n++
	if key.size == 0 || string(key.path[:key.size]) != string(path) {
		key.size = copy(key.path[:], path)
		key.slot = keySlots[string(path)]
	}
	return key.slot
}

// noRPCInside are keys whose text belongs to a tool or to a user: JSON-RPC that
// stands there was not exchanged, it was talked about.
var noRPCInside = map[string]bool{
	"arguments": true, "args": true, "input": true, "output": true, "text": true, "content": true, "structuredcontent": true,
	"prompt": true, "query": true, "log": true, "stack": true, "detail": true, "reason": true, "error": true, "err": true,
	"paramsarguments": true, "useragent": true,
}

// maxPath bounds the path of a key; longer ones name nothing that is known.
const maxPath = 64

// appendPath appends the letters and digits of a key in lower case.
func appendPath(dst, key []byte) []byte {
	for _, c := range key {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		default:
			continue
		}
		if len(dst) == maxPath {
			return dst[:0]
		}
		dst = append(dst, c)
	}
	return dst
}
