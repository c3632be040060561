import { RESOURCES } from '../../gateway/kube/resource.ts';
import { CLUSTER_PLATFORM, renderVirtualMCPServer, type Rendered } from '../render/index.ts';
import { resolve, type Resolution } from '../resolve/vmcp.ts';
import { virtualMCPServerStatus } from '../status/index.ts';
import { ownerReferenceOf } from '../apply/owned.ts';
import type { KindController, Look } from './kind-controller.ts';

/** The gateway of one virtual server. While anything is wrong with its configuration, what runs goes on as it is. */
export const VIRTUAL_MCP_SERVER: KindController = {
  kind: 'VirtualMCPServer',
  decide: (look) => {
    const { object, snapshot, problems, now } = look;
    const vmcp = snapshot.vmcps.get(object.metadata.name);
    const resolution = vmcp && resolve(vmcp, snapshot, CLUSTER_PLATFORM);
    const rendered = resolution && render(look, resolution);
    const wrong = rendered && 'problems' in rendered ? rendered.problems : [];
    return {
      ...(rendered && 'objects' in rendered && { objects: rendered.objects }),
      workloads: [{ type: RESOURCES.Deployment, name: `vmcp-${object.metadata.name}` }],
      say: (observed) =>
        virtualMCPServerStatus({
          object,
          snapshot,
          refused: problems,
          ...(resolution && { resolution }),
          observed: { ...observed, problems: [...wrong, ...observed.problems] },
          now,
        }),
    };
  },
};

function render({ object, snapshot, render: options }: Look, { config, mounts }: Resolution): Rendered | undefined {
  const vmcp = snapshot.vmcps.get(object.metadata.name);
  return vmcp && config && renderVirtualMCPServer(vmcp, { config, mounts }, ownerReferenceOf(object), options);
}
