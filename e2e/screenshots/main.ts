/**
 * `make screenshots`: runs the commands of the docs as a new user at a terminal, and draws what they print:
 * docs/images/terminal-*.svg, and docs/images/client-inspector.png, the page of an MCP client. Needs the npm registry,
 * Chromium, and the ports 4483 and 8080.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COLUMNS, copyUncommitted, newcomer, untilTable, type Newcomer } from '../harness/newcomer/newcomer.ts';
import { eventually } from '../harness/poll.ts';
import { root, writeFiles } from '../harness/vmcp.ts';
import { takeClientPicture } from './client-picture.ts';
import { terminalLines, type Line } from './terminal-screen.ts';
import { terminalSvg, THEMES } from './terminal-svg.ts';

const stops: (() => unknown)[] = [];
const scope = { defer: (stop: () => unknown) => void stops.push(stop) };
const CLONE = 'vmcp';
const SLOW = { timeoutMs: 600_000 };

const resource = (kind: string, name: string, ...settings: string[]): string =>
  ['apiVersion: vmcp.dev/v1alpha1', `kind: ${kind}`, `metadata: { name: ${name} }`, 'spec:', ...settings, ''].join(
    '\n',
  );
const GROUP = '  groupRef: { name: my-servers }';
const FILES = '  image: npx://@modelcontextprotocol/server-filesystem';
/** Files of the folder `my-servers` of the README. The backend `docs` does not run, so that the pictures show a failure. */
const OWN_SERVERS = {
  'files.yaml': resource('MCPServer', 'files', GROUP, FILES, '  args: [/tmp]'),
  'docs.yaml': resource(
    'MCPServerEntry',
    'docs',
    GROUP,
    '  remoteUrl: http://127.0.0.1:4410/mcp',
    '  transport: streamable-http',
  ),
};
const WITH_MISTAKES = {
  'files.yaml': resource('MCPServer', 'files', GROUP, FILES, '  arg: [/tmp]'),
  'docs.yaml': resource(
    'MCPServerEntry',
    'docs',
    '  groupRef: { name: my-server }',
    '  remoteUrl: mcp.example.com',
    '  transport: streamable-http',
  ),
};

/** Draws a prompt with the command, and the lines below it. */
function draw(name: string, title: string, screen: readonly (readonly [command: string, output: string])[]): void {
  const lines = screen.flatMap(([command, output], index): Line[] => {
    const prompt: Line = [
      { text: '$ ', style: { color: 'green' } },
      { text: command, style: { isBold: true } },
    ];
    return [...(index > 0 ? [[]] : []), prompt, ...terminalLines(output, COLUMNS)];
  });
  for (const theme of ['light', 'dark'] as const) {
    const svg = terminalSvg(lines, { title, columns: COLUMNS, theme: THEMES[theme] });
    writeFileSync(join(root, 'docs', 'images', `terminal-${name}-${theme}.svg`), svg);
  }
}

/** Runs a command in the clone and returns it with its output. */
async function shown(user: Newcomer, command: string): Promise<[string, string]> {
  const { output } = await user.run(command, CLONE);
  return [command, output];
}

/** The first `make run` in a clone, a call, and the page of an MCP client. */
async function firstMinute(user: Newcomer): Promise<void> {
  const running = await user.start('make run', CLONE);
  await untilTable(running, SLOW.timeoutMs);
  await healthy(user, 2);
  const [call, answer] = await shown(user, 'bin/vmcp call everything_echo --arg message=hello');
  draw('run', 'The first minute', [
    ['make run', running.output()],
    [`${call}    # in a second terminal`, answer],
  ]);
  const [, url = ''] = /^quickstart +(http:\S+)/mu.exec(running.output()) ?? [];
  await takeClientPicture(scope, url);
  await running.stop();
}

const healthy = (user: Newcomer, servers: number): Promise<unknown> =>
  eventually(
    'the servers are healthy',
    async () => {
      const [, output] = await shown(user, 'bin/vmcp status');
      return (output.match(/ healthy/gu)?.length ?? 0) >= servers;
    },
    SLOW,
  );

/** A folder of the user, with a server that does not answer. */
async function ownServers(user: Newcomer): Promise<void> {
  const folder = join(user.home, CLONE, 'my-servers');
  await user.run('bin/vmcp init my-servers', CLONE);
  await writeFiles(folder, OWN_SERVERS);
  const running = await user.start('bin/vmcp up my-servers', CLONE);
  await healthy(user, 2);
  await eventually(
    'docs is unhealthy',
    async () => / unhealthy/u.test((await shown(user, 'bin/vmcp status'))[1]),
    SLOW,
  );
  await user.run('bin/vmcp call everything_echo --arg message=hello', CLONE);
  const call = await shown(user, 'bin/vmcp call files_list_allowed_directories');
  draw('status', 'vmcp status', [await shown(user, 'bin/vmcp status')]);
  draw('tools', 'vmcp tools and vmcp call', [await shown(user, 'bin/vmcp tools files'), call]);
  await running.stop();
  await writeFiles(folder, WITH_MISTAKES);
  draw('validate', 'vmcp validate', [await shown(user, 'bin/vmcp validate my-servers')]);
}

try {
  const user = await newcomer(scope);
  await user.run(`git clone --quiet ${root} ${CLONE}`);
  await copyUncommitted(join(user.home, CLONE));
  await firstMinute(user);
  await ownServers(user);
} finally {
  for (const stop of stops.splice(0).reverse()) await stop();
}
