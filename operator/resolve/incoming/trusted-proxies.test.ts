import { expect, it } from 'vitest';
import { loadManifests } from '../../source/files/load.ts';
import { resolveAll } from '../resolve-all.ts';

const dir = new URL('../testdata/', import.meta.url).pathname;

/** Resolves the authorization servers of a case for an installation whose virtual servers are behind `trustedProxies`. */
async function resolveBehind(trustedProxies: readonly string[], file = 'auth-server-cluster.in.yaml') {
  const { snapshots } = await loadManifests([dir + file]);
  const platform = { mode: 'cluster', secretsDir: '/s', configMapsDir: '/c', trustedProxies } as const;
  const resolved = resolveAll({ snapshots }, platform);
  const proxies = resolved.servers.flatMap(({ config }) => config?.vmcp.incoming.trusted_proxies ?? []);
  return { proxies: [...new Set(proxies)], isUnset: JSON.stringify(resolved).includes('TrustedProxiesUnset') };
}

it('trusts the proxies of the installation when a virtual server lists none', async () => {
  expect(await resolveBehind([])).toEqual({ proxies: [], isUnset: true });
  expect(await resolveBehind(['10.0.0.0/8'])).toEqual({ proxies: ['10.0.0.0/8'], isUnset: false });
});

it('prefers the list of the virtual server', async () => {
  const { proxies } = await resolveBehind(['192.168.0.0/16'], 'auth-server-more.in.yaml');
  expect(proxies).toEqual(expect.arrayContaining(['10.0.0.0/8', 'fd00::/8']));
});
