import type { ManagementError } from '../operation.ts';
import type { ReadingCode, UpdateCode } from './fault.ts';

/** Errors of operations that read a registry. */
export const READING_ERRORS = {
  registry_auth_required: {
    status: 503,
    message: 'the registry requires a login: POST /api/v1beta/registry/auth/login starts it',
    isStructured: true,
  },
  registry_unavailable: { status: 503, message: 'the registry cannot be read: try again later', isStructured: true },
  registry_legacy_format: {
    status: 502,
    message: 'the registry has the legacy layout: convert it to "data.servers" with server.json entries',
    isStructured: true,
  },
} satisfies Readonly<Record<ReadingCode, ManagementError>>;

export const REGISTRY_NOT_FOUND = {
  registry_not_found: { status: 404, message: 'Registry not found: the only registry is "default"' },
} satisfies Readonly<Record<string, ManagementError>>;

/** Errors of new settings. */
export const UPDATE_ERRORS = {
  ...REGISTRY_NOT_FOUND,
  bad_settings: { status: 400, message: 'the settings cannot be used' },
  read_only: {
    status: 403,
    message: 'the registry is read-only: VMCP_REGISTRY_READ_ONLY is set where vmcp was started',
  },
  bad_document: { status: 502, message: 'the location holds no registry' },
  unreachable: { status: 504, message: 'the registry cannot be reached' },
} satisfies Readonly<Record<UpdateCode | 'read_only' | 'registry_not_found', ManagementError>>;

/** Errors of a removal. */
export const DELETE_ERRORS = {
  registry_not_found: UPDATE_ERRORS.registry_not_found,
  bad_settings: { status: 400, message: 'the default registry cannot be deleted: PUT {} resets it' },
  read_only: UPDATE_ERRORS.read_only,
} satisfies Readonly<Record<string, ManagementError>>;

/** Errors of the login at a registry. */
export const LOGIN_ERRORS = {
  no_auth: { status: 400, message: 'the registry needs no login: PUT /api/v1beta/registry/default sets auth' },
  login_failed: { status: 500, message: 'the login cannot start: check the issuer and the ports 8666 to 8675' },
} satisfies Readonly<Record<string, ManagementError>>;
