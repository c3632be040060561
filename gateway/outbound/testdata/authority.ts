import { generateKeyPairSync, randomBytes, sign as signBytes, type KeyObject } from 'node:crypto';

export interface KeyPair {
  /** PEM */
  readonly key: string;
  readonly cert: string;
}

/** A certificate authority and what it signs. */
export interface Authority {
  /** PEM */
  readonly cert: string;
  /** @param names such as `DNS:issuer.example,IP:127.0.0.1` */
  sign(names: string): KeyPair;
}

export function createAuthority(name: string): Authority {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issue = (subject: string, publicKey: KeyObject, extension: Buffer): string =>
    certificate({ issuer: name, subject, publicKey, extension }, own.privateKey);
  return {
    cert: issue(name, own.publicKey, IS_AUTHORITY),
    sign(names) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      return { key, cert: issue('server', publicKey, subjectAltName(names)) };
    },
  };
}

interface Facts {
  readonly issuer: string;
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly extension: Buffer;
}

const DAY_MS = 86_400_000;

/** RFC 5280 §4.1, as PEM; valid from yesterday to tomorrow. */
function certificate({ issuer, subject, publicKey, extension }: Facts, signer: KeyObject): string {
  const content = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    distinguishedName(issuer),
    sequence(utcTime(Date.now() - DAY_MS), utcTime(Date.now() + DAY_MS)),
    distinguishedName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  );
  const signature = der(0x03, Buffer.of(0), signBytes('sha256', content, signer));
  const body = sequence(content, ECDSA_WITH_SHA256, signature).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${body.replace(/.{64}(?=.)/gu, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}
const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));
/** Basic constraints, critical: cA. */
const IS_AUTHORITY = sequence(
  oid('551d13'),
  der(0x01, Buffer.of(0xff)),
  der(0x04, sequence(der(0x01, Buffer.of(0xff)))),
);

function subjectAltName(names: string): Buffer {
  const entries = names.split(',').map((entry) => {
    const [kind, name = ''] = entry.split(':');
    return kind === 'IP' ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name));
  });
  return sequence(oid('551d11'), der(0x04, sequence(...entries)));
}

const distinguishedName = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))));

const utcTime = (ms: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/gu, '').slice(2, 14)}Z`));
