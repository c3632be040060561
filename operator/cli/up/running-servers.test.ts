import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { examine } from '../validate/examine.ts';
import { planServers, serverKey, type RunnableServer } from './running-servers.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmcp-running-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const object = (kind: string, name: string, spec = '{}', api = 'vmcp.dev/v1alpha1') =>
  `apiVersion: ${api}\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
const desk = (more = '', kind = 'VirtualMCPServer') =>
  object(kind, 'desk', `{groupRef: {name: tools}, incomingAuth: {type: anonymous}${more}}`);
const other = object('VirtualMCPServer', 'other', '{groupRef: {name: tools}, incomingAuth: {type: anonymous}}');
const tools = (arg: string) => [
  object('MCPGroup', 'tools'),
  object(
    'MCPServer',
    'web',
    `{image: "npx://web", transport: streamable-http, args: [${arg}], groupRef: {name: tools}}`,
  ),
];
const foreign = object('Deployment', 'elsewhere', '{}', 'apps/v1');

async function plan(documents: readonly string[], before: readonly RunnableServer[] = []) {
  await writeFile(join(dir, 'a.yaml'), documents.join('---\n'));
  return planServers(await examine([dir], {}, '/state'), before);
}
const names = (servers: readonly RunnableServer[]) => servers.map(serverKey);
const argsOf = (servers: readonly RunnableServer[]) =>
  servers.map(({ config }) => config.vmcp.backends.map(({ process }) => process?.args));

describe('the plan after an edit', () => {
  it('contains servers without problems and ignores objects of other kinds', async () => {
    const before = await plan([...tools('one'), desk(), foreign]);
    expect([names(before.servers), before.kept]).toEqual([['default/desk'], []]);
    const after = await plan([...tools('two'), desk(), foreign, other], before.servers);
    expect([names(after.servers), after.kept]).toEqual([['default/desk', 'default/other'], []]);
    expect(argsOf(after.servers)).toEqual([[['two']], [['two']]]);
  });

  it.each([
    ['a control that is not built', desk(', config: {codeMode: {enabled: true}}')],
    ['a dangling reference', desk().replace('name: tools', 'name: nowhere')],
    ['an unknown field', desk(', nope: 1')],
    ['a misspelt kind', desk('', 'VirtualMCPServr')],
    ['another apiVersion', desk().replace('v1alpha1', 'v1beta1')],
  ])('keeps the previous configuration of a server with a problem: %s', async (_, wrong) => {
    const before = await plan([...tools('one'), desk(), other]);
    const after = await plan([...tools('one'), wrong, other], before.servers);
    expect(names(after.kept)).toEqual(['default/desk']);
    expect(after.servers).toEqual(before.servers);
    const corrected = await plan([...tools('one'), desk(', config: {metadata: {a: b}}'), other], after.servers);
    expect(corrected.kept).toEqual([]);
    expect(corrected.servers[0]?.config.vmcp.metadata).toEqual({ a: 'b' });
  });

  it('has one version of a process that a valid and a kept server share', async () => {
    const before = await plan([...tools('one'), desk(), other]);
    const after = await plan([...tools('two'), desk(', nope: 1'), other], before.servers);
    expect(argsOf(after.servers)).toEqual([[['two']], [['two']]]);
  });

  it('omits servers that are no longer in the files, and invalid ones that never ran', async () => {
    const before = await plan([...tools('one'), desk(), other]);
    expect(names((await plan([...tools('one'), other, foreign], before.servers)).servers)).toEqual(['default/other']);
    expect(names((await plan([...tools('one'), desk(', nope: 1'), other])).servers)).toEqual(['default/other']);
  });
});
