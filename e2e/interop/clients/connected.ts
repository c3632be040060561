import { appendFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CLIENTS } from '../../../gateway/management/clients/clients.ts';
import { configFileOf } from '../../../gateway/management/clients/config-file.ts';
import { gatewayOver, server } from '../../harness/manifests.ts';
import { runCommand, startVmcp, temporaryFolder, vmcpResult, within, type Vmcp } from '../../harness/vmcp.ts';
import { installProgram, keepLog, type Lab, type NpmProgram } from '../lab.ts';
import type { Check } from '../result.ts';
import type { Found } from '../unit.ts';
import { startModel, type Model } from './model.ts';

/** A program that reads the file that `vmcp connect` writes. */
export interface ConnectedEntry extends NpmProgram {
  /** Name of the row; `TYPE-connect` keeps it apart from the row of a login. */
  readonly name: string;
  readonly title: string;
  /** Argument of `vmcp connect`. */
  readonly client: string;
  /** Arguments that show the servers of the program. */
  readonly list: readonly string[];
  /** Output while the program has connected, or at least read the entry. */
  readonly sees: RegExp;
  /** Configuration by which the program uses a model of the test: path of its file, and its text. Output then shows the tools that the model got. */
  readonly model?: { readonly file: string; readonly text: (url: string) => string };
  /** Output before the user trusts the folder, and the variable that trusts it. */
  readonly untrusted?: { readonly shows: RegExp; readonly trust: string };
}

const MODEL_OF_CONTINUE = (url: string): string =>
  `models:\n  - {name: test, provider: openai, model: gpt-4o, apiBase: '${url}', apiKey: none, roles: [chat]}\n`;
const MODEL_OF_KIMI = (url: string): string =>
  [
    ...['default_model = "test"', '[providers.test]', 'type = "openai"', `base_url = "${url}"`, 'api_key = "none"'],
    ...['[models.test]', 'provider = "test"', 'model = "test"', 'max_context_size = 100000', ''],
  ].join('\n');

const entry = (
  client: string,
  title: string,
  [npm, version, command]: readonly [string, string, string],
  list: readonly string[],
  sees: RegExp,
  more: Pick<ConnectedEntry, 'model' | 'untrusted'> = {},
): ConnectedEntry => ({ name: `${client}-connect`, title, version, client, npm, command, list, sees, ...more });

const LIST = ['mcp', 'list'];
const HELLO = ['-p', 'hello'];
const OFFERS = /OFFERED .*echo/u;

/** Programs of the table of `vmcp connect` that install from npm without an account. */
export const CONNECTED: readonly ConnectedEntry[] = [
  entry('claude-code', 'Claude Code', ['@anthropic-ai/claude-code', '2.1.332', 'claude'], LIST, /tools: .*Connected/u),
  entry('codex', 'Codex CLI', ['@openai/codex', '0.171.0', 'codex'], LIST, /tools +http:.* enabled/u),
  entry('gemini-cli', 'Gemini CLI', ['@google/gemini-cli', '0.61.0', 'gemini'], LIST, /tools: .*Connected/u, {
    untrusted: { shows: /tools: .*Disabled/u, trust: 'GEMINI_CLI_TRUST_WORKSPACE' },
  }),
  entry('qwen-code', 'Qwen Code', ['@qwen-code/qwen-code', '0.24.4', 'qwen'], LIST, /tools: .*Connected/u),
  entry('qoder-cli', 'Qoder CLI', ['@qoder-ai/qodercli', '1.1.52', 'qodercli'], LIST, /tools: .*Connected/u),
  entry('cline-cli', 'Cline CLI', ['cline', '3.0.65', 'cline'], ['config', 'mcp', '--json'], /"name":"tools"/u),
  entry('copilot-cli', 'Copilot CLI', ['@github/copilot', '1.0.102', 'copilot'], LIST, /tools \(http\)/u),
  entry('opencode', 'opencode', ['opencode-ai', '1.18.33', 'opencode'], LIST, /tools .*connected/u),
  entry('amp-cli', 'Amp', ['@sourcegraph/amp', '0.0.1790142911-g7618fb', 'amp'], LIST, /tools +url +http/u),
  entry('continue', 'Continue CLI', ['@continuedev/cli', '1.5.47', 'cn'], HELLO, OFFERS, {
    model: { file: '.continue/config.yaml', text: MODEL_OF_CONTINUE },
  }),
  entry('kimi-cli', 'Kimi Code', ['@moonshot-ai/kimi-code', '2.1.0', 'kimi'], HELLO, OFFERS, {
    model: { file: '.kimi-code/config.toml', text: MODEL_OF_KIMI },
  }),
];

const COMMAND_MS = 120_000;
const CHECK = 'sees the entry of vmcp connect';

/** Connects each program with `vmcp connect`, and lets it list its servers. */
export async function* runConnected(lab: Lab, entries: readonly ConnectedEntry[]): AsyncGenerator<Found> {
  const files = gatewayOver([server('everything', 'npx://@modelcontextprotocol/server-everything')]);
  const vmcp = await startVmcp(lab.scope, { files });
  const model = await startModel(lab.scope);
  for (const one of entries) {
    lab.step(one.title);
    const failed = (error: unknown): Check => ({ name: CHECK, outcome: 'failed', detail: String(error).slice(0, 300) });
    yield { name: one.name, checks: [await checkOf(lab, one, vmcp, model).catch(failed)] };
  }
}

async function checkOf(lab: Lab, one: ConnectedEntry, { state, url }: Vmcp, model: Model): Promise<Check> {
  const binary = await installProgram(lab, one);
  const [home, cwd] = [await temporaryFolder(lab.scope), await temporaryFolder(lab.scope)];
  const connected = await vmcpResult(
    lab.scope,
    ['connect', one.client, '--state', state, '--url', url, '--name', 'tools'],
    {
      env: { HOME: home },
    },
  );
  if (connected.code !== 0) throw new Error(connected.output);
  if (one.model) {
    const file = join(home, one.model.file);
    await mkdir(dirname(file), { recursive: true });
    await appendFile(file, one.model.text(model.url));
  }
  const output = async (env: Readonly<Record<string, string>> = {}): Promise<string> => {
    model.offered.clear();
    const run = await runCommand(lab.scope, [binary, ...one.list], { cwd, env: { HOME: home, CI: '1', ...env } });
    await within(run.exited, COMMAND_MS, () => `${one.command} ${one.list.join(' ')} does not end`);
    const text = `${run.output()}\nOFFERED ${[...model.offered].join(' ')}`;
    await keepLog(one.name, text);
    return text;
  };
  const { untrusted } = one;
  const first = untrusted ? await output() : '';
  if (untrusted && !untrusted.shows.test(first)) throw new Error(`without trust it prints: ${first.slice(-200)}`);
  const text = await output(untrusted && { [untrusted.trust]: 'true' });
  if (!one.sees.test(text)) throw new Error(`it prints: ${text.trim().slice(-200)}`);
  return { name: CHECK, outcome: 'passed', detail: detailOf(one, home) };
}

/** Describes the file and the output of the program. */
function detailOf({ client, command, list, model, untrusted }: ConnectedEntry, home: string): string {
  const known = CLIENTS.find(({ type }) => type === client);
  const file = known ? configFileOf(known, { platform: process.platform, home }).replace(home, '~') : '';
  const shown = model ? 'its model gets the tools' : `\`${command} ${list.join(' ')}\` lists it`;
  return `${file}: ${shown}${untrusted ? ', as Disabled until the folder is trusted' : ''}`;
}
