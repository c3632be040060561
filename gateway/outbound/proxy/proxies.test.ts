import { afterEach, describe, expect, it } from 'vitest';
import { proxyFor, readProxies, setProxies } from './proxies.ts';

afterEach(() => {
  setProxies(undefined);
});

/** Returns the place of the proxy for a URL, or `direct`. */
function routeOf(url: string, env: Readonly<Record<string, string>>): string {
  setProxies(readProxies(env));
  return proxyFor(new URL(url))?.place ?? 'direct';
}

const BOTH = { HTTP_PROXY: 'http://plain.corp:3128', HTTPS_PROXY: 'http://secure.corp:3129' };

describe('the variables', () => {
  it.each([
    ['https://a.test/', BOTH, 'secure.corp:3129'],
    ['http://a.test/', BOTH, 'plain.corp:3128'],
    ['https://a.test/', { HTTP_PROXY: 'http://plain.corp:3128' }, 'direct'],
    ['http://a.test/', { HTTPS_PROXY: 'http://secure.corp:3129' }, 'direct'],
    ['https://a.test/', { https_proxy: 'http://low.corp:1', HTTPS_PROXY: 'http://up.corp:2' }, 'low.corp:1'],
    ['https://a.test/', { https_proxy: '', HTTPS_PROXY: 'http://up.corp:2' }, 'up.corp:2'],
    ['https://a.test/', { https_proxy: '  ' }, 'direct'],
    ['http://a.test/', { http_proxy: 'proxy.corp:8080' }, 'proxy.corp:8080'],
    ['http://a.test/', { http_proxy: 'proxy.corp' }, 'proxy.corp:80'],
    ['https://a.test/', { https_proxy: 'https://proxy.corp/ignored' }, 'proxy.corp:443'],
    ['https://a.test/', { https_proxy: 'http://[2001:db8::1]:3128' }, '[2001:db8::1]:3128'],
    ['https://a.test/', { ...BOTH, NO_PROXY: '.test' }, 'direct'],
    ['https://a.test/', { ...BOTH, no_proxy: '.test', NO_PROXY: '.other' }, 'direct'],
    ['https://A.TEST./', { ...BOTH, NO_PROXY: 'a.test' }, 'direct'],
    ['https://[2001:db8::5]:8443/', { ...BOTH, NO_PROXY: '2001:db8::/32' }, 'direct'],
    ['http://10.1.2.3:8080/', { ...BOTH, NO_PROXY: '192.168.0.0/16' }, 'plain.corp:3128'],
    ['http://10.1.2.3:8080/', { ...BOTH, NO_PROXY: '192.168.0.0/16,10.0.0.0/8' }, 'direct'],
    ['https://a.test:444/', { ...BOTH, NO_PROXY: 'a.test:443' }, 'secure.corp:3129'],
    ['https://a.test/', { ...BOTH, NO_PROXY: 'a.test:443' }, 'direct'],
    ['http://a.test/', { ...BOTH, NO_PROXY: 'a.test:80' }, 'direct'],
  ])('lead %s with %j: %s', (url, env, expected) => {
    expect(routeOf(url, env as Record<string, string>)).toBe(expected);
  });

  it.each([
    ['http://127.0.0.1:4483/mcp'],
    ['http://localhost:4483/mcp'],
    ['http://a.localhost/'],
    ['http://[::1]:4483/'],
    ['http://mcp-jira.tools.svc.cluster.local:8080/mcp'],
    ['http://jira.tools.svc/'],
    ['https://kubernetes.default.svc/openid/v1/jwks'],
    ['https://10.96.0.1/openid/v1/jwks'],
  ])('never lead %s, which is loopback or the cluster, through a proxy', (url) => {
    expect(routeOf(url, { ...BOTH, KUBERNETES_SERVICE_HOST: '10.96.0.1' })).toBe('direct');
  });

  it.each([
    ['http://user:secret@proxy.corp:3128', 'user:secret'],
    ['http://user@proxy.corp:3128', 'user:'],
    ['http://us%40er:p%3Ass%2Fword@proxy.corp:3128', 'us@er:p:ss/word'],
    ['http://user:100%@proxy.corp:3128', 'user:100%'],
    ['user:secret@proxy.corp:3128', 'user:secret'],
  ])('keep the credential of %s out of the name of the proxy', (value, credential) => {
    const { https } = readProxies({ HTTPS_PROXY: value }) ?? {};
    expect(https).toMatchObject({ place: 'proxy.corp:3128', hostname: 'proxy.corp', port: 3128 });
    expect(Buffer.from(https?.authorization?.replace('Basic ', '') ?? '', 'base64').toString()).toBe(credential);
  });

  it.each([
    ['HTTPS_PROXY', 'http://user:secret@'],
    ['HTTPS_PROXY', 'socks5://user:secret@proxy.corp:1080'],
    ['https_proxy', 'http://user:sec/ret@proxy.corp:3128'],
    ['HTTP_PROXY', 'http://proxy.corp:secret'],
    ['http_proxy', 'http://proxy.corp:0'],
    ['HTTP_PROXY', 'ftp://secret.corp'],
    ['HTTP_PROXY', 'http://pro xy.corp:3128/secret'],
  ])('name %s and quote nothing of its value when that is %s', (name, value) => {
    expect(() => readProxies({ [name]: value })).toThrow(
      expect.objectContaining({
        name: 'ProxyUrlError',
        message: expect.stringMatching(
          new RegExp(`^${name} is not the URL of an HTTP proxy: write http://HOST:PORT`, 'u'),
        ),
      }),
    );
    expect(() => readProxies({ [name]: value })).not.toThrow(/secret/u);
  });
});
