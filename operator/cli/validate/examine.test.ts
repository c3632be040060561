import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { examineForCluster } from './examine-cluster.ts';
import { examine } from './examine.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmcp-empty-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const API = 'apiVersion: vmcp.dev/v1alpha1';
const group = (name: string) => `${API}\nkind: MCPGroup\nmetadata: {name: ${name}}\nspec: {}\n`;
const DESK = `${API}
kind: VirtualMCPServer
metadata: {name: desk}
spec: {groupRef: {name: tools}, incomingAuth: {type: anonymous}}
`;
const member = (name: string, spec: string, kind = 'MCPServer') =>
  `${API}\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: {${spec}}\n`;
const OTHER = `${group('other')}---\n${member('web', 'image: ghcr.io/a/web, groupRef: {name: other}')}`;

/** Returns the warnings about empty groups beside this text. */
async function emptyGroups(text: string, read = (path: string) => examine([path], {}, '/')): Promise<string[]> {
  await writeFile(join(dir, 'gateway.yaml'), `${group('tools')}---\n${DESK}---\n${OTHER}`);
  await writeFile(join(dir, 'members.yaml'), text);
  const { warnings } = await read(dir);
  return warnings.filter(({ reason }) => reason === 'GroupEmpty').map(({ path }) => path);
}

const NO_IMAGE = member('files', 'image: 7, groupRef: {name: tools}');

describe('the warning about an empty group', () => {
  it.each([
    ['is rejected', NO_IMAGE],
    ['names no group, with a misspelled field', member('files', 'image: npx://a, groupref: {name: tools}')],
    ['names no group that exists', member('files', 'image: npx://a, groupRef: {name: tols}')],
    ['has a misspelled kind', member('files', 'image: npx://a, groupRef: {name: tools}', 'MCPServr')],
    ['is in a file that is no YAML', `a: b: c\n---\n${member('files', 'image: npx://a, groupRef: {name: tools}')}`],
    ['has the name of another', member('web', 'image: npx://a, groupRef: {name: tools}')],
  ])('is omitted when a member %s', async (_how, text) => {
    expect(await emptyGroups(text)).toEqual([]);
  });

  it.each([
    ['nothing is wrong', ''],
    ['a member of another group is rejected', member('mail', 'image: 7, groupRef: {name: other}')],
    ['a resource of another kind is rejected', 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {k: "%"}\n'],
  ])('stays when %s', async (_what, text) => {
    expect(await emptyGroups(text)).toEqual(['spec.groupRef.name']);
  });

  it('follows the same rule for files of a cluster', async () => {
    expect(await emptyGroups('', (path) => examineForCluster([path]))).toEqual(['spec.groupRef.name']);
    expect(await emptyGroups(NO_IMAGE, (path) => examineForCluster([path]))).toEqual([]);
  });
});
