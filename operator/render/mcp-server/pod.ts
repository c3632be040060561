import { API_GROUP } from '../../../gateway/contract/api-group.ts';
import type { ObjectProblem } from '../../resolve/problems.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import type { NamedObject } from '../named-object.ts';
import type { RenderOptions } from '../options.ts';
import { metadataOf, type Additions, type Owned } from '../owned.ts';
import { patchTemplate } from '../pod-template/patch.ts';
import { accountProblems } from '../reserved-account.ts';
import { podDefaults, pullSecrets, RESTRICTED_POD } from '../pod.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

/** Annotation of an MCPServer, a time of RFC 3339: pods from before another value are replaced. */
const RESTART_REQUEST = `mcpserver.${API_GROUP}/restarted-at`;
const RESTARTED = `${API_GROUP}/restarted-at`;

/** The name of the server's ServiceAccount. */
export const serverAccount = ({ metadata: { name }, spec }: MCPServer): string => spec.serviceAccount ?? `${name}-mcp`;

export const serverPullSecrets = ({ spec }: MCPServer, { imagePullSecrets }: RenderOptions) =>
  pullSecrets(spec.resourceOverrides?.proxyDeployment?.imagePullSecrets, imagePullSecrets);

/** A user's additions to the Deployment or StatefulSet. */
export const workloadAdditions = ({ spec }: MCPServer): Additions => {
  const { labels = {}, annotations = {} } = spec.resourceOverrides?.proxyDeployment ?? {};
  return { labels, annotations };
};

/** What differs with the transport. */
interface Parts {
  readonly containers: readonly NamedObject[];
  readonly volumes: readonly JsonObject[];
  readonly members?: JsonObject;
  /** Of the operator's own making. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The server's pod, with the user's patch on it. */
export function serverTemplate(
  server: MCPServer,
  owned: Owned,
  options: RenderOptions,
  { containers, volumes, members = {}, annotations = {} }: Parts,
): { readonly template: JsonObject } | { readonly problems: ObjectProblem[] } {
  const restarted = server.metadata.annotations?.[RESTART_REQUEST];
  const ours = { ...annotations, ...(restarted !== undefined && { [RESTARTED]: restarted }) };
  const template = {
    metadata: metadataOf(
      owned.labels,
      ours,
      server.spec.resourceOverrides?.proxyDeployment?.podTemplateMetadataOverrides,
    ),
    spec: {
      ...podDefaults(owned, serverPullSecrets(server, options)),
      // An account that the user names was named because the server needs its token.
      ...(server.spec.serviceAccount === undefined && { automountServiceAccountToken: false }),
      containers,
      securityContext: RESTRICTED_POD,
      serviceAccountName: serverAccount(server),
      ...(volumes.length > 0 && { volumes }),
      ...members,
    },
  };
  const kept = { selector: owned.selector, annotations: ours, containers: containers.map(({ name }) => name) };
  const patched = patchTemplate(template, server.spec.podTemplateSpec, kept, owned.object);
  if ('problems' in patched) return patched;
  const problems = accountProblems(owned, server.spec, template, patched.template, options);
  return problems.length > 0 ? { problems } : patched;
}
