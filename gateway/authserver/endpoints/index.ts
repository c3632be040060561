import type { Operation } from '../../http/endpoint/operation.ts';
import type { AuthServerContext } from '../context.ts';
import { authorizeEndpoint } from './browser/authorize.ts';
import { callbackEndpoint } from './browser/callback.ts';
import { consentEndpoint } from './browser/consent.ts';
import { introspectEndpoint } from './introspect.ts';
import { jwksEndpoint, metadataEndpoint } from './metadata.ts';
import { logoutEndpoint } from './browser/logout.ts';
import { registerEndpoint, registrationEndpoint } from './registration.ts';
import { revokeEndpoint } from './revoke.ts';
import { tokenEndpoint } from './token.ts';
import { userinfoEndpoint } from './userinfo.ts';

/** Creates the operations of one endpoint. */
type CreateEndpoint = (context: AuthServerContext) => readonly Operation[];

/** Public documents, which are the same under every host name. */
export const METADATA_ENDPOINTS: readonly CreateEndpoint[] = [metadataEndpoint, jwksEndpoint];

/** All other endpoints. A new endpoint is one file and one line here. */
export const ENDPOINTS: readonly CreateEndpoint[] = [
  authorizeEndpoint,
  consentEndpoint,
  callbackEndpoint,
  tokenEndpoint,
  registerEndpoint,
  registrationEndpoint,
  revokeEndpoint,
  introspectEndpoint,
  userinfoEndpoint,
  logoutEndpoint,
];
