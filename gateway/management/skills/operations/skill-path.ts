import { Type } from 'typebox';

export const SkillPath = Type.Object({ name: Type.String({ description: 'Name of the skill.' }) });
