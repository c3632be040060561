import { isConfigKind } from '../../crds/kinds/roles.ts';
import { hasOwnGateway } from './fields/controls.ts';
import type { ObjectProblem } from './problems.ts';
import { references } from './references.ts';
import { reportInto } from './scope.ts';
import { objectsOf, type Snapshot } from './snapshot.ts';

/** Warns about objects that no virtual server uses. The caller keeps only those that are defined in the files. */
export function unusedObjects(snapshot: Snapshot): ObjectProblem[] {
  const found: ObjectProblem[] = [];
  const resources = objectsOf(snapshot);
  const named = new Set(
    resources.flatMap((object) => references(object).map(({ target, name }) => `${target}/${name}`)),
  );
  const texts = new Set(resources.flatMap(({ spec }) => textsOf(spec)));
  const warn = (kind: string, name: string, path: string, message: string): void => {
    reportInto({ kind, namespace: snapshot.namespace, name }, [], found).warning('NotUsed', path, message);
  };
  for (const [name, server] of snapshot.servers) {
    const message = hasOwnGateway(server)
      ? 'the server is in no group, so only a cluster serves it, at its own address: set spec.groupRef.name to use it here'
      : 'the server is in no group, so no virtual server serves it: set spec.groupRef.name';
    if (!server.spec.groupRef) warn('MCPServer', name, 'spec', message);
  }
  const served = new Set([...snapshot.vmcps.values()].map(({ spec }) => spec.groupRef.name));
  for (const name of snapshot.groups.keys()) {
    const message = 'no VirtualMCPServer serves this group: set its spec.groupRef.name, or remove the group';
    if (!served.has(name)) warn('MCPGroup', name, 'metadata.name', message);
  }
  const idle = 'nothing refers to this object: correct the reference to it, or remove it';
  for (const { kind, metadata } of resources.filter((resource) => isConfigKind(resource.kind))) {
    if (!named.has(`${kind}/${metadata.name}`)) warn(kind, metadata.name, 'metadata.name', idle);
  }
  // Free-form fields, such as podTemplateSpec, can name these too.
  for (const name of snapshot.secrets.keys()) if (!texts.has(name)) warn('Secret', name, 'metadata.name', idle);
  for (const name of snapshot.configMaps.keys()) if (!texts.has(name)) warn('ConfigMap', name, 'metadata.name', idle);
  return found;
}

/** Lists the texts in a value, at any depth. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}
