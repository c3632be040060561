/**
 * An MCP server over stdio for isolation tests: `whoami` answers its process id, `offered` the capabilities of the client,
 * `crash` ends it, `hang` never answers, `garbage` writes no JSON, `lie` answers with another id, `murmur` answers and
 * logs a message during the next call.
 */
import { createInterface } from 'node:readline';

interface Request {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly capabilities?: unknown; readonly protocolVersion?: string };
}

const TOOLS = ['whoami', 'offered', 'crash', 'hang', 'garbage', 'lie', 'murmur'];
let offered: unknown;
let murmured: string | undefined;

const write = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

function call(id: number, name = ''): void {
  const text = (value: string) => {
    write({ id, result: { content: [{ type: 'text', text: value }] } });
  };
  if (murmured !== undefined) write({ method: 'notifications/message', params: { level: 'info', data: murmured } });
  murmured = name === 'murmur' ? `murmur of call ${String(id)}` : undefined;
  if (name === 'murmur') text('in a moment');
  else if (name === 'whoami') text(String(process.pid));
  else if (name === 'offered') text(JSON.stringify(offered));
  else if (name === 'crash') process.exit(3);
  else if (name === 'garbage') process.stdout.write(`canary-7f3a9c {"id":${String(id)}\n`);
  else if (name === 'lie') write({ id: id + 1_000, result: { content: [{ type: 'text', text: 'canary-7f3a9c' }] } });
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as Request;
  if (id === undefined) return;
  if (method === 'initialize') {
    offered = params?.capabilities;
    const { protocolVersion } = params ?? {};
    write({
      id,
      result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'asker', version: '0' } },
    });
  } else if (method === 'tools/list') {
    write({ id, result: { tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })) } });
  } else if (method === 'ping') write({ id, result: {} });
  else if (method === 'tools/call') call(id, params?.name);
});
