import { Type, type Static } from 'typebox';
import { block, text } from '../optional.ts';
import { SecretKeyRef } from '../references.ts';

/** Signature algorithms of assertions. @see RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2 */
export const ASSERTION_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

const DESCRIPTION = 'Client authentication with a signed assertion in place of a client secret (`private_key_jwt`).';

const keyId = text(
  '`kid` of the assertion, by which the provider finds the public key. Defaults to the `kid` of a JWK.',
  { minLength: 1, maxLength: 256 },
);
const algorithm = Type.Optional(
  Type.Enum([...ASSERTION_ALGORITHMS], {
    description:
      'Signature algorithm. Defaults to one that fits the key and that the provider lists: RS256 for RSA, ES256, ES384 or ES512 by the curve, EdDSA for Ed25519.',
  }),
);
const audience = text(
  '`aud` of the assertion. Defaults to the issuer of the provider, or to the token endpoint where no issuer is configured.',
  { minLength: 1, maxLength: 2048 },
);

/** Client authentication by private key, as a field of every client of a provider. */
export const privateKeyJwtSpec = () =>
  block(DESCRIPTION, {
    privateKeyRef: SecretKeyRef(
      'Private key without a passphrase: PEM (PKCS#8, PKCS#1 or SEC 1) or JWK. RSA of at least 2048 bits, EC on P-256, P-384 or P-521, or Ed25519. Its certificate beside it in the PEM text adds `x5t#S256` to the assertion.',
    ),
    keyId,
    algorithm,
    audience,
  });

/** The same in a configuration. */
export const privateKeyJwtConfig = () =>
  block(
    DESCRIPTION,
    {
      private_key_file: Type.String({
        minLength: 1,
        description: 'Path of the file that holds the private key, PEM or JWK.',
      }),
      key_id: keyId,
      algorithm,
      audience,
    },
    { title: 'PrivateKeyJwt' },
  );

/** Message for a client that has two credentials. */
export const SECRET_OR_KEY = 'set client_secret_file or private_key_jwt, not both';

type Spec = Static<NonNullable<ReturnType<typeof privateKeyJwtSpec>>>;
export type PrivateKeyJwtConfig = Static<NonNullable<ReturnType<typeof privateKeyJwtConfig>>>;

export const resolvePrivateKeyJwt = (
  { privateKeyRef, keyId: id, algorithm: alg, audience: aud }: Spec,
  { secretFile }: { readonly secretFile: (ref: Spec['privateKeyRef']) => string },
): PrivateKeyJwtConfig => ({
  private_key_file: secretFile(privateKeyRef),
  ...(id !== undefined && { key_id: id }),
  ...(alg !== undefined && { algorithm: alg }),
  ...(aud !== undefined && { audience: aud }),
});
