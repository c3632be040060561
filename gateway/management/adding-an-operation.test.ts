import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copySources, type SourceCopy } from '../../e2e/harness/source-copy.ts';

const PATH = '/api/v1beta/groups/{name}/repeat';
let copy: SourceCopy;

const LIST = 'export const GROUP_OPERATIONS: readonly ManagementOperation[] = [\n';
/** Operation as a contributor might add it: the entry contains everything about it. */
const ENTRY = `
  operation({
    id: 'repeatGroupName',
    method: 'POST',
    path: \`\${API_BASE}/groups/{name}/repeat\`,
    summary: 'Repeat the name of a group',
    input: { path: GroupPath, body: Type.Object({ times: Type.Integer({ minimum: 1, maximum: 3 }) }) },
    success: { status: 200, body: Type.Object({ text: Type.String() }) },
    errors: { group_not_found: GROUP_NOT_FOUND },
    run: async ({ groups }, { path: { name }, body: { times } }) => {
      requireGroup(await groups.read(), name);
      return { text: name.repeat(times) };
    },
  }),
`;

/** Copies the sources and adds an operation of the management API: an entry in the operations of its resource. */
beforeAll(async () => {
  copy = await copySources(['charts', 'crds', 'gateway']);
  await copy.edit('gateway/management/groups/operations.ts', LIST, LIST + ENTRY);
  expect(await copy.node('crds/generate.ts')).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => copy.remove());

/** Sends POST requests to the API of the copy and returns its answers. */
async function answersOf(requests: readonly (readonly [path: string, body: object])[]): Promise<unknown> {
  const script = `
    import { mkdtempSync, rmSync } from 'node:fs';
    import express from 'express';
    import { listen } from './gateway/listener.ts';
    import { serveOperations } from './gateway/management/frame/serve-operations.ts';
    import { Groups, groupsFile } from './gateway/management/groups/groups.ts';
    import { OPERATIONS } from './gateway/management/operations.ts';
    const ignore = () => undefined;
    const stateDir = mkdtempSync('state-');
    const log = { error: ignore, warn: ignore, info: ignore, debug: ignore };
    const api = serveOperations(OPERATIONS, { groups: new Groups(groupsFile(stateDir)) }, { log, draining: new AbortController().signal });
    const listener = await listen(express().use(api), '127.0.0.1', 0);
    const answers = [];
    for (const [path, body] of ${JSON.stringify(requests)}) {
      const url = 'http://127.0.0.1:' + listener.port + path;
      const reply = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
      answers.push([reply.status, (await reply.text()).trim()]);
    }
    console.log(JSON.stringify(answers));
    await listener.close();
    rmSync(stateDir, { recursive: true });`;
  const { code, stdout, stderr } = await copy.node('--input-type=module', '--eval', script);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

describe('an operation that is one entry in the operations of its resource', () => {
  it('is served, with its input validated and its errors answered', async () => {
    const path = PATH.replace('{name}', 'default');
    expect(
      await answersOf([
        [path, { times: 2 }],
        [path, { times: 4 }],
        [PATH.replace('{name}', 'missing'), { times: 2 }],
      ]),
    ).toEqual([
      [200, '{"text":"defaultdefault"}'],
      [400, expect.stringContaining('times') as string],
      [404, 'there is no group "missing": create it first'],
    ]);
  });

  it('is in the OpenAPI document and in the page of the API', async () => {
    const text = await readFile(join(copy.folder, 'docs', 'reference', 'openapi.json'), 'utf8');
    const { paths } = JSON.parse(text) as { paths: Record<string, object> };
    expect(paths[PATH]).toMatchObject({
      post: { operationId: 'repeatGroupName', tags: ['groups'], responses: { 200: {}, 400: {}, 404: {} } },
    });
    expect(await readFile(join(copy.folder, 'docs', 'api.md'), 'utf8')).toContain(PATH);
  });
});
