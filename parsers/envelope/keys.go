package envelope

// key is a member of a JSON envelope that tells it, or that it needs.
type key uint8

const (
	keyNone key = iota
	keyLog
	keyStream
	keyTime
	keyAttrs
	keyMessage
	keyDate
	keyTimestamp
	keyAtTimestamp
	keyAtMessage
	keyLabels
	keyLine
	keyData
	keyValues
	keyFields
	keyPartial
	keyLogTag
	keyKubernetes
	keyContainerName
	keyContainerID
	keySource
	keySourceType
	keyHost
	keyHostname
	keyAgent
	keyInput
	keyEcs
	keyPodName
	keyPodShort
	keyContainer
	keyNamespace
	keyNodeName
	keyMsg
	keyUnderTime
	keyUnderStream
	keyUnderSource
	keyJournalTime
	keyJournalMessage
	keyJournalPID
	keyJournalHost
	keyJournalProgram
	keyJournalUnit
	keyJournalContainer
	keyJournalContainerID
	keyJournalPartial
	keyJSONPayload
	keyTextPayload
	keyResource
	keyLogName
	keyInsertID
	keyEvents
	keyLogEvents
	keyLogStream
	keyLogStreamName
	keyAtLogStream
	keyResourceLogs
	keyResourceSpans
	keyNative

	// From here on names that loggers use as well.
	keyMoment
	keyMomentTime
	keyIngestion
	keyResults
	keyTraceID
	keyID
	keyLocal
	keyDuration
	keyTags
	keyKind
	keyDirection
	keyOrigin
	keyResponse
	keySession
	keyRaw
	keySeq
	keyTransport
	keyTS
	keyConn
	keyServerLabel
	keyStartTime
	keyEndTime
	keyContext
	keyAttributes
	keys
)

func keyOf(k []byte) key {
	switch string(k) {
	case "log":
		return keyLog
	case "stream":
		return keyStream
	case "time":
		return keyTime
	case "attrs":
		return keyAttrs
	case "message":
		return keyMessage
	case "date":
		return keyDate
	case "timestamp":
		return keyTimestamp
	case "@timestamp":
		return keyAtTimestamp
	case "@message":
		return keyAtMessage
	case "@logStream":
		return keyAtLogStream
	case "labels":
		return keyLabels
	case "line":
		return keyLine
	case "data":
		return keyData
	case "values":
		return keyValues
	case "fields":
		return keyFields
	case "_p":
		return keyPartial
	case "logtag":
		return keyLogTag
	case "kubernetes":
		return keyKubernetes
	case "container_name", "containerName":
		return keyContainerName
	case "container_id":
		return keyContainerID
	case "source":
		return keySource
	case "source_type":
		return keySourceType
	case "host":
		return keyHost
	case "hostname":
		return keyHostname
	case "agent":
		return keyAgent
	case "input":
		return keyInput
	case "ecs", "ecs.version":
		return keyEcs
	case "podName":
		return keyPodName
	case "pod":
		return keyPodShort
	case "container":
		return keyContainer
	case "namespace":
		return keyNamespace
	case "nodeName":
		return keyNodeName
	case "_msg":
		return keyMsg
	case "_time":
		return keyUnderTime
	case "_stream":
		return keyUnderStream
	case "_source":
		return keyUnderSource
	case "__REALTIME_TIMESTAMP":
		return keyJournalTime
	case "MESSAGE":
		return keyJournalMessage
	case "_PID":
		return keyJournalPID
	case "_HOSTNAME":
		return keyJournalHost
	case "SYSLOG_IDENTIFIER":
		return keyJournalProgram
	case "_SYSTEMD_UNIT":
		return keyJournalUnit
	case "CONTAINER_NAME":
		return keyJournalContainer
	case "CONTAINER_ID":
		return keyJournalContainerID
	case "CONTAINER_PARTIAL_MESSAGE":
		return keyJournalPartial
	case "jsonPayload":
		return keyJSONPayload
	case "textPayload":
		return keyTextPayload
	case "resource":
		return keyResource
	case "logName":
		return keyLogName
	case "insertId":
		return keyInsertID
	case "events":
		return keyEvents
	case "logEvents":
		return keyLogEvents
	case "logStream":
		return keyLogStream
	case "logStreamName":
		return keyLogStreamName
	case "resourceLogs":
		return keyResourceLogs
	case "resourceSpans":
		return keyResourceSpans
	case "isodetect":
		return keyNative
	case "start_time":
		return keyStartTime
	case "end_time":
		return keyEndTime
	case "context":
		return keyContext
	case "attributes":
		return keyAttributes
	case "isodetect.moment":
		return keyMoment
	case "isodetect.time":
		return keyMomentTime
	case "ingestionTime":
		return keyIngestion
	case "results":
		return keyResults
	case "traceId":
		return keyTraceID
	case "id":
		return keyID
	case "localEndpoint":
		return keyLocal
	case "duration":
		return keyDuration
	case "tags":
		return keyTags
	case "kind":
		return keyKind
	case "direction":
		return keyDirection
	case "origin":
		return keyOrigin
	case "response":
		return keyResponse
	case "session_id":
		return keySession
	case "raw":
		return keyRaw
	case "seq":
		return keySeq
	case "transport":
		return keyTransport
	case "ts":
		return keyTS
	case "conn_id":
		return keyConn
	case "server_label":
		return keyServerLabel
	}
	return keyNone
}
