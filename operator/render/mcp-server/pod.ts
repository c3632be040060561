import { API_GROUP } from '../../../gateway/contract/api-group.ts';
import type { ObjectProblem } from '../../resolve/problems.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import type { NamedObject } from '../named-object.ts';
import type { RenderOptions } from '../options.ts';
import type { Additions } from '../inherited.ts';
import { podMetadata, type Owned } from '../owned.ts';
import { patchTemplate } from '../pod-template/patch.ts';
import { withRequests } from './container.ts';
import { accountProblems } from '../reserved-account.ts';
import { podDefaults, pullSecrets, RESTRICTED_POD } from '../pod.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

/** Annotation of an MCPServer with an RFC 3339 time. Changing it replaces the pods. */
const RESTART_REQUEST = `mcpserver.${API_GROUP}/restarted-at`;
const RESTARTED = `${API_GROUP}/restarted-at`;

/** Returns the name of the server's ServiceAccount. */
export const serverAccount = ({ metadata: { name }, spec }: MCPServer): string => spec.serviceAccount ?? `${name}-mcp`;

export const serverPullSecrets = ({ spec }: MCPServer, { imagePullSecrets }: RenderOptions) =>
  pullSecrets(spec.resourceOverrides?.proxyDeployment?.imagePullSecrets, imagePullSecrets);

/** Returns the user's labels and annotations for the Deployment or StatefulSet. */
export const workloadAdditions = ({ spec }: MCPServer): Additions => {
  const { labels = {}, annotations = {} } = spec.resourceOverrides?.proxyDeployment ?? {};
  return { labels, annotations };
};

/** Parts of the pod that depend on the transport. */
export interface Parts {
  readonly containers: readonly NamedObject[];
  readonly volumes: readonly JsonObject[];
  readonly members?: JsonObject;
  /** Annotations that the operator sets. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Renders the server's pod template and applies the user's patch. */
export function serverTemplate(
  server: MCPServer,
  owned: Owned,
  options: RenderOptions,
  { containers, volumes, members = {}, annotations = {} }: Parts,
): { readonly template: JsonObject } | { readonly problems: ObjectProblem[] } {
  const restarted = server.metadata.annotations?.[RESTART_REQUEST];
  const ours = { ...annotations, ...(restarted !== undefined && { [RESTARTED]: restarted }) };
  const template = {
    metadata: podMetadata(owned, ours, server.spec.resourceOverrides?.proxyDeployment?.podTemplateMetadataOverrides),
    spec: {
      ...podDefaults(owned, serverPullSecrets(server, options)),
      // With an account of the user the server needs its token.
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
  return problems.length > 0 ? { problems } : { template: withRequests(patched.template) };
}
