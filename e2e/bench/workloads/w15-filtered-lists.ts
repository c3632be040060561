import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startIssuer } from '../../harness/issuer.ts';
import { startBackends, type BackendSet } from '../contenders.ts';
import { configOver, startGateway } from '../gateway.ts';
import { inParallel } from '../load/concurrency.ts';
import { openSession, post, toolNames } from '../mcp.ts';
import { tool } from '../servers/tools.ts';
import { loadInTurn, ratioOf, type Contender, type Series } from '../slices.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 10;
const TOOLS = 50;
const USERS = 1_000;
const TEAMS = 20;
const CONNECTIONS = 32;
/** Half of the rate of W4: twice its time. */
const FLOOR = 0.5;
const BODY = { before: '{"jsonrpc":"2.0","id":', after: ',"method":"tools/list","params":{}}' };

/** Every team sees all tools except one of each backend, and every user is a principal of its own. */
const POLICIES = [
  'permit(principal, action, resource);',
  ...Array.from(
    { length: TEAMS },
    (_, team) =>
      `forbid(principal in Group::"team-${String(team)}", action, resource) when { resource.name like "*${tool(team).name}" };`,
  ),
];

/** Starts a gateway and a session of each user, and requests every list once. */
async function startOver(bench: Bench, name: string, set: BackendSet, issuer?: string, tokens: readonly string[] = []) {
  const authentication = issuer && { issuer, audience: 'vmcp', outgoing: { type: 'unauthenticated' } };
  const policies = { authz_config: { type: 'cedarv1', version: '1.0', cedar: { policies: POLICIES } } };
  const config = { ...configOver(set.backends, authentication || undefined), ...(issuer && policies) };
  const file = join(bench.folder, `gateway-w15-${name}.json`);
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  const { child, port } = await startGateway(bench.root, file);
  const url = `http://127.0.0.1:${String(port)}/mcp`;
  const owners: readonly (string | undefined)[] = tokens.length > 0 ? tokens : [undefined];
  const lists = await inParallel(owners, 16, async (token) => {
    const session = await openSession(url, token);
    const names = await toolNames(url, session, token);
    const { message } = await post(url, `${BODY.before}1${BODY.after}`, session, token);
    return { session, names, bytes: Buffer.byteLength(message) };
  });
  const plan = {
    port,
    sessions: lists.flatMap(({ session }) => session ?? []),
    tokens,
    bodies: [BODY],
    minBytes: Math.min(...lists.map(({ bytes }) => bytes)),
  };
  return {
    contender: { name, pid: child.pid, plan } satisfies Contender,
    counts: lists.map(({ names }) => names.length),
  };
}

function toRow(server: string, measured: Series, plain: Series | undefined): RateRow {
  const ratio = plain && plain !== measured ? ratioOf(measured, plain) : null;
  return {
    workload: 'W15 filtered tools/list',
    variant: `${String(CONNECTIONS)} connections`,
    ...{ server, ratio, goal: ratio === null ? null : atLeast(ratio, FLOOR, 'of W4') },
    ...measured,
  };
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  if (!targets.includes('gateway'))
    return { rates: [], figures: [], notes: ['W15 was left out: a bare proxy has no list of its own.'] };
  const stops: (() => unknown)[] = [];
  try {
    const issuer = await startIssuer({ defer: (stop) => void stops.push(stop) }, { algorithms: ['RS256'] });
    const exp = Math.floor(Date.now() / 1_000) + 86_400;
    const tokens = Array.from({ length: USERS }, (_, user) => {
      const [sub, team] = [`user-${String(user)}`, `team-${String(user % TEAMS)}`];
      return issuer.token({ sub, email: `${sub}@example.com`, groups: [team], exp });
    });
    const set = await startBackends(BACKENDS, TOOLS);
    const plain = await startOver(bench, 'anonymous', set);
    const filtered = await startOver(bench, `${String(USERS)} users`, set, issuer.url, tokens);
    const [all = 0] = plain.counts;
    if (filtered.counts.some((count) => count >= all || count < all * 0.9))
      throw new Error(`the lists of the users have ${String(filtered.counts[0])} of ${String(all)} tools`);
    const load = { connections: CONNECTIONS, rounds, seconds };
    const measured = await loadInTurn(bench.engine, [plain.contender, filtered.contender], load);
    return {
      rates: [...measured].map(([name, value]) => toRow(name, value, measured.get('anonymous'))),
      figures: [],
      notes: [
        `W15: the list of W4, filtered by ${String(POLICIES.length)} policies for ${String(USERS)} users with JWTs, of whom each request is another one's.`,
      ],
    };
  } finally {
    for (const stop of stops) await stop();
  }
}

export const filteredLists: Workload = { id: 'W15', title: `tools/list, filtered for ${String(USERS)} users`, run };
