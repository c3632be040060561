import { describe, expect, it } from 'vitest';
import type { PermissionProfile } from '../../../contract/container.ts';
import { isObeyed, wideningOf, widenedMembers } from './entry-access.ts';

const outbound = (members: NonNullable<NonNullable<PermissionProfile['network']>['outbound']>): PermissionProfile => ({
  network: { outbound: members },
});
const ALL = outbound({ insecure_allow_all: true });
const NONE: PermissionProfile = { name: 'none' };

describe('row 101: a profile beyond the default', () => {
  it.each<[string, PermissionProfile, string[]]>([
    ['a folder to read', { read: ['/srv/notes'] }, ['read']],
    ['folders to write', { write: ['~/.ssh', '/etc:/mnt'] }, ['write']],
    ['a URI as mount', { read: ['resource://secret'] }, ['read']],
    ['privileges', { privileged: true }, ['privileged']],
    ['the network of the host', { network: { mode: 'host' } }, ['network.mode']],
    ['the network of another container', { network: { mode: 'container:db' } }, ['network.mode']],
    ['all hosts', ALL, ['network.outbound.insecure_allow_all']],
    [
      'all hosts beside some',
      outbound({ allow_host: ['a'], insecure_allow_all: true }),
      ['network.outbound.insecure_allow_all'],
    ],
    [
      'a name that can be rebound',
      { network: { inbound: { allow_host: ['localhost', 'a.example'] } } },
      ['network.inbound.allow_host'],
    ],
    ['every name', { network: { inbound: { allow_host: ['.'] } } }, ['network.inbound.allow_host']],
  ])('has %s', (_what, asked, members) => {
    expect(widenedMembers(asked)).toEqual(members);
  });

  it.each<[string, PermissionProfile]>([
    ['an empty one', {}],
    ['empty lists', { read: [], write: [], privileged: false, network: { inbound: { allow_host: [] } } }],
    ['some hosts and ports', outbound({ allow_host: ['a.example', '.b.example'], allow_port: [443] })],
    ['no network', { network: { mode: 'none' } }],
    ['the default network', { network: { mode: 'bridge' } }],
    ['loopback names', { network: { inbound: { allow_host: ['localhost', '127.0.0.1', '::1'] } } }],
    ['the built-in one without access', NONE],
  ])('is not %s', (_what, asked) => {
    expect(widenedMembers(asked)).toEqual([]);
  });
});

describe('row 103: a profile beyond another one', () => {
  const some = outbound({ allow_host: ['.a.example', 'b.example'], allow_port: [443] });
  const host = ['network.outbound.allow_host'];
  const port = ['network.outbound.allow_port'];

  it.each<[string, PermissionProfile, PermissionProfile, string[]]>([
    ['another host', outbound({ allow_host: ['c.example'], allow_port: [443] }), some, host],
    ['subdomains of a host', outbound({ allow_host: ['.b.example'], allow_port: [443] }), some, host],
    ['a name that only ends alike', outbound({ allow_host: ['xa.example'], allow_port: [443] }), some, host],
    ['another port', outbound({ allow_host: ['b.example'], allow_port: [80] }), some, port],
    ['every port', outbound({ allow_host: ['b.example'] }), some, port],
    ['every host', outbound({ allow_port: [443] }), some, host],
    ['a host, where nothing was allowed', outbound({ allow_host: ['a'] }), NONE, [...host, ...port]],
    ['all hosts', ALL, some, ['network.outbound.insecure_allow_all']],
    [
      'a network, where there was none',
      { network: { mode: 'bridge' } },
      { network: { mode: 'none' } },
      ['network.mode'],
    ],
    ['write access to a readable folder', { write: ['/a'] }, { read: ['/a'] }, ['write']],
    ['another folder', { read: ['/a', '/b'] }, { read: ['/a'] }, ['read']],
  ])('has %s', (_what, asked, given, members) => {
    expect(widenedMembers(asked, given)).toEqual(members);
  });

  it.each<[string, PermissionProfile, PermissionProfile]>([
    ['the same', some, some],
    ['one of its hosts, in other letters', outbound({ allow_host: ['X.A.Example'], allow_port: [443] }), some],
    ['any host, where all are allowed', outbound({ allow_host: ['c.example'] }), ALL],
    [
      'hosts, where every host has the port',
      outbound({ allow_host: ['c'], allow_port: [1] }),
      outbound({ allow_port: [1] }),
    ],
    [
      'ports, where a host has every port',
      outbound({ allow_host: ['c'], allow_port: [1] }),
      outbound({ allow_host: ['c'] }),
    ],
    ['read access to a writable folder', { read: ['/a'] }, { write: ['/a'] }],
    [
      'the same privileges and names',
      { privileged: true, network: { inbound: { allow_host: ['a'] } } },
      { privileged: true, network: { inbound: { allow_host: ['a'] } } },
    ],
    ['nothing', {}, { network: { mode: 'none' } }],
  ])('is not %s', (_what, asked, given) => {
    expect(widenedMembers(asked, given)).toEqual([]);
  });
});

describe('row 102: a variable that decides which code runs, or which servers are trusted', () => {
  it.each([
    ...['LD_PRELOAD', 'LD_AUDIT', 'ld_library_path', 'DYLD_INSERT_LIBRARIES', 'GCONV_PATH', 'GLIBC_TUNABLES'],
    ...['NODE_OPTIONS', 'NODE_PATH', 'NODE_EXTRA_CA_CERTS', 'NODE_TLS_REJECT_UNAUTHORIZED', 'npm_config_registry'],
    ...['PYTHONSTARTUP', 'PYTHONPATH', 'PYTHONHOME', 'PYTHONINSPECT', 'PIP_INDEX_URL', 'UV_INDEX', 'VIRTUAL_ENV'],
    ...['RUBYOPT', 'PERL5OPT', 'PERL5LIB', 'PHPRC', 'LUA_INIT', 'JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS', 'CLASSPATH'],
    ...['DOTNET_STARTUP_HOOKS', 'PATH', 'HOME', 'BASH_ENV', 'BASH_FUNC_ls%%', 'ENV', 'IFS', 'PROMPT_COMMAND', 'EDITOR'],
    ...['GIT_SSH_COMMAND', 'GIT_CONFIG_COUNT', 'SSH_ASKPASS', 'DOCKER_HOST', 'KUBECONFIG', 'XDG_CONFIG_HOME', 'PAGER'],
    ...[
      'HTTPS_PROXY',
      'http_proxy',
      'NO_PROXY',
      'SSL_CERT_FILE',
      'SSLKEYLOGFILE',
      'OPENSSL_CONF',
      'REQUESTS_CA_BUNDLE',
    ],
    ...[
      'AWS_CONFIG_FILE',
      'GOOGLE_APPLICATION_CREDENTIALS',
      'LD_PRELOAD=/a.so:',
      'PUPPETEER_EXECUTABLE_PATH',
      'PSQLRC',
    ],
  ])('can be %s', (name) => {
    expect(isObeyed(name)).toBe(true);
  });

  it.each([
    ...['LEVEL', 'LOG_LEVEL', 'API_KEY', 'GITHUB_HOST', 'TFE_ADDRESS', 'DATABASE_URL', 'NODE_ENV', 'PYTHONUNBUFFERED'],
    ...['OLD_LEVEL', 'CONFIG_PATH', 'WORKSPACE_PATH', 'MODEL', 'TEMPERATURE', 'HOSTNAME', 'REGION', 'AWS_REGION'],
  ])('is not %s', (name) => {
    expect(isObeyed(name)).toBe(false);
  });
});

describe('what a request must repeat', () => {
  it('is the profile and the variables of the entry, beside the variables of the request', () => {
    const profile = { write: ['/a'], network: { outbound: { allow_host: ['a'] } } };
    const taken = { image: 'a', permission_profile: profile, env_vars: { LD_PRELOAD: 'x', LEVEL: 'info' } };
    expect(wideningOf({ env_vars: { OWN: '1' } }, taken)).toEqual({
      paths: ['permission_profile.write', 'env_vars.LD_PRELOAD'],
      settings: { permission_profile: profile, env_vars: { OWN: '1', LD_PRELOAD: 'x' } },
    });
  });

  it('is a login for tokens of another server', () => {
    const url = 'https://mcp.example.com/mcp';
    const login = { issuer: 'https://login.example.com', resource: 'https://bank.example.com/mcp' };
    expect(wideningOf({}, { url, oauth_config: login })).toEqual({
      paths: ['oauth_config.resource'],
      settings: { oauth_config: login },
    });
    expect(wideningOf({}, { url, oauth_config: { ...login, resource: 'https://mcp.example.com' } })).toBeUndefined();
  });

  it('is an audience of another server, in a parameter of the login', () => {
    const url = 'https://mcp.example.com/mcp';
    const oauth_config = { oauth_params: { audience: 'https://bank.example.com', prompt: 'login' } };
    expect(wideningOf({}, { url, oauth_config })?.paths).toEqual(['oauth_config.oauth_params.audience']);
    expect(wideningOf({}, { url, oauth_config: { oauth_params: { prompt: 'login' } } })).toBeUndefined();
  });

  it('is a package in place of the container image that the request names', () => {
    expect(wideningOf({ image: 'redis' }, { image: 'npx://redis' })).toEqual({
      paths: ['image'],
      settings: { image: 'npx://redis' },
    });
    for (const image of ['npx://redis', undefined])
      expect(wideningOf(image === undefined ? {} : { image }, { image: 'npx://redis' })).toBeUndefined();
    expect(wideningOf({ image: 'redis' }, { image: 'ghcr.io/a/redis:1' })).toBeUndefined();
  });

  it('is nothing of an entry that narrows or only describes', () => {
    const { network } = outbound({ allow_host: ['a'] });
    const taken = { image: 'a', permission_profile: { network: network! }, env_vars: { LEVEL: 'info' } };
    const more = { cmd_arguments: ['-v'], target_port: 80, headers: [{ name: 'X-Key' }] };
    expect(wideningOf({}, { ...taken, ...more })).toBeUndefined();
  });
});
