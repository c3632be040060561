import { anonymous } from './anonymous.ts';
import { oidc } from './oidc.ts';
import { incomingRegistry } from './mode.ts';

/** Values of `incomingAuth.type`. A new mode is one file and one entry here. */
export const INCOMING = [anonymous, oidc] as const;

export const { acceptsAuthServer, createValidator, hasUsers, incomingProblems, issuerOf, resolveMode } =
  incomingRegistry(INCOMING);
