import { Type, type Static } from 'typebox';
import { flag, text, texts } from '../../../contract/optional.ts';
import { SOURCE_TYPES } from './source-type.ts';

/** Login of vmcp at a registry, as a public client. */
export const RegistryAuth = Type.Object(
  {
    issuer: Type.String({ minLength: 1, maxLength: 2048, description: 'Issuer of the OpenID provider.' }),
    client_id: Type.String({ minLength: 1, maxLength: 256, description: 'Client identifier at the provider.' }),
    audience: text('Audience of the tokens.', { maxLength: 2048 }),
    scopes: texts('Scopes to request. Defaults to `openid` and `offline_access`.', { maxItems: 64 }),
  },
  { title: 'RegistryAuth', description: 'Login of vmcp at a registry, as a public client with PKCE.' },
);
export type RegistryAuth = Static<typeof RegistryAuth>;

/** New settings of a registry. */
export const RegistryUpdate = Type.Object(
  {
    url: text('URL of a registry document.', { maxLength: 2048 }),
    api_url: text('Base URL of a server that speaks the MCP registry protocol.', { maxLength: 2048 }),
    local_path: text('Absolute path of a registry document on the machine of the server.', { maxLength: 4096 }),
    allow_private_ip: flag('Allow private and loopback addresses, and http.'),
    auth: Type.Optional(RegistryAuth),
  },
  { title: 'RegistryUpdate' },
);
export type RegistryUpdate = Static<typeof RegistryUpdate>;

/** Settings of a registry, as they are stored. */
export const RegistrySettings = Type.Object({
  type: Type.Enum([...SOURCE_TYPES]),
  /** URL or path; empty for the built-in registry. */
  location: Type.String(),
  allow_private_ip: Type.Boolean(),
  auth: Type.Optional(RegistryAuth),
});
export type RegistrySettings = Static<typeof RegistrySettings>;

export const BUILT_IN: RegistrySettings = { type: 'default', location: '', allow_private_ip: false };
