import type { KubeManifest } from '../../harness/control-plane/api.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns the five custom resources of one gateway over two servers with a credential. */
export function unitOf(index: number, namespace: string): KubeManifest[] {
  const name = `unit-${String(index)}`;
  const groupRef = { name };
  const resource = (kind: string, spec: Fields): KubeManifest => ({
    apiVersion: 'vmcp.dev/v1alpha1',
    kind,
    metadata: { name: kind === 'MCPServerEntry' ? `${name}-remote` : name, namespace },
    spec,
  });
  return [
    resource('MCPGroup', { description: `Servers of ${name}.` }),
    resource('MCPExternalAuthConfig', { type: 'unauthenticated' }),
    resource('MCPServer', {
      groupRef,
      image: 'registry.example.com/server:1',
      transport: 'streamable-http',
      env: [{ name: 'LEVEL', value: 'info' }],
    }),
    resource('MCPServerEntry', {
      groupRef,
      remoteUrl: `https://${name}.example.com/mcp`,
      transport: 'streamable-http',
      externalAuthConfigRef: { name },
    }),
    resource('VirtualMCPServer', {
      groupRef,
      incomingAuth: { type: 'anonymous' },
      config: { aggregation: { conflictResolution: 'prefix' } },
    }),
  ];
}
