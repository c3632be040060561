import { describe, expect, it } from 'vitest';
import {
  checkRedirectUri,
  checkRedirectUris,
  matchesRedirectUri,
  redirectTarget,
  checkPattern,
} from './redirect-uri.ts';

const OPEN = { privateUse: true, loopback: true, privateAddresses: false };
const check = (uri: string, rules: Partial<typeof OPEN> = {}) => checkRedirectUri(uri, { ...OPEN, ...rules });

describe('a redirect URI may be registered', () => {
  it.each([
    'https://client.example/callback',
    'https://client.example',
    'https://client.example/',
    'https://client.example:8443/a/b?c=d&e=%2F',
    'https://client.example/?',
    'https://claude.ai/api/mcp/auth_callback',
    'https://xn--bcher-kva.example/cb',
    'https://8.8.8.8/cb',
    'https://localhost/cb',
    'http://127.0.0.1/cb',
    'http://127.0.0.1:33418/cb',
    'http://127.1.2.3/cb',
    'http://[::1]:7777/oauth/callback',
    'http://localhost:6274/oauth/callback/debug',
    'http://localhost',
    'cursor://anysphere.cursor-retrieval/oauth/user-agnostic/callback',
    'vscode://vscode.github-authentication/did-authenticate',
    'com.example.app:/oauth2redirect',
    'myapp:///done',
    `https://client.example/${'a'.repeat(2048 - 'https://client.example/'.length)}`,
  ])('%s', (uri) => {
    expect(check(uri)).toBeUndefined();
  });
});

describe('a redirect URI is rejected at registration', () => {
  it.each([
    ['', 'characters'],
    [`https://client.example/${'a'.repeat(2048)}`, '2048'],
    ['/callback', 'absolute'],
    ['callback', 'absolute'],
    ['https://', 'absolute'],
    ['https://client.example/cb#', 'fragment'],
    ['https://client.example/cb#a', 'fragment'],
    ['https://*.client.example/cb', 'wildcard'],
    ['https://client.example/*', 'wildcard'],
    ['https://user@client.example/cb', 'user name'],
    ['https://user:pass@client.example/cb', 'user name'],
    ['https://@client.example/cb', 'user name'],
    ['https://client.example@evil.example/cb', 'user name'],
    ['cursor://user@host/cb', 'user name'],
    ['https://client.example\\@evil.example/cb', 'characters'],
    ['https:\\\\client.example\\cb', 'characters'],
    ['https://client.example/c b', 'characters'],
    ['https://client.example/cb\t', 'characters'],
    ['https://client\t.example/cb', 'characters'],
    ['\nhttps://client.example/cb', 'characters'],
    ['https://client.example/\u0000', 'characters'],
    ['https://client.example/%0d%0aSet-Cookie:a', 'characters'],
    ['https://client.example/%zz', 'characters'],
    ['https://client.example/%', 'characters'],
    ['https://bücher.example/cb', 'characters'],
    ['https://client.example/ü', 'characters'],
    ['https://client.example/"><script>', 'characters'],
    ['https://client%2fexample/cb', 'absolute'],
    ['cursor://client%2f.example/cb', 'encoded'],
    ['https://client%2eexample/cb', 'encoded'],
    ['https://client.example/a/../cb', 'normal form'],
    ['https://client.example/a/./cb', 'normal form'],
    ['https://client.example/%2e%2e/cb', 'normal form'],
    ['https://client.example/.%2E/cb', 'normal form'],
    ['https://CLIENT.example/cb', 'normal form'],
    ['HTTPS://client.example/cb', 'normal form'],
    ['https://client.example:443/cb', 'normal form'],
    ['https://client.example:0443/cb', 'normal form'],
    ['https:client.example/cb', 'normal form'],
    ['https:///client.example/cb', 'normal form'],
    ['https://client.example?a', 'normal form'],
    ['http://127.1/cb', 'normal form'],
    ['http://2130706433/cb', 'normal form'],
    ['http://0177.0.0.1/cb', 'normal form'],
    ['http://0x7f000001/cb', 'normal form'],
    ['http://[0:0:0:0:0:0:0:1]/cb', 'normal form'],
    ['http://client.example/cb', 'https'],
    ['http://127.0.0.1.evil.com/cb', 'https'],
    ['http://localhost.evil.com/cb', 'https'],
    ['http://[::ffff:7f00:1]/cb', 'https'],
    ['http://evil.localhost/cb', 'https'],
    ['http://localhost./cb', 'https'],
    ['http://0.0.0.0/cb', 'https'],
    ['http://[::]/cb', 'https'],
    ['http://10.0.0.1/cb', 'https'],
    ['https://10.0.0.1/cb', 'private network'],
    ['https://192.168.1.1:8443/cb', 'private network'],
    ['https://169.254.169.254/cb', 'private network'],
    ['https://[fd00::1]/cb', 'private network'],
    ['https://[::ffff:7f00:1]/cb', 'private network'],
    ['https://0.0.0.0/cb', 'private network'],
  ])('%j: %s', (uri, why) => {
    expect(check(uri)).toContain(why);
  });

  it.each([
    'javascript:alert(1)',
    'javascript://client.example/%20alert(1)',
    'data:text/html,hi',
    'data://client.example/',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://client.example/1',
    'about:blank',
    'ftp://client.example/',
    'ws://client.example/',
    'wss://client.example/',
    'mailto:a@client.example',
    'intent://scan/',
    'view-source:https://client.example/',
    'chrome://settings/',
    'chrome-extension://abc/cb',
    'ms-settings://x/',
    'ms-msdt:/id',
    'search-ms:/query',
    'filesystem:https://client.example/',
    'urn:ietf:wg:oauth:2.0:oob',
    'JavaScript:alert(1)',
  ])('%s: for its scheme', (uri) => {
    expect(check(uri)).toBeDefined();
  });

  it('for a private-use scheme without a slash after it, since no parameters can be appended', () => {
    expect(check('myapp:done')).toContain('slash');
    expect(check('mydata:text/html,hi')).toContain('slash');
  });

  it('for private-use schemes and loopback hosts when the client may not have them', () => {
    expect(check('cursor://host/cb', { privateUse: false })).toContain('https');
    expect(check('http://localhost/cb', { loopback: false })).toContain('loopback host');
    expect(check('https://127.0.0.1/cb', { loopback: false })).toContain('loopback host');
  });

  it('for a link-local address, but not for a private address with the development flag', () => {
    expect(check('https://10.0.0.1/cb', { privateAddresses: true })).toBeUndefined();
    expect(check('https://169.254.169.254/cb', { privateAddresses: true })).toContain('private network');
    expect(check('http://10.0.0.1/cb', { privateAddresses: true })).toContain('https');
  });

  it('with its index in the list, as is a list with too few or too many entries', () => {
    const good = 'https://client.example/';
    expect(checkRedirectUris([good, 'x', 7], OPEN)).toEqual([
      'redirect_uris[1] must be an absolute URI',
      'redirect_uris[2] must be a string',
    ]);
    expect(checkRedirectUris([], OPEN)).toEqual(['redirect_uris must have 1 to 10 entries']);
    expect(checkRedirectUris(Array<string>(10).fill(good), OPEN)).toEqual([]);
    expect(checkRedirectUris(Array<string>(11).fill(good), OPEN)).toHaveLength(1);
  });
});

describe('a requested redirect URI', () => {
  const REGISTERED = 'https://client.example/cb?x=%2F';

  it('matches an identical text', () => {
    expect(matchesRedirectUri(['https://other.example/', REGISTERED], REGISTERED)).toBe(true);
    expect(matchesRedirectUri([], REGISTERED)).toBe(false);
  });

  it.each([
    `${REGISTERED}/`,
    `${REGISTERED}&y=1`,
    `${REGISTERED}#`,
    `${REGISTERED}#f`,
    'https://client.example/cb',
    'https://client.example/cb?x=/',
    'https://client.example/cb?x=%2f',
    'https://client.example/c',
    'https://client.example:8443/cb?x=%2F',
    'https://client.example:443/cb?x=%2F',
    'https://a.client.example/cb?x=%2F',
    'https://client.example.evil.example/cb?x=%2F',
    'https://user@client.example/cb?x=%2F',
    'https://client.example@evil.example/cb?x=%2F',
    'https://client.example\\cb?x=%2F',
    'https://client.example/%2f../cb?x=%2F',
    'https://client.example/cb?x=%2F\t',
    'https://CLIENT.example/cb?x=%2F',
    'Https://client.example/cb?x=%2F',
    'http://client.example/cb?x=%2F',
    '',
  ])('%j does not match', (requested) => {
    expect(matchesRedirectUri([REGISTERED], requested)).toBe(false);
  });

  it.each([
    ['http://127.0.0.1/cb', 'http://127.0.0.1:50001/cb'],
    ['http://127.0.0.1:8080/cb', 'http://127.0.0.1:50001/cb'],
    ['http://127.0.0.1:8080/cb', 'http://127.0.0.1/cb'],
    ['http://127.0.0.1:0/cb', 'http://127.0.0.1:50001/cb'],
    ['http://127.9.9.9/cb', 'http://127.9.9.9:1/cb'],
    ['http://[::1]/cb', 'http://[::1]:65535/cb'],
    ['http://localhost/cb', 'http://localhost:3000/cb'],
    ['http://localhost:3118/callback', 'http://localhost:51000/callback'],
    ['http://localhost', 'http://localhost:3000'],
    ['http://localhost/cb?', 'http://localhost:3000/cb?'],
    ['http://localhost/cb?a=b', 'http://localhost:3000/cb?a=b'],
  ])('%s matches %s: the port of a loopback host may differ', (registered, requested) => {
    expect(matchesRedirectUri([registered], requested)).toBe(true);
  });

  it.each([
    ['http://127.0.0.1/cb', 'http://127.0.0.1:50001/other'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:50001/cb/'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:50001/cb?'],
    ['http://127.0.0.1/cb?', 'http://127.0.0.1:50001/cb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:50001/cb?a=b'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:50001/cb#f'],
    ['http://127.0.0.1/a%2Fb', 'http://127.0.0.1:1/a%2fb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:50001/CB'],
    ['http://127.0.0.1', 'http://127.0.0.1:50001/'],
    ['http://127.0.0.1/cb', 'http://localhost:50001/cb'],
    ['http://localhost/cb', 'http://127.0.0.1:50001/cb'],
    ['http://localhost/cb', 'http://[::1]:50001/cb'],
    ['http://localhost/cb', 'http://LOCALHOST:50001/cb'],
    ['http://localhost/cb', 'http://localhost.:50001/cb'],
    ['http://localhost/cb', 'http://localhost.evil.com:50001/cb'],
    ['http://localhost/cb', 'http://localhost:50001@evil.com/cb'],
    ['http://localhost/cb', 'http://user@localhost:50001/cb'],
    ['http://localhost/cb', 'http://localhost:50001\\@evil.com/cb'],
    ['http://localhost/cb', 'http://localhost:/cb'],
    ['http://localhost/cb', 'http://localhost:0/cb'],
    ['http://localhost/cb', 'http://localhost:080/cb'],
    ['http://localhost/cb', 'http://localhost:65536/cb'],
    ['http://localhost/cb', 'http://localhost:1:2/cb'],
    ['http://localhost/cb', 'http://localhost:50001/cb\n'],
    ['http://localhost/cb', 'https://localhost:50001/cb'],
    ['https://localhost/cb', 'https://localhost:50001/cb'],
    ['https://127.0.0.1/cb', 'http://127.0.0.1/cb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.2:50001/cb'],
    ['cursor://host/cb', 'cursor://host:1/cb'],
  ])('%s does not match %j', (registered, requested) => {
    expect(matchesRedirectUri([registered], requested)).toBe(false);
  });
});

it('returns the target of a redirect URI', () => {
  expect(redirectTarget('https://client.example:8443/cb')).toEqual({ kind: 'https', shown: 'client.example:8443' });
  expect(redirectTarget('http://localhost:3000/cb')).toEqual({ kind: 'loopback', shown: 'localhost:3000' });
  expect(redirectTarget('http://[::1]:3000/cb')).toEqual({ kind: 'loopback', shown: '[::1]:3000' });
  expect(redirectTarget('https://localhost/cb')).toEqual({ kind: 'loopback', shown: 'localhost' });
  expect(redirectTarget('cursor://anysphere/cb')).toEqual({ kind: 'private-use', shown: 'cursor:' });
});

describe('a pattern for redirect URIs', () => {
  it.each([
    ['http://127.0.0.1/callback/*', 'http://127.0.0.1:1455/callback/3f9a'],
    ['http://localhost:1/callback/*', 'http://localhost:52011/callback/x'],
    ['http://[::1]/*/callback', 'http://[::1]:9/a-b_c/callback'],
    ['http://127.0.0.1/auth/server-*/callback', 'http://127.0.0.1:9/auth/server-7/callback'],
    ['http://127.0.0.1/*/*', 'http://127.0.0.1:9/a/b'],
  ])('%s matches %s', (pattern, requested) => {
    expect(checkPattern(pattern)).toBeUndefined();
    expect(matchesRedirectUri([pattern], requested)).toBe(true);
  });

  it.each([
    'http://localhost:1455/callback/3f9a',
    'http://127.0.0.1:1455/callback/',
    'http://127.0.0.1:1455/callback',
    'http://127.0.0.1:1455/callback/a/b',
    'http://127.0.0.1:1455/callback/..',
    'http://127.0.0.1:1455/callback/%2e%2e',
    'http://127.0.0.1:1455/callback/a%2Fb',
    'http://127.0.0.1:1455/callback/a?x=1',
    'http://127.0.0.1:1455/callback/a#x',
    'http://127.0.0.1:1455/callback/*',
    'http://127.0.0.1:0/callback/a',
    'http://127.0.0.1:99999/callback/a',
    'http://127.0.0.1.evil.example/callback/a',
    'http://user@127.0.0.1/callback/a',
    'https://127.0.0.1/callback/a',
    'https://evil.example/callback/a',
  ])('does not match %s', (requested) => {
    expect(matchesRedirectUri(['http://127.0.0.1/callback/*'], requested)).toBe(false);
  });

  it.each([
    'https://client.example/*',
    'https://*.example/callback',
    'http://*/callback',
    'http://127.0.0.1*/callback',
    'http://127.0.0.1:*/callback',
    'http://127.0.0.1/callback?x=*',
    'cursor://app/*',
    'javascript:*',
    'http://127.0.0.1/../*',
  ])('%s is not allowed', (pattern) => {
    expect(checkPattern(pattern)).toBeDefined();
    expect(matchesRedirectUri([pattern], pattern.replaceAll('*', 'x'))).toBe(false);
  });
});
