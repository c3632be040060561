import { Type, type Static } from 'typebox';
import { flag, text, textMap, texts, whole } from '../../../contract/optional.ts';

/** Environment variable that a server reads. */
export const EnvVar = Type.Object(
  {
    name: Type.String({ description: 'Name of the variable.' }),
    description: Type.String({ description: 'Meaning of the value.' }),
    required: Type.Boolean({ description: 'The server does not start without it.' }),
    default: text('Value when none is given.'),
    secret: flag('The value is a secret.'),
  },
  { title: 'RegistryVariable' },
);
export type EnvVar = Static<typeof EnvVar>;

/** Header that a remote server reads, or value in braces that a user gives. */
export const Header = Type.Object(
  {
    ...EnvVar.properties,
    name: Type.String({ description: 'Name of the header or the variable.' }),
    required: Type.Boolean({ description: 'The server does not work without it.' }),
    choices: texts('Allowed values.'),
  },
  { title: 'RegistryHeader' },
);
export type Header = Static<typeof Header>;

/** Settings for a login at a remote server. */
export const OAuthConfig = Type.Object(
  {
    issuer: text('Issuer of the tokens.'),
    authorize_url: text('Authorization endpoint.'),
    token_url: text('Token endpoint.'),
    client_id: text('Client identifier.'),
    scopes: texts('Requested scopes.'),
    resource: text('Resource indicator.'),
    use_pkce: flag('Use PKCE.'),
    callback_port: whole('Port of the redirect URI.'),
    oauth_params: textMap('Additional parameters of the authorization request.'),
  },
  { title: 'RegistryServerLogin' },
);

/** Origin of a container image, as its signature proves it. */
export const Provenance = Type.Object(
  {
    transparency_log_url: Type.String({ description: 'Transparency log of the signature.' }),
    repository_uri: Type.String({ description: 'Source repository.' }),
    repository_ref: text('Branch or tag of the source.'),
    signer_identity: Type.String({ description: 'Identity of the signer.' }),
    runner_environment: Type.String({ description: 'Environment of the build.' }),
    cert_issuer: Type.String({ description: 'Issuer of the certificate.' }),
    attestation: Type.Optional(
      Type.Object(
        { predicate_type: text('Type of the predicate.'), predicate: Type.Optional(Type.Unknown()) },
        { description: 'Attestation of the build.' },
      ),
    ),
  },
  { title: 'Provenance' },
);

/** Popularity and origin of an entry. */
export const EntryMetadata = Type.Object(
  {
    stars: whole('Stars of the repository.'),
    last_updated: text('Time of the last update.'),
    cluster: Type.Optional(
      Type.Object(
        {
          kind: text('Kind of the object.'),
          namespace: text('Namespace of the object.'),
          name: text('Name of the object.'),
          uid: text('UID of the object.'),
          image: text('Image that runs.'),
          transport: text('Transport that is served.'),
        },
        { description: 'Object of a cluster that runs the server.' },
      ),
    ),
  },
  { title: 'RegistryServerMetadata' },
);
