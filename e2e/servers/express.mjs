// An MCP server of the TypeScript SDK under Express, with the emitter of docs/emitters.
//
//   node express.mjs PORT [fallback]
//
// fallback makes the mistake: a request without a session id gets the newest session's.
import { randomUUID } from "node:crypto";
import express from "express";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { events } from "./events.mjs";

const [port, mode] = process.argv.slice(2);
const transports = new Map();
let newest;

async function begin() {
  const server = new McpServer({ name: "e2e", version: "1" });
  server.registerTool("wait", { description: "reports progress, then answers" }, async ({ _meta, sendNotification }) => {
    await sendNotification({ method: "notifications/progress", params: { progressToken: _meta?.progressToken ?? 0, progress: 1 } });
    await new Promise((done) => setTimeout(done, 400));
    return { content: [{ type: "text", text: "done" }] };
  });
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => transports.set((newest = id), transport),
    onsessionclosed: (id) => transports.delete(id),
  });
  await server.connect(transport);
  return transport;
}

const app = express();
app.use("/mcp", express.json(), events());
app.all("/mcp", async (req, res) => {
  let id = req.get("mcp-session-id");
  if (!id && req.body?.method === "initialize") return (await begin()).handleRequest(req, res, req.body);
  if (!id && mode === "fallback" && newest) {
    id = newest;
    req.headers["mcp-session-id"] = id;
    req.rawHeaders.push("mcp-session-id", id);
  }
  const transport = transports.get(id);
  if (!transport) return res.status(id ? 404 : 400).send("no session");
  await transport.handleRequest(req, res, req.body);
});
app.listen(Number(port), "127.0.0.1");
