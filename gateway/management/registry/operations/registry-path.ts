import { Type } from 'typebox';

/** Path with the name of a registry. */
export const RegistryPath = Type.Object({
  name: Type.String({ minLength: 1, description: 'Name of the registry: `default`.' }),
});
