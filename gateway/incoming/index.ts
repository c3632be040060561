import { anonymous } from './anonymous.ts';
import { inline } from './inline.ts';
import { kubernetes } from './kubernetes.ts';
import { oidc } from './oidc.ts';

/** Every `incomingAuth.type`. A new one is one line here. */
export const INCOMING = [anonymous, oidc] as const;

/** Every `oidcConfig.type`: where the accepted tokens come from. */
export const OIDC_SOURCES = [inline, kubernetes] as const;
