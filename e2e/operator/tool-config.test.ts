import { expect, it } from 'vitest';
import { group, virtualServer } from '../harness/manifests.ts';
import { at, statusOf } from './playground.ts';
import { httpServer, toolConfig } from './resources.ts';
import { sharedOperator } from './shared.ts';

const { playground } = sharedOperator();

it('applies an edited MCPToolConfig wherever it is used, protects it, and keeps the last rules without it', async () => {
  const here = await playground();
  const rules = { toolConfigRef: { name: 'rules' } };
  const entryWith = (ref: object) => ({ config: { aggregation: { tools: [{ workload: 'other', ...ref }] } } });
  await here.create(group(), toolConfig('rules'), httpServer('web', rules), httpServer('other'));
  await here.create(virtualServer({}, { name: 'serving' }), virtualServer({}, { name: 'naming', ...entryWith(rules) }));
  const has = (name: string, key: string, tool: string) =>
    here.appears(
      'ConfigMap',
      name,
      (map) => (at(map, 'data') as Record<string, string>)[key]?.includes(`"${tool}"`) === true,
    );
  await has('serving-vmcp-backends', 'backends.json', 'search');
  await has('naming-vmcp-config', 'config.json', 'search');
  const hashes = async () => [
    statusOf(await here.get('MCPServer', 'web'))['toolConfigHash'],
    statusOf(await here.get('MCPToolConfig', 'rules'))['configHash'],
  ];
  await expect.poll(hashes).toEqual([expect.any(String), expect.any(String)]);
  const [first] = await hashes();
  const before = await here.appears('Deployment', 'vmcp-serving');

  await here.patch('MCPToolConfig', 'rules', { spec: { toolsFilter: ['read'] } });
  await has('serving-vmcp-backends', 'backends.json', 'read');
  await has('naming-vmcp-config', 'config.json', 'read');
  await expect.poll(hashes).not.toContain(first); // the statuses follow the ConfigMaps
  expect(new Set(await hashes()).size).toBe(1);
  expect((await here.get('Deployment', 'vmcp-serving'))?.['spec']).toEqual(before['spec']);

  await here.patch('VirtualMCPServer', 'naming', { spec: entryWith({ toolConfigRef: { name: 'later' } }) });
  const wrong = { type: 'ToolConfigRefValidated', status: 'False', reason: 'ToolConfigRefNotFound' };
  const { message } = await here.becomes('VirtualMCPServer', 'naming', wrong);
  expect(message).toMatch(/spec\.config\.aggregation\.tools\[0\]\.toolConfigRef\.name.*"later".*create it/u);
  await has('naming-vmcp-config', 'config.json', 'read');

  await here.remove('MCPToolConfig', 'rules');
  const blocked = { type: 'DeletionBlocked', status: 'True', reason: 'ReferencedByWorkloads' };
  expect((await here.becomes('MCPToolConfig', 'rules', blocked)).message).toContain('MCPServer/web');
  await here.patch('MCPServer', 'web', { spec: { toolConfigRef: null } });
  await here.disappears('MCPToolConfig', 'rules');
});
