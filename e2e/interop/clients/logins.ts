import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { eventually } from '../../harness/poll.ts';
import { runCommand, temporaryFolder, within } from '../../harness/vmcp.ts';
import { restart, startAuthServer, type Gateway } from '../../scenarios/auth-server/gateway.ts';
import { installProgram, keepLog, type Lab, type NpmProgram } from '../lab.ts';
import type { Check } from '../result.ts';
import type { Found } from '../unit.ts';

/** A program that logs in at the gateway. Its arguments depend on the URL of the gateway. */
export interface LoginEntry extends NpmProgram {
  readonly title: string;
  readonly add?: (url: string) => readonly string[];
  readonly login: (url: string) => readonly string[];
  readonly list: (url: string) => readonly string[];
  /** Arguments with which it forgets the client id of a failed login, where it keeps that. */
  readonly forget?: readonly string[];
  /** Output of `list` while the program is logged in. */
  readonly isLoggedIn: RegExp;
}

const ofCodex =
  (...args: readonly string[]) =>
  (url: string): readonly string[] => ['-c', `mcp_servers.vmcp.url="${url}"`, 'mcp', ...args];

export const LOGINS: readonly LoginEntry[] = [
  {
    ...{ name: 'codex', title: 'Codex CLI', version: '0.171.0', npm: '@openai/codex', command: 'codex' },
    login: ofCodex('login', 'vmcp'),
    list: ofCodex('list'),
    isLoggedIn: /OAuth/u,
  },
  {
    ...{ name: 'claude-code', title: 'Claude Code', version: '2.1.197', npm: '@anthropic-ai/claude-code' },
    command: 'claude',
    add: (url) => ['mcp', 'add', '--transport', 'http', 'vmcp', url],
    login: () => ['mcp', 'login', 'vmcp'],
    list: () => ['mcp', 'list'],
    forget: ['mcp', 'logout', 'vmcp'],
    isLoggedIn: /Connected/u,
  },
];

const COMMAND_MS = 60_000;
/** Without a way out of the network, the first login finds out that the document of the program cannot be fetched. */
const MOST_LOGINS = 2;

/** Logs each program in at a gateway with an authorization server, and restarts the gateway. */
export async function* runLogins(lab: Lab, entries: readonly LoginEntry[]): AsyncGenerator<Found> {
  for (const entry of entries) {
    lab.step(entry.title);
    const check = await checkOf(lab, entry).catch((error: unknown) => failed(String(error).slice(0, 300)));
    yield { name: entry.name, checks: [check] };
  }
}

const CHECK = 'logs in, and stays so after a restart';
const failed = (detail: string): Check => ({ name: CHECK, outcome: 'failed', detail });

async function checkOf(lab: Lab, entry: LoginEntry): Promise<Check> {
  const gateway = await startAuthServer(lab.scope);
  const program = await Program.start(lab, entry, gateway);
  const { ids, detail } = await program.logIn();
  if (!(await program.isLoggedIn())) return failed(detail);
  await restart(lab.scope, gateway);
  if (!(await program.isLoggedIn())) return failed('the login is lost after a restart of the gateway');
  const how = ids.at(-1)?.startsWith('https://') === true ? 'by its metadata document' : 'by registration';
  const when = entry.forget ? ' after a logout' : '';
  const first = ids.length > 1 ? '; the first login fails, since its document cannot be fetched here' : '';
  return { name: CHECK, outcome: 'passed', detail: first === '' ? how : how + when + first };
}

/** An installed program with a home folder of its own. Its browser is a script that saves the address. */
class Program {
  readonly #lab: Lab;
  readonly #entry: LoginEntry;
  readonly #url: string;
  readonly #binary: string;
  readonly #home: string;

  private constructor(lab: Lab, entry: LoginEntry, url: string, binary: string, home: string) {
    this.#lab = lab;
    this.#entry = entry;
    this.#url = url;
    this.#binary = binary;
    this.#home = home;
  }

  static async start(lab: Lab, entry: LoginEntry, { url }: Gateway): Promise<Program> {
    const binary = await installProgram(lab, entry);
    const home = await temporaryFolder(lab.scope);
    await writeFile(join(home, 'browser'), `#!/bin/sh\nprintf %s "$1" > '${join(home, 'opened')}'\n`);
    await chmod(join(home, 'browser'), 0o755);
    const program = new Program(lab, entry, url, binary, home);
    if (entry.add) await program.#output(entry.add(url));
    return program;
  }

  async isLoggedIn(): Promise<boolean> {
    return this.#entry.isLoggedIn.test(await this.#output(this.#entry.list(this.#url)));
  }

  /** Tries to log in. Returns the client id of each attempt, and the reason of the last failure. */
  async logIn(): Promise<{ ids: string[]; detail: string }> {
    const ids: string[] = [];
    let detail = '';
    while (ids.length < MOST_LOGINS) {
      const run = await this.#run(this.#entry.login(this.#url));
      const opened = join(this.#home, 'opened');
      const read = (): Promise<string> => readFile(opened, 'utf8').catch(() => '');
      await eventually(`${this.#entry.name} opens a browser`, async () => (await read()) !== '', {
        timeoutMs: COMMAND_MS,
      });
      const address = new URL(await read());
      await writeFile(opened, '');
      ids.push(address.searchParams.get('client_id') ?? '');
      const clients = [address.searchParams.get('redirect_uri') ?? ''];
      try {
        await fetch(await new ScriptedBrowser({ user: 'ann', clients }).login(address));
        await within(run.exited, COMMAND_MS, () => `${this.#entry.name} does not end after the login`);
        return { ids, detail: run.output().slice(-200) };
      } catch (error) {
        detail = String(error).slice(0, 300);
        run.signalGroup('SIGKILL');
        if (this.#entry.forget) await this.#output(this.#entry.forget);
      }
    }
    return { ids, detail };
  }

  async #output(args: readonly string[]): Promise<string> {
    const run = await this.#run(args);
    await within(run.exited, COMMAND_MS, () => `${this.#entry.name} ${args.join(' ')} does not end`);
    await keepLog(`${this.#entry.name}-${args.at(-1)?.replaceAll(/\W/gu, '') ?? ''}`, run.output());
    return run.output();
  }

  #run(args: readonly string[]) {
    const env = { HOME: this.#home, BROWSER: join(this.#home, 'browser') };
    return runCommand(this.#lab.scope, [this.#binary, ...args], { cwd: this.#home, env, terminal: true });
  }
}
