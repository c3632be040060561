import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { COMMANDS, createProgram } from './commands/index.ts';
import { VERSION } from './version.ts';

const main = join(import.meta.dirname, 'main.ts');

/** Runs the command line of the sources, not on a terminal. */
function vmcp(args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}) {
  const options = { input, env: { ...process.env, ...env }, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], options);
  return { code: status, stdout, stderr };
}

const LINES = ['vmcp', ...COMMANDS.map((command) => `vmcp ${command.name()}`)];

const program = createProgram();

/** Returns the help as `--help` prints it into a pipe. */
function helpOf(line: string): string {
  const command = program.commands.find((one) => line === `vmcp ${one.name()}`) ?? program;
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 80 }).outputHelp();
  return text;
}

describe('--help', () => {
  it.each(LINES)('of %s fits 80 columns', (command) => {
    const help = helpOf(command);
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(help).toMatchSnapshot();
  });

  it.each(LINES)('of %s has an example', (command) => {
    expect(helpOf(command)).toContain(`Example:\n  ${command}`);
  });
});

it('names the help of the command after wrong usage', () => {
  expect(vmcp(['up'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: missing required argument \'paths\'\nRun "vmcp up --help" for its arguments and an example.\n',
  });
});

it('ends without a message when nobody reads its output', async () => {
  const child = spawn(process.execPath, [main, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const [stderr, [code]] = await Promise.all([readAll(child.stderr), once(child, 'exit')]);
  expect({ code: code as unknown, stderr }).toEqual({ code: 141, stderr: '' });
});

it('prints its help to stdout', () => {
  expect(vmcp(['--help'])).toEqual({ code: 0, stdout: helpOf('vmcp'), stderr: '' });
});

describe('vmcp version', () => {
  it('prints one line', () => {
    const text = `vmcp ${VERSION} (Node.js ${process.versions.node}, ${process.platform}/${process.arch})\n`;
    expect(vmcp(['version'])).toEqual({ code: 0, stdout: text, stderr: '' });
  });

  it('prints JSON with -o json', () => {
    const { stdout } = vmcp(['version', '-o', 'json']);
    const platform = `${process.platform}/${process.arch}`;
    expect(JSON.parse(stdout)).toEqual({ version: VERSION, node: process.versions.node, platform });
  });
});

describe('vmcp up', () => {
  it.each([
    ['VMCP_HOST', [], '198.51.100.1'],
    ['--host rather than VMCP_HOST', ['--host', '198.51.100.2'], '198.51.100.2'],
  ])('listens on the address of %s', (_, args, address) => {
    const { code, stderr } = vmcp(['up', '/nonexistent', ...args], '', { VMCP_HOST: '198.51.100.1' });
    expect(code).toBe(2);
    expect(stderr).toMatch(new RegExp(`^--host ${address} cannot be used \\(EADDRNOTAVAIL\\)`, 'u'));
  });
});

describe('vmcp completion', () => {
  it('prints a script with every command', () => {
    const { code, stdout } = vmcp(['completion', 'bash']);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toContain(`    ${command.name()}) case "$cur"`);
  });

  it('rejects other shells', () => {
    expect(vmcp(['completion', 'tcsh'])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('standard input', () => {
  const GROUP = 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: {name: tools}\nspec: {}\n';
  const SERVER = `apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: {name: tools}
spec: {groupRef: {name: tools}, incomingAuth: {type: anonymous}}
`;

  it('is validated for the path -', () => {
    const { code, stdout } = vmcp(['validate', '-'], `${GROUP}---\n${SERVER}`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'ok: 1 VirtualMCPServer, 0 backends\n' });
  });

  it('has the lines of problems', () => {
    const { code, stdout } = vmcp(['validate', '-', '-'], SERVER);
    expect(code).toBe(2);
    expect(stdout).toMatch(
      /^\/dev\/stdin:4: VirtualMCPServer\/tools: spec\.groupRef\.name: .* \[GroupRefNotFound\]\n$/u,
    );
  });

  it('is rendered for the path -', () => {
    const { code, stdout } = vmcp(['render', '-'], `${GROUP}---\n${SERVER}`);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ name: 'tools' });
  });

  it('cannot be watched', () => {
    const { code, stderr } = vmcp(['up', '-', '--watch'], SERVER);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: '--watch cannot follow standard input: name a file or a folder\n',
    });
  });
});

it.each([
  ['gateway', '--config', (file: string) => file, (file: string) => `${file}: is not UTF-8`],
  ['serve', '--config', (file: string) => file, (file: string) => `${file}: is not UTF-8`],
  ['call', '--json', (file: string) => `@${file}`, (file: string) => `--json: ${file} is not UTF-8`],
])('row 109: %s refuses a file that is not UTF-8', (command, option, argument, problem) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-latin1-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'document.json');
  writeFileSync(file, Buffer.from('{"name":"J\u00FCrg"}', 'latin1'));
  const { code, stdout, stderr } = vmcp([command, ...(command === 'call' ? ['tool'] : []), option, argument(file)]);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(problem(file)) });
});
