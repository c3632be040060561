import { type KubeObject, type ResourceType, RESOURCES } from '../../gateway/kube/resource.ts';
import {
  type RenderOptions,
  CLUSTER_PLATFORM,
  renderVirtualMCPServer,
  type Rendered,
  renderMCPServer,
} from '../render/index.ts';
import type { ObjectProblem, ObjectRef } from '../resolve/scope.ts';
import type { Snapshot, MCPServer } from '../resolve/snapshot.ts';
import {
  type ObjectStatus,
  virtualMCPServerStatus,
  mcpServerStatus,
  mcpServerEntryStatus,
  type SharedObjectInput,
  SHARED_STATUSES,
} from '../status/index.ts';
import { resolve, type Resolution } from '../resolve/vmcp.ts';
import { ownerReferenceOf } from '../apply/owned.ts';
import { checkMCPServer, canRun, type ServerCheck } from '../resolve/objects.ts';

/** Input of a controller: one custom resource and its namespace. */
export interface ReconcileInput {
  /** Latest version in the API server, with the status. */
  readonly object: KubeObject;
  readonly snapshot: Snapshot;
  /** Problems of the object itself. An object with problems is not in the snapshot. */
  readonly problems: readonly ObjectProblem[];
  readonly referrers: readonly ObjectRef[];
  /** Objects that block its deletion, as `Kind/name`. Empty unless it is being deleted. */
  readonly blockedBy: readonly string[];
  readonly render: RenderOptions;
  /** True where the API server has HTTPRoutes of the Gateway API. */
  readonly servesRoutes: boolean;
  /** RFC 3339, in whole seconds. */
  readonly now: string;
}

/** Observed state after the objects were applied. */
export interface Observed {
  /** Deployment or StatefulSet of the pods. Absent when it does not exist. */
  readonly workload?: KubeObject;
  /** Pods of a workload that does not become ready. Absent until they have been read. */
  readonly pods?: readonly KubeObject[];
  /** HTTPRoute that leads clients to the pods. Absent when it does not exist. */
  readonly route?: KubeObject;
  /** Reasons why the API server rejected objects. */
  readonly problems: readonly ObjectProblem[];
  /** True when others had changed the number of pods, and the operator has set it back. */
  readonly scaledBack?: boolean;
}

export interface Decision {
  /** Desired objects; all others are deleted. When absent, the existing objects stay unchanged. */
  readonly objects?: readonly KubeObject[];
  /** Names of the workload to read when `objects` has no workload. */
  readonly workloads?: readonly WorkloadName[];
  /** Name of the HTTPRoute to read when `objects` has no route. */
  readonly route?: string;
  /** Returns the status to write. Pure. */
  readonly statusOf: (observed: Observed) => ObjectStatus;
}

export interface WorkloadName {
  readonly type: ResourceType;
  readonly name: string;
}

/** Controller of one kind. `decide` is pure; the reconciler applies its decision. */
export interface KindController {
  readonly kind: string;
  /** True when the status says that the object is being deleted, or what blocks its deletion. */
  readonly reportsDeletion?: boolean;
  readonly decide: (input: ReconcileInput) => Decision;
}

/** Runs the gateway of a virtual server. Existing objects stay unchanged while its configuration has problems. */
const VIRTUAL_MCP_SERVER: KindController = {
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

/** Runs the pods of an MCP server. Existing objects stay unchanged while a problem prevents new pods from running. */
const MCP_SERVER: KindController = {
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

/** Writes the status of an entry: whether gateways can use it. An entry has no objects of its own. */
const MCP_SERVER_ENTRY: KindController = {
  kind: 'MCPServerEntry',
  decide: ({ object, snapshot, problems, now }) => ({
    statusOf: () => mcpServerEntryStatus({ object, snapshot, refused: problems, now }),
  }),
};

/** Returns the controller of a kind that others refer to. It writes whether the object is valid and what blocks its deletion. */
const sharedObject = (kind: string, sharedStatus: (input: SharedObjectInput) => ObjectStatus): KindController => ({
  kind,
  reportsDeletion: true,
  decide: ({ object, snapshot, problems, blockedBy, now }) => ({
    statusOf: () =>
      sharedStatus({
        object,
        snapshot,
        refused: problems,
        deletion: { referencedBy: blockedBy, deleting: blockedBy.length > 0 },
        now,
      }),
  }),
});

/** Controllers of every kind. A kind with a workload adds a line here; a group or config adds one in `SHARED_STATUSES`. */
export const CONTROLLERS: readonly KindController[] = [
  VIRTUAL_MCP_SERVER,
  MCP_SERVER,
  MCP_SERVER_ENTRY,
  ...Object.entries(SHARED_STATUSES).map(([kind, statusOf]) => sharedObject(kind, statusOf)),
];
