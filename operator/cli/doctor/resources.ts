import { LaunchError } from '../../../gateway/workloads/runner/runner.ts';
import type { ObjectProblem } from '../../resolve/scope.ts';
import { examineOnline } from '../online/examine-online.ts';
import type { Subject } from '../online/online-check.ts';
import { fail, ok, warn, type Check, type LocalServer, type Machine, type Programs } from './check.ts';
import { containerEngine, npmCheck, python } from './machine.ts';
import { StatusError } from '../status/gateway-status.ts';

/** Findings that the line names. */
const MOST_NAMED = 3;

/** Programs that download and run the packages and images of servers. */
const RUNNERS: Readonly<Partial<Record<Subject['type'], Check<Programs>>>> = {
  npm: npmCheck,
  python,
  image: containerEngine,
};

/** A server that is not on this machine yet, or why it cannot be. */
type Missing = { readonly server: LocalServer; readonly reason?: string };

export const servers: Check = {
  name: 'servers',
  run: async (machine) => {
    const { servers: all, get, env } = machine;
    if (all.length === 0) return ok('not checked: no file with a server that runs here was given');
    const missing = (await Promise.all(all.map((server) => missingFrom(server, machine)))).flat();
    const named = missing.flatMap(({ server: { object, subject }, reason }) =>
      subject && reason === undefined ? [{ object, path: 'spec.image', subject }] : [],
    );
    const { problems, warnings } = await examineOnline(named, { get, env });
    const local = missing.flatMap(({ server: { object }, reason: message }): ObjectProblem[] =>
      message === undefined ? [] : [{ ...object, path: 'spec.image', reason: '', message }],
    );
    const found = [...local, ...problems];
    if (found.length > 0) return fail(listed(found, machine));
    if (warnings.length > 0) return warn(listed(warnings, machine));
    const present = `${String(all.length - named.length)} on this machine`;
    return ok(named.length === 0 ? present : `${present}, ${String(named.length)} at their registries`);
  },
};

/** Returns the server if it cannot start without a download, with the reason if it cannot start at all. */
async function missingFrom(server: LocalServer, machine: Machine): Promise<Missing[]> {
  const { subject, process } = server;
  try {
    if (machine.isInstalled(process)) return [];
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error;
    return [{ server, reason: error.message }];
  }
  if (!subject) return [];
  const runner = await RUNNERS[subject.type]?.run(machine);
  if (runner?.state === 'warn') return [{ server, reason: runner.message }];
  return subject.type === 'image' && (await hasImage(subject.value, machine)) ? [] : [{ server }];
}

async function hasImage(image: string, { respondingEngine, find, succeeds }: Programs): Promise<boolean> {
  const engine = find((await respondingEngine()) ?? '');
  return engine !== undefined && (await succeeds(engine, ['image', 'inspect', '--', image]));
}

/** Joins the first findings, each with its place. */
function listed(found: readonly ObjectProblem[], { placeOf }: Machine): string {
  const lines = found.slice(0, MOST_NAMED).map((problem) => `${placeOf(problem)}: ${problem.message}`);
  const more = found.length - lines.length;
  return `${lines.join('; ')}${more > 0 ? `; and ${String(more)} more: vmcp validate --online lists all` : ''}`;
}

const NAMED: ReadonlySet<string> = new Set(['issuer', 'endpoint']);

export const issuers: Check = {
  name: 'issuers',
  run: async ({ providers, placeOf, get, env }) => {
    if (providers.length === 0) return ok('not checked: no file that names another issuer was given');
    const { problems, warnings } = await examineOnline(providers, { get, env });
    // endpoints for POST answer HEAD with 404 too
    const found = problems.length > 0 ? problems : warnings.filter(({ reason }) => reason !== 'NotChecked');
    const list = found.map((problem) => `${placeOf(problem)}: ${problem.message}`).join('; ');
    if (problems.length > 0) return fail(list);
    if (found.length > 0) return warn(list);
    const checked = providers.filter(({ subject }) => NAMED.has(subject.type)).map(({ subject }) => subject.value);
    return ok(`metadata and keys of ${[...new Set(checked)].join(', ')}`);
  },
};

/** Reason of the advice that a gateway gives on tools which the APIs of models reject. */
const ADVICE = 'ToolsNotPortable';

export const toolsCheck: Check = {
  name: 'tools',
  run: async ({ running, serversAt }) => {
    if (!running) return ok('not checked: no vmcp up runs with this state folder');
    try {
      const servers = await serversAt(running.managementUrl);
      const advice = servers.flatMap(({ problems }) => problems.filter(({ reason }) => reason === ADVICE));
      if (advice.length === 0) return ok('OpenAI, Anthropic and Gemini accept them');
      const messages = [...new Set(advice.map(({ message }) => message))];
      return warn(`${messages.join('. ')}. vmcp tools --check lists all of them`);
    } catch (error) {
      if (error instanceof StatusError) return ok('not checked: vmcp up does not answer yet');
      throw error;
    }
  },
};
