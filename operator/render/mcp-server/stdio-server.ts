import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import { stdioPod } from '../../resolve/own-gateway/pod-backend.ts';
import type { ObjectProblem } from '../../resolve/problems.ts';
import { replicasOf } from '../../resolve/replicas.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import { GRACE_S } from '../gateway/container.ts';
import { bridgeDocument } from '../gateway/documents.ts';
import { serverContainer, serverVolumes } from './container.ts';
import { serverAccount, serverTemplate, workloadAdditions } from './pod.ts';
import { sidecar, STOP_SLEEP_S, volumeProblems, type Sidecar } from './sidecar.ts';
import type { RenderOptions } from '../options.ts';
import { ownedObject, type Owned } from '../owned.ts';
import { sleepBeforeStop } from '../pod.ts';
import { attachRules, roleFor } from '../objects/rbac.ts';
import type { ResolvedConfig } from '../resolved-config.ts';

/** Renders a stdio server as a StatefulSet of its image and a gateway container that attaches to it. */
export function stdioWorkload(
  server: MCPServer,
  owned: Owned,
  options: RenderOptions,
  { name, gateway }: { readonly name: string; readonly gateway?: ResolvedConfig | undefined },
): { readonly objects: KubeObject[] } | { readonly problems: ObjectProblem[] } {
  const problems = volumeProblems(server, owned);
  const document = gateway?.config ?? bridgeDocument(server, owned.object.namespace);
  const beside = sidecar(owned, options, name, { document, mounts: gateway?.mounts ?? [] });
  const patched = podTemplate(server, owned, options, beside);
  if ('problems' in patched) return { problems: [...problems, ...patched.problems] };
  if (problems.length > 0) return { problems };
  const spec = {
    // The default policy would let a pod that never became ready block its replacement.
    podManagementPolicy: 'Parallel',
    // A second pod would be a separate server with its own state.
    replicas: Math.min(1, replicasOf(server.spec) ?? 1),
    selector: { matchLabels: owned.selector },
    serviceName: name,
    template: patched.template,
  };
  return {
    objects: [
      beside.configMap,
      ...roleFor(owned, `${server.metadata.name}-mcp`, serverAccount(server), attachRules(stdioPod(server))),
      ownedObject(owned, RESOURCES.StatefulSet, name, { spec }, workloadAdditions(server)),
    ],
  };
}

function podTemplate(server: MCPServer, owned: Owned, options: RenderOptions, gateway: Sidecar) {
  const { spec } = server;
  const container = {
    ...serverContainer(spec),
    lifecycle: sleepBeforeStop(STOP_SLEEP_S),
    stdin: true,
    // The end of the stream ends the server; the next one starts with a new stream.
    stdinOnce: true,
  };
  return serverTemplate(server, owned, options, {
    containers: [container, gateway.container],
    volumes: [...serverVolumes(spec), ...gateway.volumes],
    // The account can attach to pods: only the gateway gets its token, not the server.
    members: { automountServiceAccountToken: false, terminationGracePeriodSeconds: GRACE_S },
    annotations: gateway.annotations,
  });
}
