import { OperationError } from '../../http/endpoint/request-error.ts';

type RegistryFaultKind =
  | 'connect' // the registry cannot be reached, or its address is not allowed
  | 'document' // the content is not a registry
  | 'legacy' // the content has the old layout
  | 'auth' // the registry requires a login
  | 'setting'; // the location or another setting is wrong

/** A registry cannot be read. `message` is one sentence for the user, without text of the registry. */
export class RegistryFault extends Error {
  readonly kind: RegistryFaultKind;

  constructor(kind: RegistryFaultKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'RegistryFault';
    this.kind = kind;
  }
}

/** Codes of operations that read a registry. */
export type ReadingCode = 'registry_auth_required' | 'registry_unavailable' | 'registry_legacy_format';

/** Codes of new settings that cannot be used. */
export type UpdateCode = 'bad_settings' | 'bad_document' | 'unreachable';

const OF_READING: Readonly<Record<RegistryFaultKind, ReadingCode>> = {
  auth: 'registry_auth_required',
  legacy: 'registry_legacy_format',
  connect: 'registry_unavailable',
  document: 'registry_unavailable',
  setting: 'registry_unavailable',
};

const OF_UPDATE: Readonly<Record<RegistryFaultKind, UpdateCode>> = {
  connect: 'unreachable',
  document: 'bad_document',
  legacy: 'bad_document',
  auth: 'bad_document',
  setting: 'bad_settings',
};

/** Converts a fault of a reading to the error of the operation. */
export const readingError = (error: unknown): unknown =>
  error instanceof RegistryFault ? new OperationError(OF_READING[error.kind], error.message) : error;

/** Converts a fault of new settings to the error of the operation. */
export const updateError = (error: unknown): unknown =>
  error instanceof RegistryFault ? new OperationError(OF_UPDATE[error.kind], error.message) : error;
