import { Type, type Static } from 'typebox';
import { GROUP_NAME, MAX_GROUP_NAME, type GroupRecord } from './groups.ts';

const NAME_RULE = 'lower-case letters, digits, "_" and "-", with single spaces between words.';

export const GroupPath = Type.Object({
  name: Type.String({ pattern: GROUP_NAME, description: `Name of the group: ${NAME_RULE}` }),
});

/** Name of a new group. */
export const GroupName = Type.String({
  pattern: GROUP_NAME,
  maxLength: MAX_GROUP_NAME,
  description: `Name of the group: ${NAME_RULE}`,
});

export const Group = Type.Object(
  {
    name: Type.String(),
    registered_clients: Type.Array(Type.String(), { description: 'Client types that are registered in the group.' }),
    skills: Type.Optional(Type.Array(Type.String(), { description: 'Names of the installed skills of the group.' })),
  },
  { title: 'Group' },
);

export const GROUP_NOT_FOUND = { status: 404, message: 'there is no such group: GET /api/v1beta/groups lists them' };

export const groupAnswer = (name: string, { registered_clients, skills }: GroupRecord): Static<typeof Group> => ({
  name,
  registered_clients,
  ...(skills.length > 0 && { skills }),
});
