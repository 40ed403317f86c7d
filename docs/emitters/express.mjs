// isodetect native events from Express: app.use("/mcp", express.json(), events()). Needs Node and nothing else.
//
// HTTP shows which session a request and its answer name. Which one the server took, and how it found it,
// only its own lookup can add: res.locals.isodetect = { session: ID, source: "fallback" }.
import { createHash } from "node:crypto";
import { hostname } from "node:os";

export function events(out = process.stdout) {
  let seq = 0;
  const emit = (name, keys) => out.write(JSON.stringify({ isodetect: "1", time: new Date().toISOString(), "event.name": name,
    severity: "INFO", "service.instance.id": `${hostname()}:${process.pid}`, "isodetect.seq": ++seq, ...keys }) + "\n");
  emit("isodetect.meta", { "isodetect.mode": "stateful", "isodetect.emitter": "express/1" });

  return (req, res, next) => {
    const asked = req.get("mcp-session-id"), peer = req.socket, start = performance.now();
    const rpc = req.body && typeof req.body === "object" ? req.body : {}, begins = rpc.method === "initialize"; // a batch has no method
    const call = text(rpc.id) && text(rpc.method);
    let named;
    const tell = (name, more) => emit(name, { "isodetect.session.hash": hashed(res.locals.isodetect?.session ?? named),
      "isodetect.session.header_present": asked !== undefined, "isodetect.session.presented": hashed(asked),
      "mcp.method.name": text(rpc.method), "jsonrpc.request.id": text(rpc.id), "isodetect.rpc.id_type": text(rpc.id) && typeof rpc.id,
      "network.transport": "tcp", "client.address": peer.remoteAddress, "client.port": peer.remotePort,
      "user_agent.original": text(req.get("user-agent")), ...more });

    if (call) tell("mcp.request.started");
    const writeHead = res.writeHead;
    res.writeHead = function (status, ...rest) { // headers were set before, or come here as an object or a flat list
      const last = rest.at(-1), flat = Array.isArray(last) ? last.flat() : Object.entries(typeof last === "object" ? last : {}).flat();
      named = flat[flat.findIndex((k) => /^mcp-session-id$/i.test(k)) + 1 || flat.length] ?? res.getHeader("mcp-session-id");
      if (status >= 200 && status < 400) {
        if (begins && named) tell("mcp.session.created", client(rpc.params));
        tell("mcp.session.resolved", { "isodetect.session.source": res.locals.isodetect?.source ?? (asked ? "header" : begins ? "initialize" : "none") });
        if (req.method === "DELETE" && asked) emit("mcp.session.closed", { "isodetect.session.hash": hashed(asked), "isodetect.session.end": "delete" });
      }
      return writeHead.call(this, status, ...rest);
    };
    res.on("finish", () => call && tell("mcp.request.finished", { "http.response.status_code": res.statusCode,
      "isodetect.outcome": res.statusCode >= 400 ? "error" : undefined, "isodetect.duration_ms": performance.now() - start }));
    next();
  };
}

// Session ids work like passwords: return id itself only where the log is kept like one.
const hashed = (id) => id && "sha256:" + createHash("sha256").update(id).digest("hex").slice(0, 16);
const text = (value) => (typeof value === "string" || typeof value === "number" ? String(value).slice(0, 200) || undefined : undefined);

function client(params) { // what initialize declares
  const paths = Object.entries(params?.capabilities ?? {}).flatMap(([k, v]) => (Object.keys(v ?? {}).length ? Object.keys(v).map((s) => `${k}.${s}`) : [k]));
  return { "isodetect.capabilities": paths.map(text).sort().slice(0, 50), "isodetect.session.trigger": "initialize",
    "isodetect.client.name": text(params?.clientInfo?.name), "isodetect.client.version": text(params?.clientInfo?.version) };
}
