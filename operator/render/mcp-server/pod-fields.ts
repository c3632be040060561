import { metadataFaults } from '../../../crds/kinds/schema/metadata-syntax.ts';
import { pathText } from '../../../crds/kinds/schema/object-path.ts';
import type { ObjectProblem, ObjectRef } from '../../resolve/problems.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import type { Fault } from '../pod-template/check.ts';
import { isLabel, resourceFaults } from '../pod-template/consistency.ts';

/** Lists fields of a server that its schema accepts and that no pod or Service can have. */
export function podFieldProblems({ spec }: MCPServer, object: ObjectRef): ObjectProblem[] {
  const { resources, volumes = [], resourceOverrides: { proxyDeployment, proxyService } = {} } = spec;
  const deployment = ['spec', 'resourceOverrides', 'proxyDeployment'];
  const template = proxyDeployment?.podTemplateMetadataOverrides;
  const faults: Fault[] = [
    ...resourceFaults(resources, ['spec', 'resources']),
    ...volumes.flatMap(({ name }, index) =>
      isLabel(name)
        ? []
        : [{ steps: ['spec', 'volumes', index, 'name'], message: 'must be lowercase letters, digits and hyphens' }],
    ),
    ...metadataFaults(proxyDeployment, deployment),
    ...metadataFaults(template, [...deployment, 'podTemplateMetadataOverrides']),
    ...metadataFaults(proxyService, ['spec', 'resourceOverrides', 'proxyService']),
  ];
  return faults.map(({ steps, message }) => ({ ...object, path: pathText(steps), reason: 'InvalidValue', message }));
}
