import { Type } from 'typebox';
import { Closed } from '../../contract/fields.ts';
import { ALLOW, definePolicy } from '../policy.ts';

/** A policy as a contributor may add it: this file is all of it. */
export const toyPolicy = definePolicy({
  type: 'toy',
  description: 'Denies one tool by its name.',
  spec: Closed({ tool: Type.String({ description: 'Tool to deny.' }) }, { description: 'Set when `type` is `toy`.' }),
  // A new policy brings its own member; this one is free to use.
  config: Closed({ builder_image: Type.String({ maxLength: 20 }) }),
  member: 'runtime_config',
  resolve: ({ tool }) => ({ builder_image: tool }),
  create: ({ builder_image: tool }) => ({
    decide: ({ name }) =>
      name === tool ? { verdict: 'deny', reason: 'toy', message: `the tool ${tool} is denied` } : ALLOW,
    isListed: ({ name }) => name !== tool,
  }),
});
