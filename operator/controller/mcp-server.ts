import { RESOURCES } from '../../gateway/kube/resource.ts';
import { CLUSTER_PLATFORM, renderMCPServer, type Rendered } from '../render/index.ts';
import { checkMCPServer, canRun } from '../resolve/objects.ts';
import { mcpServerStatus } from '../status/index.ts';
import { ownerReferenceOf } from '../apply/owned.ts';
import type { KindController, Look } from './kind-controller.ts';

/** Pods of one MCP server and what they need. While anything is wrong that keeps new ones from running, the old go on. */
export const MCP_SERVER: KindController = {
  kind: 'MCPServer',
  decide: (look) => {
    const { object, snapshot, problems, now } = look;
    const rendered = render(look);
    const wrong = rendered && 'problems' in rendered ? rendered.problems : [];
    const name = `mcp-${object.metadata.name}`;
    return {
      ...(rendered && 'objects' in rendered && { objects: rendered.objects }),
      workloads: [
        { type: RESOURCES.Deployment, name },
        { type: RESOURCES.StatefulSet, name },
      ],
      say: (observed) =>
        mcpServerStatus({
          object,
          snapshot,
          refused: problems,
          observed: { ...observed, problems: [...wrong, ...observed.problems] },
          now,
        }),
    };
  },
};

function render({ object, snapshot, render: options }: Look): Rendered | undefined {
  const server = snapshot.servers.get(object.metadata.name);
  if (!server || !canRun(server, checkMCPServer(server, snapshot, CLUSTER_PLATFORM))) return undefined;
  return renderMCPServer(server, ownerReferenceOf(object), options);
}
