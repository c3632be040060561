import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { openSession } from '../harness/clients/raw.ts';
import { entry, gatewayOver, server } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import type { ReplyCase } from './corpus/case.ts';
import { REPLIES } from './corpus/index.ts';
import { LIST_ITEMS, type ItemCase, type List } from './corpus/list-items.ts';
import { asLine, throughEvent } from './framing.ts';
import { startRawHttp, startRawSse, type Manner } from './http-backend.ts';
import { itemKey, itemText } from './raw-backend.ts';
import { asker, bytesOf, CLIENT_ID, expectSameBytes, paramsOf, type Ask } from './raw-client.ts';
import { elementTexts, memberSpan, memberText } from './raw-json.ts';
import { openSseSession } from './sse-client.ts';

const MANNERS: Readonly<Record<string, Manner>> = {
  json: { format: 'json', sessions: false },
  'json-sessions': { format: 'json', sessions: true },
  events: { format: 'events', sessions: false },
  'events-sessions': { format: 'spare-events', sessions: true },
  announced: { format: 'events-behind-a-notification', sessions: true },
};

/** A path through a gateway to the corpus. Paths without `whole` share one copy of the replies. */
interface Path {
  readonly whole?: true;
  readonly client: keyof Clients;
  readonly backend: string;
  readonly renamed: boolean;
  /** The text as the transport from the backend to the gateway delivers it: some transports change line breaks. */
  readonly framed: (text: string) => string;
}

/** Sessions of a gateway with prefixes (`many`), and of one without (`one`). */
interface Clients {
  many: Ask;
  one: Ask;
  /** A session of the gateway without prefixes over HTTP+SSE. */
  oneSse: Ask;
}

const asSent = (text: string): string => text;
const PATHS: readonly Path[] = [
  { whole: true, client: 'one', backend: 'alone', renamed: false, framed: asSent },
  { client: 'oneSse', backend: 'alone', renamed: false, framed: asSent },
  ...Object.entries(MANNERS).map(([backend, { format }]) => ({
    ...(backend === 'events' && { whole: true as const }),
    client: 'many' as const,
    backend,
    renamed: true,
    framed: format === 'json' ? asSent : throughEvent,
  })),
  { client: 'many', backend: 'http-sse', renamed: true, framed: throughEvent },
  { whole: true, client: 'many', backend: 'stdio', renamed: true, framed: asLine },
];

/** Another seed gives each sampled path other replies: `FIDELITY_SEED=1`. */
const SEED = Number(process.env['FIDELITY_SEED'] ?? 0);
const SAMPLED = PATHS.filter(({ whole }) => whole !== true);

/** Returns every case for a whole path, else a share: together the sampled paths see each case once. */
const shareOf = <T>(path: Path, cases: readonly T[]): readonly T[] =>
  path.whole === true ? cases : cases.filter((_, index) => (index + SEED) % SAMPLED.length === SAMPLED.indexOf(path));

const LIST_METHODS: readonly (readonly [List, method: string, key: string])[] = [
  ['tools', 'tools/list', 'name'],
  ['resources', 'resources/list', 'uri'],
  ['resourceTemplates', 'resources/templates/list', 'uriTemplate'],
  ['prompts', 'prompts/list', 'name'],
];

const stdioBackend = join(dirname(fileURLToPath(import.meta.url)), 'stdio-backend.ts');
const scope = blockScope();
let clients: Clients;

beforeAll(async () => {
  const http = Object.entries(MANNERS).map(async ([name, manner]) =>
    entry(name, (await startRawHttp(scope, name, manner)).url),
  );
  const sse = entry('http-sse', (await startRawSse(scope, 'http-sse')).url, 'sse');
  const stdio = server('stdio', 'npx://jiti', { args: [stdioBackend, 'stdio'] });
  const alone = entry('alone', (await startRawHttp(scope, 'alone', { format: 'json', sessions: false })).url);
  const many = await open(gatewayOver([...(await Promise.all(http)), sse, stdio]), 'stdio_content-text');
  const one = await open(gatewayOver([alone], { aggregation: { conflictResolution: 'none' } }), 'content-text');
  clients = { many: many.ask, one: one.ask, oneSse: await openSseSession(scope, one.origin) };
});

/** Starts a gateway and waits until it lists `tool`, a tool of its slowest backend. */
async function open(files: Record<string, string>, tool: string): Promise<{ ask: Ask; origin: string }> {
  const { url, origin } = await startVmcp(scope, { files });
  const session = await openSession(url);
  await eventually(`${tool} is listed`, async () => (await session.tools()).includes(tool));
  return { ask: asker(url, session), origin };
}

describe.each(PATHS)('client $client, backend $backend', (path) => {
  const { client, backend, renamed, framed } = path;
  const advertised = (name: string): string => (renamed ? `${backend}_${name}` : name);
  const request: Ask = (method, params) => clients[client](method, params);

  it.each(shareOf(path, REPLIES).map((reply): [string, ReplyCase] => [reply.name, reply]))(
    '%s',
    async (_name, reply) => {
      const answer = await request(reply.method, paramsOf(reply, backend, advertised));
      expect(answer.status).toBe(200);
      if (backend === 'announced' && reply.method === 'tools/call') expect(answer.inStream).toBe(true);
      expect(memberText(answer.bytes, 'id')).toBe(JSON.stringify(CLIENT_ID));
      const sent = bytesOf(framed(reply.json));
      const got = memberText(answer.bytes, reply.member);
      if (reply.repaired === undefined) expectSameBytes(got, answer.inStream ? asLine(sent) : sent);
      else expect(JSON.parse(got ?? '')).toEqual(JSON.parse(reply.repaired));
      expect(memberText(answer.bytes, reply.member === 'error' ? 'result' : 'error')).toBeUndefined();
    },
  );

  it.each(shareOf(path, LIST_ITEMS.tools).map(({ key }) => [key.slice(0, 60), key] as const))(
    'the backend receives its own name of %s',
    async (_key, key) => {
      const { bytes } = await request('tools/call', { name: advertised(key) });
      expect(JSON.parse(utf8(memberText(bytes, 'error') ?? ''))).toMatchObject({ data: { name: key } });
    },
  );

  describe.each(LIST_METHODS)('%s', (list, method, key) => {
    let inStream = false;
    const items = new Map<unknown, string>();

    beforeAll(async () => {
      const answer = await request(method, {});
      inStream = answer.inStream;
      const array = memberText(memberText(answer.bytes, 'result') ?? '', list) ?? '';
      for (const item of elementTexts(array)) items.set(JSON.parse(utf8(memberText(item, key) ?? 'null')), item);
    });

    it.each(LIST_ITEMS[list].map((item): [string, ItemCase] => [item.key.slice(0, 60), item]))('%s', (_key, item) => {
      const isName = key === 'name';
      const name = isName ? advertised(item.key) : itemKey(item, backend);
      const sent = bytesOf(framed(itemText(item, backend)));
      const expected = isName && renamed ? withName(sent, name) : sent;
      if (item.repaired === undefined) expectSameBytes(items.get(name), inStream ? asLine(expected) : expected);
      else {
        const repaired = item.repaired.replace('KEY', JSON.stringify(name));
        expect(JSON.parse(items.get(name) ?? '')).toEqual(JSON.parse(repaired));
      }
    });
  });
});

const utf8 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

/** Replaces the name of an item and no other byte. */
function withName(item: string, name: string): string {
  const { start, end } = memberSpan(item, 'name') ?? { start: 0, end: 0 };
  return item.slice(0, start) + bytesOf(JSON.stringify(name)) + item.slice(end);
}
