import { RESOURCES } from '../../../gateway/kube/resource.ts';
import { CLUSTER_PLATFORM, renderMCPServer, type Rendered } from '../../render/index.ts';
import { checkMCPServer, canRun, type ServerCheck } from '../../resolve/objects.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import { mcpServerStatus } from '../../status/index.ts';
import { ownerReferenceOf } from '../../apply/owned.ts';
import type { KindController, ReconcileInput } from './kind-controller.ts';

/** Runs the pods of an MCP server. Existing objects stay unchanged while a problem prevents new pods from running. */
export const MCP_SERVER: KindController = {
  kind: 'MCPServer',
  reportsDeletion: true,
  decide: (input) => {
    const { object, snapshot, problems, now } = input;
    const server = snapshot.servers.get(object.metadata.name);
    const platform = { ...CLUSTER_PLATFORM, trustedProxies: input.render.trustedProxies ?? [] };
    const check = server && checkMCPServer(server, snapshot, platform);
    const rendered = server && check && renderServer(server, check, input);
    const renderProblems = rendered && 'problems' in rendered ? rendered.problems : [];
    const name = `mcp-${object.metadata.name}`;
    return {
      ...(rendered && 'objects' in rendered && { objects: rendered.objects }),
      workloads: [
        { type: RESOURCES.Deployment, name },
        { type: RESOURCES.StatefulSet, name },
      ],
      statusOf: (observed) =>
        mcpServerStatus({
          object,
          snapshot,
          refused: problems,
          ...(check && { check }),
          observed: { ...observed, problems: [...renderProblems, ...observed.problems] },
          now,
        }),
    };
  },
};

/** Renders the objects of a server; undefined while a problem prevents its pods from running. */
export function renderServer(
  server: MCPServer,
  check: ServerCheck,
  { object, render: options }: Pick<ReconcileInput, 'object' | 'render'>,
): Rendered | undefined {
  if (!canRun(server, check)) return undefined;
  const { config, mounts = [], onePod } = check.gateway ?? {};
  return renderMCPServer(server, ownerReferenceOf(object), options, config && { config, mounts, onePod });
}
