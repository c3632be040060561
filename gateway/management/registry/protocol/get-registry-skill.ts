import { Type } from 'typebox';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { defineManagementOperation } from '../../operation.ts';
import { RegistrySkill } from '../schema/skill.ts';
import { READING_ERRORS } from '../registry-errors.ts';
import { ext, PROTOCOL_BASE, registryName } from './protocol-base.ts';

export const getRegistrySkill = defineManagementOperation({
  id: 'getRegistrySkill',
  method: 'GET',
  path: `${PROTOCOL_BASE}/x/{ext}/skills/{namespace}/{skillName}`,
  tag: 'registry',
  summary: 'Get a skill of a registry',
  input: {
    path: Type.Object({
      ...{ registryName, ext },
      namespace: Type.String({ description: 'Owner of the skill in reverse-DNS form.' }),
      skillName: Type.String({ description: 'Name of the skill.' }),
    }),
  },
  success: { status: 200, body: RegistrySkill },
  errors: {
    not_found: { status: 404, message: 'the registry has no such skill: list its skills' },
    ...READING_ERRORS,
  },
  hasStructuredErrors: true,
  run: async ({ registry }, { path: { namespace, skillName } }) => {
    const skill = (await registry.skills()).find(
      (candidate) => candidate.namespace === namespace && candidate.name === skillName,
    );
    if (!skill) throw new OperationError('not_found');
    return skill;
  },
});
