import { beforeAll, expect, it } from 'vitest';
import { MCP_HEADERS, openSession, raw, rpc, type RawSession } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { blockScope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import { startRawHttp } from './http-backend.ts';

const scope = blockScope();
let url: string;
let session: RawSession;

beforeAll(async () => {
  const backend = await startRawHttp(scope, 'raw', { format: 'events-behind-a-notification', sessions: true });
  url = (await startVmcp(scope, { files: gatewayOver([entry('raw', backend.url)]) })).url;
  session = await openSession(url);
});

/** @see MCP 2025-11-25, basic/transports, Resumability and Redelivery */
it.each([
  'content-text',
  'number-beyond-double',
  'string-high-surrogate',
  'space-lines',
  'size-257-kb',
  'error-own-code',
])('sends missed events of %s again byte for byte', async (name) => {
  const { body } = await session.post(rpc('tools/call', { name: `raw_${name}` }));
  const events = body.split(/(?<=\n\n)/);
  expect(events.length).toBeGreaterThanOrEqual(2);
  for (const [at, event] of events.entries()) {
    const headers = { ...session.headers, accept: MCP_HEADERS.accept, 'last-event-id': eventId(event) };
    const rest = await raw(url, { headers });
    expect(rest.body === events.slice(at + 1).join(''), `behind event ${String(at)}`).toBe(true);
  }
});

const eventId = (event: string): string => /^id: ?(.*)$/m.exec(event)?.[1] ?? '';
