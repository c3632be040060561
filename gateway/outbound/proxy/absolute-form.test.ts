import { Agent, Pool } from 'undici';
import { expect, it } from 'vitest';
import { withProxies } from '../testdata/forward-proxy.ts';
import { onEnd } from '../testdata/servers.ts';
import { inAbsoluteForm } from './absolute-form.ts';

const plain = new URL('http://backend.test:8080/mcp');
const sealed = new URL('https://backend.test/mcp');

function pool(): Pool {
  const created = new Pool(plain.origin);
  onEnd(() => created.destroy());
  return created;
}

it.each([
  ['without proxies', {}, plain],
  ['for https, which has a tunnel', { HTTP_PROXY: 'proxy.corp:3128', HTTPS_PROXY: 'proxy.corp:3128' }, sealed],
  ['with a proxy for https only', { HTTPS_PROXY: 'proxy.corp:3128' }, plain],
  ['for a host in NO_PROXY', { HTTP_PROXY: 'proxy.corp:3128', NO_PROXY: '.test' }, plain],
  ['for loopback', { HTTP_PROXY: 'proxy.corp:3128' }, new URL('http://127.0.0.1:8080')],
])('%s a pool of connections stays as it is: no request does further work', (_, env, origin) => {
  withProxies(env);
  const own = pool();
  expect(inAbsoluteForm(own, origin)).toBe(own);
});

it('a pool for a host behind a proxy, and an agent for any host, get the absolute form', () => {
  withProxies({ HTTP_PROXY: 'proxy.corp:3128' });
  const [own, agent] = [pool(), new Agent()];
  onEnd(() => agent.destroy());
  expect(inAbsoluteForm(own, plain)).not.toBe(own);
  expect(inAbsoluteForm(agent)).not.toBe(agent);
});
