import type { EmbeddedAuthServerConfig } from '../../../gateway/contract/run-config/auth-server.ts';
import { storeFacts } from '../../../gateway/authserver/storage/index.ts';
import { reportUnshared } from '../replicas.ts';
import type { Report, Scope } from '../scope.ts';
import { AUTH_SERVER_PATH, type AuthServerSpec } from './spec.ts';

type Keys = Pick<EmbeddedAuthServerConfig, 'signing_key_config' | 'hmac_secret_files'>;
type Refs = NonNullable<AuthServerSpec['signingKeySecretRefs']>;

const MEMBERS = ['signingKeySecretRefs', 'hmacSecretRefs'] as const;

/**
 * Resolves the signing keys and secrets. Reports missing ones in a cluster, where each pod generates them at every start; local
 * mode keeps generated ones in its state folder.
 */
export function resolveKeys(server: AuthServerSpec, scope: Scope): Keys {
  const { signingKeySecretRefs: signing = [], hmacSecretRefs: secrets = [] } = server;
  const report = scope.on(scope.vmcp);
  for (const member of MEMBERS) checkRepeated(server[member] ?? [], `${AUTH_SERVER_PATH}.${member}`, report);
  for (const { name, key } of signing) scope.mount('Secret', name, key);
  const [first, ...others] = signing.map(({ name, key }) => `${name}/${key}`);
  const ephemeral = MEMBERS.filter((member) => (server[member] ?? []).length === 0);
  if (scope.platform.mode === 'cluster') checkEphemeral(ephemeral, server, scope);
  return {
    ...(first !== undefined && {
      signing_key_config: {
        key_dir: scope.platform.secretsDir,
        signing_key_file: first,
        ...(others.length > 0 && { fallback_key_files: others }),
      },
    }),
    ...(secrets.length > 0 && { hmac_secret_files: secrets.map(({ name, key }) => scope.mount('Secret', name, key)) }),
  };
}

function checkRepeated(refs: Refs, path: string, report: Report): void {
  const names = refs.map(({ name, key }) => `${name}/${key}`);
  names.forEach((name, index) => {
    if (names.indexOf(name) === index) return;
    report.problem('InvalidValue', `${path}[${String(index)}]`, 'this key is listed above: remove it');
  });
}

const LOST = {
  signingKeySecretRefs: 'access tokens',
  hmacSecretRefs: 'codes, refresh tokens and stored logins',
} as const satisfies Readonly<Record<(typeof MEMBERS)[number], string>>;

function checkEphemeral(members: readonly (typeof MEMBERS)[number][], server: AuthServerSpec, scope: Scope): void {
  const [first, second] = members;
  if (first === undefined) return;
  const report = scope.on(scope.vmcp);
  const lost = members.map((member) => LOST[member]).join(', ');
  const kept = storeFacts(server.storage?.type).survivesRestart ? ', although the store keeps them' : '';
  const advice = `list keys in ${members.join(' and ')}`;
  const path = second === undefined ? `${AUTH_SERVER_PATH}.${first}` : AUTH_SERVER_PATH;
  report.warning('EphemeralKeys', path, `a restart invalidates all ${lost}${kept}: ${advice}`);
  if (server.allowEphemeralKeys === true) return;
  const consequence = (replicas: number): string =>
    `each of the ${String(replicas)} pods would generate its own keys and reject the tokens of the others`;
  reportUnshared({ consequence, advice }, scope);
}
