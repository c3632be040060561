import { Type } from 'typebox';
import { Closed } from '../../contract/fields.ts';
import { ALLOW, definePolicy } from '../policy.ts';

/** A policy as a contributor may add it: this file is all of it. */
export const toyPolicy = definePolicy({
  type: 'toy',
  description: 'Denies one tool by its name.',
  spec: Closed({ tool: Type.String({ description: 'Tool to deny.' }) }, { description: 'Set when `type` is `toy`.' }),
  config: Closed({ type: Type.String(), version: Type.Optional(Type.String({ maxLength: 20 })) }),
  member: 'authz_config',
  resolve: ({ tool }) => ({ type: tool }),
  create: ({ type: tool }) => ({
    decide: ({ name }) =>
      name === tool ? { verdict: 'deny', reason: 'toy', message: `the tool ${tool} is denied` } : ALLOW,
    isListed: ({ name }) => name !== tool,
  }),
});
