import { beforeAll, describe, expect, it } from 'vitest';
import { entry, group, virtualServer, yaml, type Manifest } from '../../harness/manifests.ts';
import { blockScope } from '../../harness/scope.ts';
import { temporaryFolder, vmcpResult, writeFiles, type Exit } from '../../harness/vmcp.ts';
import { externalAuth, protectedServer } from './world.ts';

type Fields = Readonly<Record<string, unknown>>;
type Case = readonly [what: string, make: (name: string) => Manifest, expected: RegExp];

const GOOD = { issuer: 'https://issuer.example', audience: 'a' };
const remote = (name: string, spec: Fields = {}): Manifest =>
  entry(name, 'http://127.0.0.1:9/mcp', 'streamable-http', spec);
const anyone = (name: string, incomingAuth: Fields): Manifest => virtualServer({}, { name, incomingAuth });

/** Returns the case of a server with one changed member of the issuer. */
const issuerWith = (member: string, value: string, reason: string): Case => [
  `${member} ${value}`,
  (name) => protectedServer(name, { ...GOOD, [member]: value }),
  new RegExp(`: spec\\.incomingAuth\\.oidcConfig\\.inline\\.${member}: .*\\[${reason}\\]`),
];

/** Row 45: forbidden addresses of an issuer. */
const ADDRESSES: readonly Case[] = [
  issuerWith('issuer', 'https://169.254.169.254', 'ForbiddenAddress'),
  issuerWith('jwksUrl', 'https://169.254.169.254/latest/meta-data', 'ForbiddenAddress'),
  issuerWith('jwksUrl', 'https://[::ffff:169.254.169.254]/jwks', 'ForbiddenAddress'),
  issuerWith('jwksUrl', 'https://2852039166/jwks', 'ForbiddenAddress'),
  issuerWith('jwksUrl', 'https://0xa9.0xfe.0xa9.0xfe/jwks', 'ForbiddenAddress'),
  issuerWith('jwksUrl', 'https://0.0.0.0/jwks', 'ForbiddenAddress'),
  issuerWith('jwksUrl', 'https://[fe80::1]/jwks', 'ForbiddenAddress'),
  issuerWith('jwksUrl', 'https://224.0.0.1/jwks', 'ForbiddenAddress'),
  issuerWith('jwksUrl', 'https://10.0.0.1/jwks', 'PrivateAddress'),
  issuerWith('jwksUrl', 'https://0x0a000001/jwks', 'PrivateAddress'),
  issuerWith('jwksUrl', 'https://012.0.0.1/jwks', 'PrivateAddress'),
  issuerWith('jwksUrl', 'https://100.64.0.1/jwks', 'PrivateAddress'),
  issuerWith('jwksUrl', 'https://[fd00::1]/jwks', 'PrivateAddress'),
  issuerWith('jwksUrl', 'https://[::ffff:10.0.0.1]/jwks', 'PrivateAddress'),
  issuerWith('jwksUrl', 'https://[64:ff9b::10.0.0.1]/jwks', '(Private|Forbidden)Address'),
  issuerWith('jwksUrl', 'https://[2002:a00:1::1]/jwks', '(Private|Forbidden)Address'),
  issuerWith('jwksUrl', 'http://issuer.example/jwks', 'RuleViolated'),
  issuerWith('jwksUrl', 'https://user:password@issuer.example/jwks', '(RuleViolated|InvalidUrl|CredentialsInUrl)'),
  issuerWith('jwksUrl', 'https://issuer.example/jwks#fragment', '(RuleViolated|InvalidUrl|CredentialsInUrl)'),
  issuerWith('jwksUrl', 'file:///etc/passwd', '(RuleViolated|InvalidValue)'),
];

const forwarding = (what: string, headers: Fields): Case => [
  what,
  (name) => remote(name, { headerForward: { addPlaintextHeaders: headers } }),
  /: spec\.headerForward\.addPlaintextHeaders.*\[\w+\]/,
];

/** Row 56: values with a line break. */
const LINE_BREAKS: readonly Case[] = [
  forwarding('in a forwarded header', { 'X-A': 'a\r\nX-Smuggled: yes' }),
  forwarding('in the name of a forwarded header', { 'X-A: b\r\nX-Smuggled': 'yes' }),
  [
    'in the name of an injected header',
    (name) =>
      externalAuth(name, {
        type: 'headerInjection',
        headerInjection: { headerName: 'X-Key\r\nX-Smuggled', valueSecretRef: { name: 'key', key: 'value' } },
      }),
    /: spec\.headerInjection\.headerName.*\[\w+\]/,
  ],
];

/** Row 40: headers that would forward credentials of the client. */
const PASSTHROUGH: readonly Case[] = [
  'Authorization',
  'authorization',
  'Cookie',
  'Proxy-Authorization',
  'DPoP',
  'Mcp-Session-Id',
  'Connection',
].map((header) => [
  `passthroughHeaders ${header}`,
  (name) => protectedServer(name, GOOD, {}, { config: { passthroughHeaders: [header] } }),
  /: spec\.config\.passthroughHeaders.*\[\w+\]/,
]);

/** Settings that would leave a server open, or a backend without its credential. */
const OPEN: readonly Case[] = [
  [
    'anonymous with scopes',
    (name) => anyone(name, { type: 'anonymous', requiredScopes: ['x'] }),
    /: spec\.incomingAuth\.requiredScopes: .*\[\w+\]/,
  ],
  ['oidc without an issuer', (name) => anyone(name, { type: 'oidc' }), /: spec\.incomingAuth: .*\[\w+\]/],
  [
    'oidc without an audience',
    (name) => protectedServer(name, { issuer: GOOD.issuer }),
    /: spec\.incomingAuth\.oidcConfig\.inline.*audience.*\[\w+\]/,
  ],
  [
    'a shared issuer that does not exist',
    (name) => anyone(name, { type: 'oidc', oidcConfigRef: { name: 'nobody' }, audience: 'a' }),
    /: spec\.incomingAuth\.oidcConfigRef.*nobody.*\[\w+\]/,
  ],
  [
    'a client secret that does not exist',
    (name) => protectedServer(name, { ...GOOD, clientId: 'c', clientSecretRef: { name: 'no', key: 'k' } }),
    /: spec\.incomingAuth\.oidcConfig\.inline\.clientSecretRef.*\[\w+\]/,
  ],
  [
    'a backend whose credential does not exist',
    (name) => remote(name, { externalAuthConfigRef: { name: 'nobody' } }),
    /: spec\.externalAuthConfigRef.*nobody.*\[\w+\]/,
  ],
];

const CASES = [...ADDRESSES, ...LINE_BREAKS, ...PASSTHROUGH, ...OPEN];
const nameOf = (found: Case): string => `case-${String(CASES.indexOf(found))}`;

const scope = blockScope();

/** Runs `vmcp validate` on these objects. */
async function validate(...manifests: Manifest[]): Promise<Exit & { output: string }> {
  const folder = await temporaryFolder(scope);
  await writeFiles(folder, { 'all.yaml': yaml(group(), ...manifests) });
  return vmcpResult(scope, ['validate', folder]);
}

describe('rejects a configuration at load', () => {
  let run: Exit & { output: string };
  beforeAll(async () => {
    run = await validate(...CASES.map((each) => each[1](nameOf(each))), protectedServer('gateway', GOOD));
  });

  describe.each([
    ['row 45: an address', ADDRESSES],
    ['row 56: a line break', LINE_BREAKS],
    ['row 40: forwarded credentials of the client', PASSTHROUGH],
    ['nothing fails open', OPEN],
  ])('%s', (_row, cases) => {
    it.each(cases)('%s', (...found) => {
      const lines = run.output
        .split('\n')
        .filter((line) => line.includes(`/${nameOf(CASES.find(([what]) => what === found[0])!)}: `));
      expect(lines.join('\n')).toMatch(found[2]);
      expect(run.code).toBe(2);
    });
  });

  it('but accepts valid objects beside it', async () => {
    expect(run.output).not.toContain('VirtualMCPServer/gateway: ');
    const { code, output } = await validate(remote('one'), protectedServer('gateway', GOOD));
    expect({ code, output }).toMatchObject({ code: 0 });
  });
});
