import type { EnvVar, Header } from '../schema/entry-parts.ts';
import type { KeyValueInput } from '../schema/server-json.ts';
import { resolved } from './inputs.ts';

/** Describes an environment variable. One whose value has variables without a default has no default itself. */
export function asVariable({ name, ...input }: KeyValueInput): EnvVar {
  const { description = '', isRequired = false, isSecret } = input;
  const { text, asked } = resolved(input);
  const variables = Object.values(input.variables ?? {});
  const hidden = isSecret ?? variables.some((variable) => variable.isSecret === true);
  return {
    name,
    description: description === '' ? (variables[0]?.description ?? '') : description,
    required: isRequired || asked.length > 0,
    ...(text !== undefined && asked.length === 0 && { default: text }),
    ...(hidden && { secret: true }),
  };
}

/** Describes a header. */
export const asHeader = ({ choices = [], ...input }: KeyValueInput): Header => ({
  ...asVariable(input),
  ...(choices.length > 0 && { choices }),
});
