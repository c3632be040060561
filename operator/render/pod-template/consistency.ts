import { metadataFaults } from '../../../crds/kinds/schema/metadata-syntax.ts';
import type { Steps } from '../../../crds/kinds/schema/object-path.ts';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { quantityText, type TemplateFault, isLarger } from './check.ts';

/** Name of a container, a volume or a port. */
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u;
const MAX_LABEL = 63;

/**
 * Lists contradictions of a complete pod template, which the API server rejects. The index of a container in the template is
 * not that in a patch: messages name the container.
 */
export function templateFaults({ metadata, spec }: JsonObject): TemplateFault[] {
  const pod = isObject(spec) ? spec : {};
  const volumes = new Set(objects(pod['volumes']).map(({ name }) => name));
  return [
    ...metadataFaults(metadata, ['metadata']),
    ...nameFaults(pod['volumes'], 'volume', ['spec', 'volumes']),
    ...['containers', 'initContainers'].flatMap((list) => {
      const steps = ['spec', list];
      const containers = objects(pod[list]);
      return [
        ...nameFaults(containers, 'container', steps),
        ...containers.flatMap((container) => containerFaults(container, volumes, steps)),
      ];
    }),
    ...userFaults(pod['securityContext'], ['spec', 'securityContext']),
  ];
}

const objects = (list: unknown): JsonObject[] => (Array.isArray(list) ? list.filter(isObject) : []);

const nameFaults = (list: unknown, what: string, steps: Steps): TemplateFault[] =>
  objects(list).flatMap(({ name }) =>
    typeof name === 'string' && !isLabel(name)
      ? [{ steps, message: `"${name}" cannot name a ${what}: use at most 63 lowercase letters, digits and hyphens` }]
      : [],
  );

/** Returns true for the name of a container or a volume. */
export const isLabel = (name: string): boolean => name.length <= MAX_LABEL && DNS_LABEL.test(name);

function containerFaults(container: JsonObject, volumes: ReadonlySet<unknown>, steps: Steps): TemplateFault[] {
  const { name, image, volumeMounts, resources, securityContext } = container;
  const what = `container "${String(name)}"`;
  return [
    ...(image === undefined || image === ''
      ? [{ steps, message: `${what} has no image: set it, or correct the name` }]
      : []),
    ...objects(volumeMounts)
      .filter((mount) => !volumes.has(mount['name']))
      .map((mount) => ({
        steps,
        message: `${what} mounts the volume "${String(mount['name'])}", which is not in spec.volumes: add it there`,
      })),
    ...resourceFaults(resources, steps).map((fault) => ({ ...fault, steps, message: `${what}: ${fault.message}` })),
    ...userFaults(securityContext, steps).map((fault) => ({ steps, message: `${what}: ${fault.message}` })),
  ];
}

/** Lists requests above the limit of the same resource. */
export function resourceFaults(resources: unknown, steps: Steps): TemplateFault[] {
  const { requests, limits } = isObject(resources) ? resources : {};
  if (!isObject(requests) || !isObject(limits)) return [];
  return Object.entries(requests).flatMap(([name, request]) => {
    const [asked, limit] = [quantityText(request), quantityText(limits[name])];
    if (asked === undefined || limit === undefined || !isLarger(asked, limit)) return [];
    const message = `the request for ${name} is above its limit, ${limit}: lower it, or raise the limit`;
    return [{ steps: [...steps, 'requests', name], message }];
  });
}

const userFaults = (context: unknown, steps: Steps): TemplateFault[] =>
  ['runAsUser', 'runAsGroup', 'fsGroup'].flatMap((member) => {
    const id = isObject(context) ? context[member] : undefined;
    return typeof id === 'number' && id < 0 ? [{ steps, message: `${member} must not be negative` }] : [];
  });
