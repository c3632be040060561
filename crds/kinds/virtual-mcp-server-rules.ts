import type { TObject } from 'typebox';
import { atMostOne, at, rule, safeHeaders, union, type Rule } from '../../gateway/contract/rule.ts';
import { INCOMING } from '../../gateway/incoming/index.ts';
import { authServerRules } from './fields/auth-server-config.ts';
import { authzRules } from './fields/authz.ts';
import { exposureRules } from './fields/exposure.ts';
import { audienceRules, oidcConfigRules } from './fields/oidc.ts';
import { limitsUsers, limitsUsersCel } from '../../gateway/policy/rate-limit/spec.ts';
import { variantRules } from './fields/variants.ts';
import { sessionStorageRules } from './fields/stores.ts';
import { vmcpConfigRules } from './fields/vmcp-config.ts';

type Set = Readonly<Record<string, unknown>>;

interface Incoming {
  readonly type: string;
  readonly oidcConfig?: {
    readonly inline?: { readonly issuer: string; readonly clientId?: string };
    readonly kubernetes?: unknown;
  };
  readonly oidcConfigRef?: unknown;
  readonly requireClientId?: boolean;
}

const isSet = (self: object, member: string): boolean => (self as Set)[member] !== undefined;

/** Fields of `incomingAuth` that have no effect without users. */
const ACCESS_CONTROL = ['authzConfig', 'authzConfigRef', 'requiredScopes', 'clockSkewSeconds'];

/** CEL: the expression names one of these modes. */
const isOneOf = (expression: string, modes: readonly string[]): string =>
  modes.map((type) => `${expression} == '${type}'`).join(' || ') || 'false';

interface Mode {
  readonly type: string;
  readonly spec: TObject | undefined;
  readonly rules?: readonly Rule[];
  readonly hasUsers: boolean;
  readonly acceptsAuthServer?: boolean;
  readonly members?: readonly string[];
  readonly incomingRules?: readonly Rule[];
}

const MODES: readonly Mode[] = INCOMING;
const MODES_WITH_USERS: readonly string[] = MODES.flatMap(({ type, hasUsers }) => (hasUsers ? [type] : []));
const MODES_WITHOUT_USERS: readonly string[] = MODES.flatMap(({ type, hasUsers }) => (hasUsers ? [] : [type]));
/** Modes that messages recommend. */
const OTHER = MODES_WITH_USERS.join(' or ');
const MODES_OF_AUTH_SERVER: readonly string[] = MODES.flatMap(({ type, acceptsAuthServer }) =>
  acceptsAuthServer === true ? [type] : [],
);

/** Rejects members that only another mode reads. */
const foreignMembers = MODES.flatMap(({ type: owner, members = [] }) =>
  MODES.filter(({ type }) => type !== owner).flatMap(({ type }) =>
    members.map((member) =>
      rule<Incoming>('', {
        field: member,
        rule: `self.type != '${type}' || !has(self.${member})`,
        message: `when type is ${type}, ${member} has no effect; remove it or set type to ${owner}`,
        check: (self) => self.type !== type || !isSet(self, member),
      }),
    ),
  ),
);

/** Rejects members that have no effect without users. */
const accessControl = MODES_WITHOUT_USERS.flatMap((type) => [
  ...ACCESS_CONTROL.map((member) =>
    rule<Incoming>('', {
      field: member,
      rule: `self.type != '${type}' || !has(self.${member})`,
      message: `when type is ${type}, clients are not authenticated and ${member} has no effect; set type to ${OTHER}`,
      check: (self) => self.type !== type || !isSet(self, member),
    }),
  ),
  rule<Incoming>('', {
    field: 'requireClientId',
    rule: `self.type != '${type}' || !has(self.requireClientId) || !self.requireClientId`,
    message: `when type is ${type}, clients are not authenticated and requireClientId has no effect; set type to ${OTHER}`,
    check: (self) => self.type !== type || self.requireClientId !== true,
  }),
]);

const incomingRules: Rule[] = [
  ...MODES.flatMap(({ incomingRules: rules = [] }) => rules),
  ...union(
    '',
    'type',
    MODES.flatMap(({ type, spec }) => (spec ? [{ type, member: type }] : [])),
  ),
  ...variantRules(MODES),
  ...foreignMembers,
  ...accessControl,
  rule<Incoming>('', {
    field: 'requireClientId',
    rule: '!has(self.requireClientId) || !self.requireClientId || !has(self.oidcConfig) || (has(self.oidcConfig.inline) && has(self.oidcConfig.inline.clientId))',
    message: 'requireClientId needs oidcConfig.inline.clientId',
    check: (self) =>
      self.requireClientId !== true || self.oidcConfig === undefined || self.oidcConfig.inline?.clientId !== undefined,
  }),
  ...audienceRules,
  ...oidcConfigRules('oidcConfig'),
  ...authzRules,
];

interface Spec {
  readonly groupRef: { readonly name: string };
  readonly incomingAuth: Incoming;
  readonly authServerConfig?: { readonly issuer: string; readonly upstreamProviders: readonly unknown[] };
  readonly authServerUpstreamFilter?: unknown;
  readonly config?: {
    readonly groupRef?: string;
    readonly rateLimiting?: Parameters<typeof limitsUsers>[0];
    readonly optimizer?: { readonly embeddingProvider?: string };
  };
  readonly embeddingServerRef?: unknown;
}

const authServerPlaceRules: Rule[] = [
  rule<Spec>('', {
    field: 'authServerConfig',
    rule: `!has(self.authServerConfig) || ${isOneOf('self.incomingAuth.type', MODES_OF_AUTH_SERVER)}`,
    message: `authServerConfig needs incomingAuth.type ${MODES_OF_AUTH_SERVER.join(' or ')}`,
    check: (self) => self.authServerConfig === undefined || MODES_OF_AUTH_SERVER.includes(self.incomingAuth.type),
  }),
  rule<Spec>('', {
    field: 'incomingAuth.oidcConfig',
    rule: '!has(self.authServerConfig) || !has(self.incomingAuth.oidcConfig) || (has(self.incomingAuth.oidcConfig.inline) && self.incomingAuth.oidcConfig.inline.issuer == self.authServerConfig.issuer)',
    message: 'with authServerConfig, use oidcConfigRef, or an inline oidcConfig with the same issuer',
    check: ({ authServerConfig, incomingAuth: { oidcConfig } }) =>
      authServerConfig === undefined ||
      oidcConfig === undefined ||
      oidcConfig.inline?.issuer === authServerConfig.issuer,
  }),
  rule<Spec>('', {
    field: 'authServerUpstreamFilter',
    rule: '!has(self.authServerUpstreamFilter) || (has(self.authServerConfig) && size(self.authServerConfig.upstreamProviders) >= 2)',
    message: 'authServerUpstreamFilter needs an authServerConfig with at least two upstream providers',
    check: (self) =>
      self.authServerUpstreamFilter === undefined || (self.authServerConfig?.upstreamProviders ?? []).length >= 2,
  }),
];

const configRules: Rule[] = [
  rule<Spec>('', {
    field: 'config.groupRef',
    rule: '!has(self.config) || !has(self.config.groupRef) || self.config.groupRef == self.groupRef.name',
    message: 'config.groupRef must equal groupRef.name; it can be left out',
    check: (self) => self.config?.groupRef === undefined || self.config.groupRef === self.groupRef.name,
  }),
  rule<Spec>('', {
    field: 'config.rateLimiting',
    rule: `!has(self.config) || !has(self.config.rateLimiting) || !${limitsUsersCel('self.config.rateLimiting')} || ${isOneOf('self.incomingAuth.type', MODES_WITH_USERS)}`,
    message: `a perUser limit needs incomingAuth.type ${OTHER}`,
    check: (self) => !limitsUsers(self.config?.rateLimiting) || MODES_WITH_USERS.includes(self.incomingAuth.type),
  }),
  rule<Spec>('', {
    field: 'embeddingServerRef',
    rule: "!has(self.embeddingServerRef) || !has(self.config) || !has(self.config.optimizer) || self.config.optimizer.embeddingProvider != 'openai'",
    message: 'embeddingServerRef cannot be combined with embeddingProvider openai',
    check: (self) => self.embeddingServerRef === undefined || self.config?.optimizer?.embeddingProvider !== 'openai',
  }),
];

const REFERENCE = [{ type: 'externalAuthConfigRef', member: 'externalAuthConfigRef' }];

/** Rules of `spec`. */
export const virtualMCPServerRules: Rule[] = [
  ...authServerPlaceRules,
  ...configRules,
  ...exposureRules,
  ...at('incomingAuth', incomingRules),
  ...union('outgoingAuth.backends{}', 'type', REFERENCE),
  atMostOne('outgoingAuth', 'backends', 'backendList'),
  ...union('outgoingAuth.backendList[]', 'type', REFERENCE),
  ...union('outgoingAuth.default', 'type', REFERENCE),
  ...authServerRules('authServerConfig'),
  ...sessionStorageRules('sessionStorage'),
  ...vmcpConfigRules('config'),
  safeHeaders('passthroughHeaders'),
];

interface Whole {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly config?: { readonly name?: string } };
}

/** Rules that need the name of the object. */
export const virtualMCPServerObjectRules: Rule[] = [
  rule<Whole>('', {
    field: 'spec.config.name',
    rule: '!has(self.spec.config) || !has(self.spec.config.name) || self.spec.config.name == self.metadata.name',
    message: 'spec.config.name must equal metadata.name; it can be left out',
    check: ({ metadata, spec }) => spec.config?.name === undefined || spec.config.name === metadata.name,
  }),
];
