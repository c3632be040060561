import { join } from 'node:path';
import { startIssuer, type Issuer } from '../../harness/issuer.ts';
import { startBackends, type BackendSet } from '../contenders.ts';
import { writeConfig, type Authentication } from '../gateway.ts';
import { callTool, openSession, toolNames } from '../mcp.ts';
import { startServer } from '../processes.ts';
import { loadInTurn, ratioOf, type Contender, type Series } from '../slices.ts';
import { TEXT, toolCallPlan } from '../tool-call-plan.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 3;
const TOOLS = 10;
const USERS = 32;
const FLOOR = 0.8;
/** Path in a checkout: the script of another checkout runs the gateway of that checkout. */
const SERVER = 'e2e/bench/servers/gateway-with-tokens.ts';

/** Authentication at both boundaries in a workload. */
interface Kind {
  readonly id: string;
  readonly title: string;
  readonly row: string;
  readonly outgoing: (issuer: Issuer) => Authentication['outgoing'];
  /** Start of the credential that the gateway obtains; backends reject others. */
  readonly credential: string;
}

const KINDS: readonly Kind[] = [
  {
    id: 'W2',
    title: 'tools/call with JWT validation and upstream token injection',
    row: 'W2 JWT + upstream token',
    outgoing: () => ({ type: 'upstream_inject', provider_name: 'corp' }),
    credential: 'upstream-',
  },
  {
    id: 'W3',
    title: 'tools/call with JWT validation and a cached token exchange per user',
    row: 'W3 JWT + exchange',
    outgoing: ({ tokenUrl }) => ({ type: 'token_exchange', token_url: tokenUrl, client_id: 'vmcp' }),
    credential: 'exchanged-',
  },
];

interface Started {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  readonly port: number;
  readonly tokens: readonly string[];
  /** Names of the tools to call, the backends in turn. */
  readonly names: readonly string[];
}

/** Starts a gateway over these backends; the last user has called every tool once. */
async function startContender(
  bench: Bench,
  name: string,
  { backends }: BackendSet,
  { authentication, tokens }: { readonly authentication?: Authentication; readonly tokens: readonly string[] },
): Promise<Started> {
  const file = writeConfig(bench.folder, backends, authentication);
  const { child, ports } = await startServer(join(bench.root, SERVER), ['--config', file]);
  const port = ports[0] ?? 0;
  const url = `http://127.0.0.1:${String(port)}/mcp`;
  const token = tokens.at(-1);
  const session = await openSession(url, token);
  const names = await toolNames(url, session, token);
  if (names.length !== BACKENDS * TOOLS) throw new Error(`${name}: tools/list has ${String(names.length)} tools`);
  for (const tool of names) await callTool(url, tool, TEXT, session, token);
  const inTurn = names.toSorted((a, b) => toolOf(a).localeCompare(toolOf(b)));
  return { name, pid: child.pid, url, port, tokens, names: inTurn };
}

async function toContender(started: Started, connections: number): Promise<Contender> {
  const { name, pid, names, tokens } = started;
  return { name, pid, plan: await toolCallPlan(started, names, Math.max(connections, USERS), { tokens }) };
}

/** Returns the name without the prefix of its backend. */
const toolOf = (name: string): string => name.slice(name.indexOf('_'));

/** Makes the issuer exchange every token for an opaque one with the name of the user; returns a counter of exchanges. */
function exchangeOpaquely(issuer: Issuer): () => number {
  let exchanges = 0;
  issuer.behave = {
    token: ({ form }) => {
      exchanges += 1;
      const claims = JSON.parse(
        Buffer.from(form.get('subject_token')?.split('.')[1] ?? '', 'base64url').toString(),
      ) as { sub: string };
      const issued_token_type = 'urn:ietf:params:oauth:token-type:access_token';
      return {
        json: { access_token: `exchanged-${claims.sub}`, issued_token_type, token_type: 'Bearer', expires_in: 3_600 },
      };
    },
  };
  return () => exchanges;
}

function toRow(row: string, connections: number, server: string, measured: Series, anonymous?: Series): RateRow {
  const ratio = server !== 'anonymous' && anonymous ? ratioOf(measured, anonymous) : null;
  const variant = `${String(connections)} connection${connections === 1 ? '' : 's'}, ${String(USERS)} users`;
  const goal = ratio === null ? null : atLeast(ratio, FLOOR, 'of W1');
  return { workload: row, variant, server, ratio, goal, ...measured };
}

async function run(bench: Bench, { id, row, outgoing, credential }: Kind): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  if (!targets.includes('gateway')) {
    return { rates: [], figures: [], notes: [`${id} was left out: a bare proxy authenticates nobody.`] };
  }
  const stops: (() => unknown)[] = [];
  const issuer = await startIssuer({ defer: (stop) => void stops.push(stop) }, { algorithms: ['RS256'] });
  const exchanges = exchangeOpaquely(issuer);
  const tokens = Array.from({ length: USERS }, (_, index) => {
    const user = `user-${String(index)}`;
    return issuer.token({ sub: user, tsid: user, exp: Math.floor(Date.now() / 1_000) + 86_400 });
  });
  const authentication = { issuer: issuer.url, audience: 'vmcp', outgoing: outgoing(issuer) };
  const rates: RateRow[] = [];
  try {
    const open = await startBackends(BACKENDS, TOOLS);
    const strict = await startBackends(BACKENDS, TOOLS, { credential });
    const servers = [
      await startContender(bench, 'gateway', strict, { authentication, tokens }),
      await startContender(bench, 'anonymous', open, { tokens: [] }),
    ];
    for (const connections of bench.options.connections) {
      const contenders = await Promise.all(servers.map((server) => toContender(server, connections)));
      const measured = await loadInTurn(bench.engine, contenders, { connections, rounds, seconds });
      const rows = [...measured].map(([name, value]) =>
        toRow(row, connections, name, value, measured.get('anonymous')),
      );
      bench.log(rows.map(({ server, perSecond }) => `${server} ${perSecond.toFixed(0)}/s`).join(', '));
      rates.push(...rows);
    }
  } finally {
    for (const stop of stops) await stop();
  }
  const note = `${id}: ratio to W1, measured beside it without authentication, over the same backends from the sources.`;
  return {
    rates,
    figures: [],
    notes: id === 'W3' ? [note, `W3: ${String(exchanges())} exchanges in all.`] : [note],
  };
}

/** W2 and W3: the calls of W1 by several users, through both boundaries. */
export const authenticatedCalls: readonly Workload[] = KINDS.map((kind) => ({
  id: kind.id,
  title: kind.title,
  run: (bench) => run(bench, kind),
}));
