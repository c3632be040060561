import { RESOURCES } from '../../../gateway/kube/resource.ts';
import { CLUSTER_PLATFORM, renderMCPServer, type Rendered } from '../../render/index.ts';
import { checkMCPServer, canRun } from '../../resolve/objects.ts';
import { mcpServerStatus } from '../../status/index.ts';
import { ownerReferenceOf } from '../../apply/owned.ts';
import type { KindController, ReconcileInput } from './kind-controller.ts';

/** Runs the pods of an MCP server. Existing objects stay unchanged while a problem prevents new pods from running. */
export const MCP_SERVER: KindController = {
  kind: 'MCPServer',
  decide: (input) => {
    const { object, snapshot, problems, now } = input;
    const rendered = render(input);
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
          observed: { ...observed, problems: [...renderProblems, ...observed.problems] },
          now,
        }),
    };
  },
};

function render({ object, snapshot, render: options }: ReconcileInput): Rendered | undefined {
  const server = snapshot.servers.get(object.metadata.name);
  if (!server || !canRun(server, checkMCPServer(server, snapshot, CLUSTER_PLATFORM))) return undefined;
  return renderMCPServer(server, ownerReferenceOf(object), options);
}
