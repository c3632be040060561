import type { ObjectRef } from '../../resolve/scope.ts';
import { type ExternalIssuer, type MetadataPlace, NoReply, type Get, type Reply } from './probes.ts';

/** Result of a check that did not find its subject. A warning does not change the exit code. */
export interface OnlineFinding {
  readonly severity: 'problem' | 'warning';
  readonly reason: string;
  readonly message: string;
}

/** Network and environment of a check. */
export interface Online {
  readonly get: Get;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Something on the network that a resource names. */
export interface Subject {
  readonly type: 'npm' | 'python' | 'image' | 'url' | 'issuer' | 'endpoint' | 'registration' | 'scope';
  /** Image reference, URL, issuer, or scope. */
  readonly value: string;
  /** For `issuer`. */
  readonly issuer?: ExternalIssuer;
  /** For `registration` and `scope`: place of the metadata of the provider. */
  readonly metadata?: MetadataPlace;
  /** PEM certificates that are trusted beside the system's. */
  readonly ca?: string;
}

/** A subject with the field that names it. */
export interface NamedSubject {
  readonly object: ObjectRef;
  readonly path: string;
  readonly subject: Subject;
}

export type OnlineCheck = (subject: Subject, online: Online) => Promise<OnlineFinding | undefined>;

export const notFound = (message: string): OnlineFinding => ({
  severity: 'problem',
  reason: 'NotFoundOnline',
  message,
});

export const unreachable = (message: string): OnlineFinding => ({
  severity: 'problem',
  reason: 'UnreachableOnline',
  message,
});

/** Returns the warning that something could not be checked, which is no mistake in the files. */
export const unchecked = (message: string): OnlineFinding => ({ severity: 'warning', reason: 'NotChecked', message });

/** Returns the reply, or the message that there is none. */
export const replyOf = (get: Get, ...request: Parameters<Get>): Promise<Reply | string> =>
  get(...request).catch((error: unknown) => {
    if (error instanceof NoReply) return error.message;
    throw error;
  });

/** Parses a JSON object. Returns an empty one for another text. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
