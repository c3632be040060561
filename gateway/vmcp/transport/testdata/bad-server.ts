import { createInterface } from 'node:readline';

/** A server that misbehaves: argv[2] selects the start, the name of the called tool the fault. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name?: string };
}

const start = process.argv[2];
const write = (value: unknown) => process.stdout.write(`${typeof value === 'string' ? value : JSON.stringify(value)}\n`);
const reply = (id: number | undefined, result: unknown) => write({ jsonrpc: '2.0', id, result: typeof result === 'string' ? { text: result } : result });
const notify = (method: string) => write({ jsonrpc: '2.0', method, params: { level: 'info', data: 'x' } });

const tools: Record<string, (id: number | undefined) => void> = {
  garbage(id) {
    for (let line = 0; line < 50; line += 1) write(`Debug: line ${String(line)}`);
    write('{"jsonrpc":"2.0","id":');
    reply(id, 'after garbage');
  },
  crash: () => process.exit(3),
  'reply-and-exit'(id) {
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: { text: 'last words' } })}\n`, () => process.exit(0));
  },
  hang: () => undefined,
  huge: () => process.stdout.write('x'.repeat(3 << 20)),
  'wrong-id'(id) {
    reply((id ?? 0) + 1_000, 'not yours');
    write({ jsonrpc: '2.0', id: `x${String(id)}`, result: 'not yours' });
    reply(id, 'right');
    reply(id, 'again');
  },
  early(id) {
    notify('notifications/message');
    notify('notifications/tools/list_changed');
    reply(id, 'late');
  },
  'not-rpc': (id) => write({ jsonrpc: '2.0', id, result: 1, Result: 2 }),
  batch: (id) => write([{ jsonrpc: '2.0', method: 'notifications/message' }, { jsonrpc: '2.0', id, result: { text: 'in a batch' } }]),
  error: (id) => write({ jsonrpc: '2.0', id, error: { code: -32002, message: 'gone', data: { big: 12345678901234567890n.toString() } } }),
  'stop-reading'() {
    input.pause();
    process.stdin.pause();
    setTimeout(() => process.exit(), 20_000);
  },
  ping(id) {
    write({ jsonrpc: '2.0', id: 'p-1', method: 'ping' });
    pinged = id;
  },
};
let pinged: number | undefined;

const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as Message;
  if (String(id) === 'p-1') reply(pinged, line);
  else if (method === 'initialize') initialize(id);
  else if (method === 'server/discover' && start === 'new') reply(id, { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: {} });
  else if (method === 'tools/call') tools[params?.name ?? '']?.(id);
});

function initialize(id: number | undefined): void {
  const answer = { capabilities: {}, serverInfo: { name: 'bad', version: '0' } };
  if (start === 'babble') for (let line = 0; line < 5; line += 1) write('listening on port 3000');
  else if (start === 'refuse' || start === 'new') write({ jsonrpc: '2.0', id, error: { code: -32602, message: 'no' } });
  else if (start === 'future') reply(id, { ...answer, protocolVersion: '2099-01-01' });
  else if (start !== 'mute') reply(id, { ...answer, protocolVersion: start === 'old' ? '2024-11-05' : '2025-11-25' });
}
if (start === 'die') process.exit(7);
