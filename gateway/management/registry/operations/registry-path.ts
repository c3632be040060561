import { Type } from 'typebox';

/** Path with the name of a registry. */
export const RegistryPath = Type.Object({
  name: Type.Literal('default', { description: 'Name of the registry: `default`.' }),
});

/** A path with another name is not found, whatever the body is. */
export const REGISTRY_PATH_ERRORS = { name: 'registry_not_found' } as const;
