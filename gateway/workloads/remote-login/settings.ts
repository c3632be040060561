import type { RunConfig } from '../../contract/run-config/run-config.ts';

/** `remote_auth_config` of a run configuration. */
export type RemoteAuthConfig = NonNullable<RunConfig['remote_auth_config']>;

/** Returns the text, or undefined when it is empty. */
export const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** Returns the name in a reference `NAME,target=TARGET`; undefined when the text is no reference. */
export const nameInReference = (reference: string): string | undefined => /^([^,]+),target=/u.exec(reference)?.[1];
