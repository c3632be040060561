import type { Backend } from '../../../gateway/contract/gateway-config.ts';
import { classifyHost } from '../../../gateway/outbound/address-class.ts';
import { checkUrl } from '../addresses.ts';
import { bundleFile } from '../config-maps.ts';
import { childPath } from '../fields/field-path.ts';
import { isHeaderValue, isProtocolHeader } from '../../../gateway/contract/reserved-names.ts';
import type { ObjectScope, Report } from '../scope.ts';
import type { MCPServerEntry } from '../snapshot.ts';

/** Resolves an MCPServerEntry, a server that runs elsewhere and is called at its own URL. */
export function resolveEntry(entry: MCPServerEntry, scope: ObjectScope): Backend {
  const report = scope.on(entry);
  const { remoteUrl, transport, insecureAllowHTTP } = entry.spec;
  const allowPrivate = entry.spec.allowPrivateEndpoint === true || entry.spec.allowPrivateIPs === true;
  const url = checkUrl(
    remoteUrl,
    'spec.remoteUrl',
    {
      mode: scope.platform.mode,
      allowPrivate,
      allowHttp: insecureAllowHTTP === true,
      privateFlag: 'spec.allowPrivateEndpoint',
      httpFlag: 'spec.insecureAllowHTTP',
    },
    report,
  );
  const onLoopback = url !== undefined && classifyHost(url.hostname) === 'loopback';
  const bundle = bundleFile(entry.spec.caBundleRef, 'spec.caBundleRef', scope, report);
  const headers = resolveHeaders(entry, scope, report);
  return {
    name: entry.metadata.name,
    transport,
    url: remoteUrl,
    ...((onLoopback || allowPrivate) && { allow_private_ips: true }),
    ...((onLoopback || insecureAllowHTTP === true) && { insecure_allow_http: true }),
    ...(bundle !== undefined && { ca_bundle_file: bundle }),
    ...(headers && { header_forward: headers }),
    ...(entry.spec.hostHeader !== undefined && { host_header: entry.spec.hostHeader }),
  };
}

function resolveHeaders(
  { spec }: MCPServerEntry,
  scope: ObjectScope,
  report: Report,
): Backend['header_forward'] | undefined {
  const plain = Object.entries(spec.headerForward?.addPlaintextHeaders ?? {});
  const secret = spec.headerForward?.addHeadersFromSecret ?? [];
  const path = 'spec.headerForward';
  const seen = new Set<string>();
  for (const [name, value] of plain) {
    const here = childPath(`${path}.addPlaintextHeaders`, name);
    checkHeader(name, here, seen, report);
    if (!isHeaderValue(value)) {
      report.problem(
        'InvalidHeaderValue',
        here,
        'the value contains a line break or another character that a header must not contain: remove it',
      );
    }
  }
  secret.forEach(({ headerName }, index) => {
    checkHeader(headerName, `${path}.addHeadersFromSecret[${String(index)}].headerName`, seen, report);
  });
  if (plain.length + secret.length === 0) return undefined;
  const files = secret.map(
    ({ headerName, valueSecretRef: { name, key } }) => [headerName, scope.mount('Secret', name, key)] as const,
  );
  return {
    ...(plain.length > 0 && { add_plaintext_headers: Object.fromEntries(plain) }),
    ...(files.length > 0 && { add_headers_from_file: Object.fromEntries(files) }),
  };
}

function checkHeader(name: string, path: string, seen: Set<string>, report: Report): void {
  if (isProtocolHeader(name)) {
    report.problem('RestrictedHeader', path, `"${name}" is set by the protocol itself: remove it`);
  } else if (seen.has(name.toLowerCase())) {
    report.problem('DuplicateHeader', path, `"${name}" is set twice: remove one`);
  }
  seen.add(name.toLowerCase());
}
