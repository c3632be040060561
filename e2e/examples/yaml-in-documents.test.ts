import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { testScope } from '../harness/scope.ts';
import { root, temporaryFolder, vmcpResult, writeFiles } from '../harness/vmcp.ts';

/** Returns the YAML blocks of a page that hold a resource. */
const resourcesOf = (page: string): string[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^```yaml\n(.*?)^```/gmsu)]
    .map(([, text = '']) => text)
    .filter((text) => /^kind: /mu.test(text));

it('the README adds a server to the folder of vmcp init', async () => {
  const cwd = await temporaryFolder(testScope());
  expect(await vmcpResult(testScope(), ['init', 'my-servers'], { cwd })).toMatchObject({ code: 0 });
  const [files = '', ...others] = resourcesOf('README.md');
  expect(others).toEqual([]);
  expect(files.trim().split('\n')).toHaveLength(10);
  await writeFiles(join(cwd, 'my-servers'), { 'files.yaml': files });
  expect(await vmcpResult(testScope(), ['validate', 'my-servers'], { cwd })).toMatchObject({
    code: 0,
    stdout: 'ok: 1 VirtualMCPServer, 2 backends\n',
  });
});

it('the resources of the concepts page are valid together', async () => {
  const cwd = await temporaryFolder(testScope());
  const resources = resourcesOf('docs/concepts.md').map((text) => `apiVersion: vmcp.dev/v1alpha1\n${text}`);
  await writeFiles(cwd, { 'all.yaml': resources.join('---\n') });
  expect(await vmcpResult(testScope(), ['validate', 'all.yaml'], { cwd })).toMatchObject({
    code: 0,
    stdout: 'ok: 1 VirtualMCPServer, 2 backends\n',
  });
});

it('the examples of the authorization server are valid', async () => {
  const cwd = await temporaryFolder(testScope());
  const secret = {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'delegate-clients' } },
    stringData: { batch: 'a-secret-of-at-least-32-characters' },
  };
  const pages = resourcesOf('docs/authorization-server.md');
  expect(pages).toHaveLength(2);
  for (const page of pages) {
    const files = [
      'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: { name: tools }\nspec: {}\n',
      page.replaceAll(/^kind:/gmu, 'apiVersion: vmcp.dev/v1alpha1\nkind:'),
      JSON.stringify(secret),
    ];
    await writeFiles(cwd, { 'all.yaml': files.join('---\n') });
    const { code, stdout, stderr } = await vmcpResult(testScope(), ['validate', 'all.yaml'], { cwd });
    expect([code, stdout, stderr]).toEqual([
      0,
      'ok: 1 VirtualMCPServer, 0 backends\n',
      expect.not.stringContaining('[EphemeralKeys]'),
    ]);
  }
});
