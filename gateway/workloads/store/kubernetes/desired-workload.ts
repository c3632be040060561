import type { Problem } from '../../../contract/problem.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { refusalOf } from './api-failure.ts';
import { splitDescription } from './description.ts';
import { desiredServer, isProblem, readSecretName } from './desired-server.ts';
import { MANAGED_SECRET } from '../../server-run-config.ts';
import type { DesiredWorkload, WorkloadKind, WorkloadObject, EntrySpec } from './workload-object.ts';
import { isHostOfUrl } from '../../definition/problems.ts';
import { commonProblems, invalid, unsupportedMembers, type Member } from './member-problems.ts';

/** Members that an MCPServerEntry has. `target_host` repeats the host of the URL. */
const MEMBERS: readonly Member[] = ['remote_url', 'header_forward', 'target_host'];

/** Converts the run configuration of a remote server to the spec of an MCPServerEntry. */
function desiredEntry(config: RunConfig): { readonly spec: EntrySpec } | { readonly problems: Problem[] } {
  const { remote_url: remoteUrl = '', transport = 'streamable-http', group = '', target_host: host = '' } = config;
  const problems = [...unsupportedMembers(config, MEMBERS, 'a remote server of a cluster'), ...commonProblems(config)];
  if (host !== '' && !isHostOfUrl(remoteUrl, host))
    problems.push(invalid('target_host', 'requests go to the host of the URL: remove it'));
  if (transport !== 'sse' && transport !== 'streamable-http')
    problems.push(invalid('transport', 'a remote server has the transport sse or streamable-http'));
  const headers = headersOf(config, problems);
  if (problems.length > 0 || transport === 'stdio') return { problems };
  return {
    spec: {
      groupRef: { name: group },
      remoteUrl,
      transport: transport as EntrySpec['transport'],
      ...(headers && { headerForward: headers }),
    },
  };
}

function headersOf({ header_forward: forward }: RunConfig, problems: Problem[]): EntrySpec['headerForward'] {
  const { add_plaintext_headers: plain = {}, add_headers_from_secret: secret = {} } = forward ?? {};
  const fromSecrets = Object.entries(secret).flatMap(([headerName, name]) => {
    const valueSecretRef = readSecretName(name, `header_forward.add_headers_from_secret.${headerName}`);
    if (!isProblem(valueSecretRef)) return [{ headerName, valueSecretRef }];
    problems.push(valueSecretRef);
    return [];
  });
  const hasPlain = Object.keys(plain).length > 0;
  if (!hasPlain && fromSecrets.length === 0) return undefined;
  return {
    ...(hasPlain && { addPlaintextHeaders: plain }),
    ...(fromSecrets.length > 0 && { addHeadersFromSecret: fromSecrets }),
  };
}

/** Longest names: those of pods of a StatefulSet, of other pods, and of backends. */
const MAX_STDIO_NAME = 48;
const MAX_SERVER_NAME = 52;
const MAX_ENTRY_NAME = 63;
const LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/u;

export const DEFAULT_GROUP = 'default';

const isRemote = ({ remote_url: url = '' }: RunConfig): boolean => url !== '';

export const kindOf = (config: RunConfig): WorkloadKind => (isRemote(config) ? 'MCPServerEntry' : 'MCPServer');

/** Adds the defaults of members that an imported run configuration lacks. */
export const withDefaults = (config: RunConfig): RunConfig => ({
  ...config,
  transport: config.transport || (isRemote(config) ? 'streamable-http' : 'stdio'),
  group: config.group || DEFAULT_GROUP,
});

/** Throws `invalid_name` for a name that an object of the cluster cannot have. */
export function checkName(config: RunConfig): void {
  const { name = '' } = config;
  const servers = config.transport === 'stdio' ? MAX_STDIO_NAME : MAX_SERVER_NAME;
  const limit = isRemote(config) ? MAX_ENTRY_NAME : servers;
  if (name.length <= limit && LABEL.test(name)) return;
  const message = `in a cluster a name has lower-case letters, digits and "-", at most ${String(limit)}, and starts and ends with a letter or digit`;
  throw new OperationError('invalid_name', message);
}

/**
 * Converts a run configuration to the object of a workload. Throws `invalid_workload` with all problems.
 * @param current object that is changed
 */
export function desiredWorkload(config: RunConfig, current?: WorkloadObject): DesiredWorkload {
  const kind = kindOf(config);
  if (current && current.kind !== kind) {
    const message = 'a workload stays remote or stays a server in the cluster: delete it, and create it again';
    throw refusalOf([{ reason: 'InvalidValue', path: kind === 'MCPServer' ? 'image' : 'url', message }]);
  }
  const { settings, annotations } = splitDescription(config);
  const described = Object.keys(annotations).length > 0 ? { annotations } : {};
  if (kind === 'MCPServerEntry') return { kind, spec: specOf(desiredEntry(settings)), ...described };
  const spec = specOf(desiredServer(settings, current?.kind === 'MCPServer' ? current.spec : undefined));
  return { kind, spec, ...described };
}

function specOf<Spec>(converted: { readonly spec: Spec } | { readonly problems: readonly Problem[] }): Spec {
  if ('spec' in converted) return converted.spec;
  throw refusalOf(converted.problems);
}

/** Lists the keys of the provider's Secret that a workload reads, with the members that name them. */
export function managedKeys(desired: DesiredWorkload): { readonly key: string; readonly path: string }[] {
  const references =
    desired.kind === 'MCPServer'
      ? (desired.spec.secrets ?? []).map((secret, index) => ({ ...secret, path: `secrets[${String(index)}].name` }))
      : (desired.spec.headerForward?.addHeadersFromSecret ?? []).map(({ headerName, valueSecretRef }) => ({
          ...valueSecretRef,
          path: `header_forward.add_headers_from_secret.${headerName}`,
        }));
  return references.filter(({ name }) => name === MANAGED_SECRET).map(({ key, path }) => ({ key, path }));
}
