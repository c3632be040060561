import { Type, type Static } from 'typebox';
import { GROUP_NAME, type GroupRecord } from './groups.ts';

export const GroupPath = Type.Object({ name: Type.String({ pattern: GROUP_NAME, description: 'Name of the group.' }) });

export const Group = Type.Object({
  name: Type.String(),
  registered_clients: Type.Array(Type.String(), { description: 'Client types that are registered in the group.' }),
  skills: Type.Optional(Type.Array(Type.String(), { description: 'Names of the installed skills of the group.' })),
});

export const GROUP_NOT_FOUND = { status: 404, message: 'there is no such group: GET /api/v1beta/groups lists them' };

export const groupAnswer = (name: string, { registered_clients, skills }: GroupRecord): Static<typeof Group> => ({
  name,
  registered_clients,
  ...(skills.length > 0 && { skills }),
});
