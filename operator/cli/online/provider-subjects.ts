import type { BundleRef } from '../../../gateway/contract/references.ts';
import { DEFAULT_BUNDLE_KEY } from '../../resolve/config-maps.ts';
import { objectsOf, type Resource, type Snapshot, type VirtualMCPServer } from '../../resolve/snapshot.ts';
import type { NamedSubject, Subject } from './online-check.ts';
import { imageScheme, type ImageScheme } from '../../resolve/backends/server-backend.ts';

type Incoming = VirtualMCPServer['spec']['incomingAuth'];
type AuthServer = NonNullable<VirtualMCPServer['spec']['authServerConfig']>;
type Provider = AuthServer['upstreamProviders'][number];
type Issuer = NonNullable<NonNullable<Incoming['oidcConfig']>['inline']>;
type IssuerFields = Omit<Issuer, 'audience' | 'scopes'>;

/** A subject with the path of its field. */
type Field = Omit<NamedSubject, 'object'>;

/** Context of the fields of a namespace. */
interface World {
  readonly snapshot: Snapshot;
  /** Issuers that the gateway itself will be. */
  readonly own: ReadonlySet<string>;
}

/** Lists the issuers and endpoints of identity providers, and the scopes that clients request there, with the field of each. */
export function providerSubjects(snapshot: Snapshot): NamedSubject[] {
  const objects = objectsOf(snapshot);
  const own = new Set(objects.flatMap((object) => authServerOf(object)?.[1].issuer ?? []));
  return objects.flatMap((object) => {
    const { kind, metadata } = object;
    const ref = { kind, namespace: snapshot.namespace, name: metadata.name };
    return fieldsOf(object, { snapshot, own }).map((field) => ({ object: ref, ...field }));
  });
}

/** Returns the authorization server of an object with its path. */
function authServerOf(object: Resource): readonly [string, AuthServer] | undefined {
  if (object.kind === 'VirtualMCPServer' && object.spec.authServerConfig)
    return ['spec.authServerConfig', object.spec.authServerConfig];
  if (object.kind === 'MCPExternalAuthConfig' && object.spec.embeddedAuthServer)
    return ['spec.embeddedAuthServer', object.spec.embeddedAuthServer];
  return undefined;
}

function fieldsOf(object: Resource, world: World): Field[] {
  const [path = '', server] = authServerOf(object) ?? [];
  return [
    ...(object.kind === 'VirtualMCPServer' ? incomingFields(object.spec.incomingAuth, world) : []),
    ...(object.kind === 'MCPServer' ? sharedScopes(object.spec.oidcConfigRef, 'spec.oidcConfigRef', world) : []),
    ...(object.kind === 'MCPOIDCConfig' && object.spec.inline
      ? issuerFields(object.spec.inline, 'spec.inline', world)
      : []),
    ...(object.kind === 'MCPExternalAuthConfig'
      ? endpointFields({ tokenUrl: object.spec.tokenExchange?.tokenUrl }, 'spec.tokenExchange', undefined)
      : []),
    ...(server ? authServerFields(server, path, world) : []),
  ];
}

function incomingFields({ oidcConfig, oidcConfigRef: ref }: Incoming, world: World): Field[] {
  const path = 'spec.incomingAuth';
  const inline = oidcConfig?.inline;
  return [
    ...(inline ? issuerFields(inline, `${path}.oidcConfig.inline`, world) : []),
    ...(inline ? scopesOf(inline, inline.scopes, `${path}.oidcConfig.inline.scopes`, world) : []),
    ...sharedScopes(ref, `${path}.oidcConfigRef`, world),
  ];
}

function sharedScopes(ref: Incoming['oidcConfigRef'], path: string, world: World): Field[] {
  const shared = ref && world.snapshot.oidcConfigs.get(ref.name)?.spec.inline;
  return shared ? scopesOf(shared, ref.scopes, `${path}.scopes`, world) : [];
}

/** Returns the fields of an issuer whose tokens are accepted. Only the gateway has the token that its key set requires. */
function issuerFields(given: IssuerFields, path: string, world: World): Field[] {
  const { issuer, jwksUrl, introspectionUrl } = given;
  if (world.own.has(issuer)) return [];
  const ca = bundleOf(given.caBundleRef, world);
  const keys = issuerField({ issuer, jwksUrl }, path, 'issuer', ca);
  return [...(given.jwksAuthTokenPath === undefined ? [keys] : []), ...endpointFields({ introspectionUrl }, path, ca)];
}

function scopesOf(given: IssuerFields, scopes: readonly string[] | undefined, path: string, world: World): Field[] {
  if (world.own.has(given.issuer)) return [];
  return scopeFields(scopes, path, { issuer: given.issuer }, bundleOf(given.caBundleRef, world));
}

const authServerFields = (
  { upstreamProviders, trustedIssuers = [] }: AuthServer,
  path: string,
  world: World,
): Field[] => [
  ...upstreamProviders.flatMap((provider, index) =>
    providerFields(provider, `${path}.upstreamProviders[${String(index)}]`, world),
  ),
  ...trustedIssuers.map(({ issuerUrl: issuer, jwksUrl }, index) =>
    issuerField({ issuer, jwksUrl }, `${path}.trustedIssuers[${String(index)}]`, 'issuerUrl', undefined),
  ),
];

function providerFields({ oidcConfig, oauth2Config }: Provider, path: string, world: World): Field[] {
  if (oidcConfig) {
    const { issuerUrl: issuer, userInfoOverride, dcrConfig } = oidcConfig;
    const endpoint = dcrConfig?.registrationEndpoint;
    const ca = bundleOf(oidcConfig.caBundleRef, world);
    const block = `${path}.oidcConfig`;
    return [
      issuerField({ issuer, jwksUrl: undefined }, block, 'issuerUrl', ca),
      ...endpointFields({ endpointUrl: userInfoOverride?.endpointUrl }, `${block}.userInfoOverride`, ca),
      ...endpointFields({ registrationEndpoint: endpoint }, `${block}.dcrConfig`, ca),
      ...(dcrConfig && endpoint === undefined ? [registrationField({ issuer }, `${block}.dcrConfig`, ca)] : []),
      ...scopeFields(oidcConfig.scopes, `${block}.scopes`, { issuer }, ca),
    ];
  }
  if (!oauth2Config) return [];
  const { tokenEndpoint, revocationEndpoint, userInfo, dcrConfig = {}, scopes } = oauth2Config;
  const { discoveryUrl, registrationEndpoint } = dcrConfig;
  const ca = bundleOf(oauth2Config.caBundleRef, world);
  const block = `${path}.oauth2Config`;
  const metadata = discoveryUrl === undefined ? undefined : { url: discoveryUrl };
  return [
    ...endpointFields({ tokenEndpoint, revocationEndpoint }, block, ca),
    ...endpointFields({ endpointUrl: userInfo?.endpointUrl }, `${block}.userInfo`, ca),
    ...endpointFields({ registrationEndpoint }, `${block}.dcrConfig`, ca),
    ...(metadata ? [registrationField(metadata, `${block}.dcrConfig.discoveryUrl`, ca)] : []),
    ...(metadata ? scopeFields(scopes, `${block}.scopes`, metadata, ca) : []),
  ];
}

/** Returns the field from which the keys of an issuer are found. */
function issuerField(
  issuer: NonNullable<Subject['issuer']>,
  block: string,
  member: 'issuer' | 'issuerUrl',
  ca: string | undefined,
): Field {
  const path = `${block}.${issuer.jwksUrl === undefined ? member : 'jwksUrl'}`;
  return { path, subject: { type: 'issuer', value: issuer.issuer, issuer, ...trusting(ca) } };
}

const endpointFields = (
  urls: Readonly<Record<string, string | undefined>>,
  block: string,
  ca: string | undefined,
): Field[] =>
  Object.entries(urls).flatMap(([member, value]) =>
    value === undefined
      ? []
      : [{ path: `${block}.${member}`, subject: { type: 'endpoint' as const, value, ...trusting(ca) } }],
  );

const registrationField = (
  metadata: NonNullable<Subject['metadata']>,
  path: string,
  ca: string | undefined,
): Field => ({
  path,
  subject: {
    type: 'registration',
    value: 'issuer' in metadata ? metadata.issuer : metadata.url,
    metadata,
    ...trusting(ca),
  },
});

const scopeFields = (
  scopes: readonly string[] = [],
  path: string,
  metadata: NonNullable<Subject['metadata']>,
  ca: string | undefined,
): Field[] =>
  scopes.map((value, index) => ({
    path: `${path}[${String(index)}]`,
    subject: { type: 'scope', value, metadata, ...trusting(ca) },
  }));

const trusting = (ca: string | undefined) => (ca === undefined ? {} : { ca });

/** Returns the certificates of a reference; undefined without any. */
function bundleOf(ref: BundleRef | undefined, { snapshot }: World): string | undefined {
  const { name = '', key = DEFAULT_BUNDLE_KEY } = ref?.configMapRef ?? {};
  return snapshot.configMaps.get(name)?.data[key];
}

const TYPES: Readonly<Record<Exclude<ImageScheme, 'command'>, Subject['type']>> = {
  npx: 'npm',
  uvx: 'python',
  oci: 'image',
};

/** Lists everything on the network that valid resources name. */
export const namedSubjects = (snapshots: Iterable<Snapshot>): NamedSubject[] =>
  [...snapshots].flatMap((snapshot) => [...memberSubjects(snapshot), ...providerSubjects(snapshot)]);

/** Returns the package or the image of a server; undefined for a program of this machine. */
export function imageSubject(image: string): Subject | undefined {
  const scheme = imageScheme(image);
  return scheme === undefined || scheme === 'command' ? undefined : { type: TYPES[scheme], value: image };
}

const memberSubjects = ({ namespace, servers, entries }: Snapshot): NamedSubject[] => [
  ...[...servers.values()].flatMap(({ kind, metadata: { name }, spec }): NamedSubject[] => {
    const subject = imageSubject(spec.image);
    return subject ? [{ object: { kind, namespace, name }, path: 'spec.image', subject }] : [];
  }),
  ...[...entries.values()].map(({ kind, metadata: { name }, spec }) => ({
    object: { kind, namespace, name },
    path: 'spec.remoteUrl',
    subject: { type: 'url' as const, value: spec.remoteUrl },
  })),
];
