import { SCHEMA_VERSION, type RunConfig } from '../../../contract/run-config/run-config.ts';
import { descriptionOf } from './description.ts';
import { secretName, serverRunConfig } from '../../server-run-config.ts';
import type { EntryObject, WorkloadObject } from './workload-object.ts';

/** Returns the run configuration of a workload, for export. It has no secret values. */
export const runConfigOfObject = (object: WorkloadObject): RunConfig => ({
  ...(object.kind === 'MCPServer' ? serverRunConfig(object) : entryRunConfig(object)),
  ...descriptionOf(object.metadata.annotations),
});

function entryRunConfig({ metadata: { name }, spec }: EntryObject): RunConfig {
  const { addPlaintextHeaders: plain = {}, addHeadersFromSecret: secret = [] } = spec.headerForward ?? {};
  const fromSecrets = secret.map(({ headerName, valueSecretRef }) => [headerName, secretName(valueSecretRef)] as const);
  return {
    schema_version: SCHEMA_VERSION,
    name,
    remote_url: spec.remoteUrl,
    transport: spec.transport,
    proxy_mode: spec.transport,
    group: spec.groupRef.name,
    ...((Object.keys(plain).length > 0 || fromSecrets.length > 0) && {
      header_forward: {
        ...(Object.keys(plain).length > 0 && { add_plaintext_headers: { ...plain } }),
        ...(fromSecrets.length > 0 && { add_headers_from_secret: Object.fromEntries(fromSecrets) }),
      },
    }),
  };
}
