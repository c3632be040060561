import type { Problem } from '../../../contract/problem.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { isHostOfUrl } from '../../definition/url-problems.ts';
import { commonProblems, invalid, unsupportedMembers, type Member } from './member-problems.ts';
import { isProblem, readSecretName } from './secret-keys.ts';
import type { EntrySpec } from './workload-object.ts';

/** Members that an MCPServerEntry has. `target_host` repeats the host of the URL. */
const MEMBERS: readonly Member[] = ['remote_url', 'header_forward', 'target_host'];

/** Converts the run configuration of a remote server to the spec of an MCPServerEntry. */
export function desiredEntry(config: RunConfig): { readonly spec: EntrySpec } | { readonly problems: Problem[] } {
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
