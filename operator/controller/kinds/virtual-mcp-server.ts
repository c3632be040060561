import { RESOURCES } from '../../../gateway/kube/resource.ts';
import { CLUSTER_PLATFORM, renderVirtualMCPServer, type Rendered } from '../../render/index.ts';
import { resolve, type Resolution } from '../../resolve/vmcp.ts';
import { virtualMCPServerStatus } from '../../status/index.ts';
import { ownerReferenceOf } from '../../apply/owned.ts';
import type { KindController, ReconcileInput } from './kind-controller.ts';

/** Runs the gateway of a virtual server. Existing objects stay unchanged while its configuration has problems. */
export const VIRTUAL_MCP_SERVER: KindController = {
  kind: 'VirtualMCPServer',
  decide: (input) => {
    const { object, snapshot, problems, now, servesRoutes } = input;
    const { trustedProxies = [] } = input.render;
    const vmcp = snapshot.vmcps.get(object.metadata.name);
    const resolution = vmcp && resolve(vmcp, snapshot, { ...CLUSTER_PLATFORM, trustedProxies });
    const rendered = resolution && renderGateway(input, resolution);
    const renderProblems = rendered && 'problems' in rendered ? rendered.problems : [];
    return {
      ...(rendered && 'objects' in rendered && { objects: rendered.objects }),
      workloads: [{ type: RESOURCES.Deployment, name: `vmcp-${object.metadata.name}` }],
      ...(vmcp?.spec.route && { route: `vmcp-${object.metadata.name}` }),
      statusOf: (observed) =>
        virtualMCPServerStatus({
          object,
          snapshot,
          refused: problems,
          ...(resolution && { resolution }),
          servesRoutes,
          observed: { ...observed, problems: [...renderProblems, ...observed.problems] },
          now,
        }),
    };
  },
};

/** Renders the objects of a virtual server; undefined while its configuration has problems. */
export function renderGateway(
  {
    object,
    snapshot,
    render: settings,
    servesRoutes,
  }: Pick<ReconcileInput, 'object' | 'snapshot' | 'render' | 'servesRoutes'>,
  { config, mounts, onePod }: Resolution,
): Rendered | undefined {
  const vmcp = snapshot.vmcps.get(object.metadata.name);
  const options = { ...settings, httpRoutes: servesRoutes };
  return vmcp && config && renderVirtualMCPServer(vmcp, { config, mounts, onePod }, ownerReferenceOf(object), options);
}
