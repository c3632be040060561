import { Type } from 'typebox';

/** Path with the name of a registry. */
export const RegistryPath = Type.Object({
  name: Type.Literal('default', { description: 'Name of the registry: `default`.' }),
});

/** Makes the answer 404 for another name, even if the body is not valid either. */
export const REGISTRY_PATH_ERRORS = { name: 'registry_not_found' } as const;
