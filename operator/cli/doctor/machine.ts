import { nodeVersionProblem } from '../node-version.ts';
import { fail, ok, type Check, warn, type Programs } from './check.ts';
import type { Running } from '../../local/state.ts';
import { ANY_ANSWER, NoReply, trusting } from '../online/probes.ts';

export const nodeVersion: Check = {
  name: 'Node.js',
  run({ nodeVersion: version }) {
    const problem = nodeVersionProblem(version);
    return problem === undefined ? ok(version) : fail(problem);
  },
};

export const npmCheck: Check<Programs> = {
  name: 'npm',
  run: ({ find }) => {
    const file = find('npm');
    return file === undefined
      ? warn('npm is not on PATH, so npx:// servers cannot be installed: install Node.js with npm')
      : ok(file);
  },
};

export const python: Check<Programs> = {
  name: 'Python packages',
  run: async ({ find, succeeds }) => {
    const uv = find('uv');
    if (uv !== undefined) return ok(uv);
    const advice = 'install uv (https://docs.astral.sh/uv), or python3 with its venv module';
    const interpreter = find('python3') ?? find('python');
    if (interpreter === undefined)
      return warn(`neither uv nor python3 is on PATH, so uvx:// servers cannot run: ${advice}`);
    return (await succeeds(interpreter, ['-c', 'import ensurepip, venv']))
      ? ok(`${interpreter} with venv; uv would install faster`)
      : warn(`${interpreter} has no venv module, so uvx:// servers cannot run: ${advice}`);
  },
};

export const containerEngine: Check<Programs> = {
  name: 'container engine',
  run: async ({ respondingEngine }) => {
    const engine = await respondingEngine();
    return engine === undefined
      ? warn('neither docker nor podman responds, so servers in container images cannot run: start one of them')
      : ok(`${engine} responds`);
  },
};

/** Returns the ports on which the `vmcp up` of the state folder listens. */
const portsOf = (running: Running | undefined): number[] =>
  running
    ? [running.managementUrl, ...running.servers.map(({ mcpUrl }) => mcpUrl)].map((url) => Number(new URL(url).port))
    : [];

const portCheck = (port: number, flag: string): Check => ({
  name: `port ${String(port)}`,
  run: async ({ running, isPortFree }) => {
    if (portsOf(running).includes(port)) return ok(`used by vmcp up (process ${String(running?.pid)})`);
    if (await isPortFree(port)) return ok('free');
    return warn(`used by another program: vmcp up takes the next free port, or the one of ${flag}`);
  },
});

export const mcpPort = portCheck(4483, '--port');
export const managementPort = portCheck(8080, '--management-port');

export const stateFolder: Check = {
  name: 'state folder',
  run: async ({ stateDir, writeFault }) => {
    const fault = await writeFault(stateDir);
    return fault === undefined
      ? ok(stateDir)
      : fail(`${stateDir} cannot be written (${fault}): change its permissions, or choose another folder with --state`);
  },
};

/** Difference at which gateways reject tokens as not yet valid. */
const MOST_SECONDS = 30;

export const clock: Check = {
  name: 'clock',
  run: async ({ providers, get, now }) => {
    const first = providers.find(({ subject }) => subject.type === 'issuer')?.subject;
    if (!first) return ok('not checked: no file that names another issuer was given');
    const date = await trusting(get, first.ca)(first.value, ANY_ANSWER).then(
      ({ header }) => Date.parse(header('date') ?? ''),
      (error: unknown) => {
        if (error instanceof NoReply) return Number.NaN;
        throw error;
      },
    );
    if (Number.isNaN(date)) return ok(`not checked: ${first.value} sends no date`);
    const seconds = Math.round(Math.abs(now() - date) / 1_000);
    return seconds <= MOST_SECONDS
      ? ok(`that of ${first.value}`)
      : fail(`${String(seconds)} s from that of ${first.value}, so its tokens are rejected: set the clock`);
  },
};

export const locale: Check = {
  name: 'locale',
  run: ({ env }) => {
    const chosen = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((value) => value !== undefined && value !== '');
    return /utf-?8/iu.test(chosen ?? '')
      ? ok(chosen ?? '')
      : warn(`${chosen ?? 'none is set'}: letters of other languages may look wrong: export LANG=C.UTF-8`);
  },
};
