import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface KeyPair {
  /** PEM */
  readonly key: string;
  readonly cert: string;
}

/** A certificate authority and what it signs, made by openssl. */
export interface Authority {
  readonly cert: string;
  sign(subjectAltName: string): KeyPair;
}

export function createAuthority(name: string): Authority {
  const dir = mkdtempSync(join(tmpdir(), 'vmcp-ca-'));
  try {
    openssl(dir, [...REQUEST, '-x509', '-days', '2', '-subj', `/CN=${name}`, '-keyout', 'ca.key', '-out', 'ca.crt']);
    const key = readFileSync(join(dir, 'ca.key'), 'utf8');
    const cert = readFileSync(join(dir, 'ca.crt'), 'utf8');
    return { cert, sign: (subjectAltName) => sign({ key, cert }, subjectAltName) };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const REQUEST = ['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

function sign(authority: KeyPair, subjectAltName: string): KeyPair {
  const dir = mkdtempSync(join(tmpdir(), 'vmcp-cert-'));
  try {
    writeFileSync(join(dir, 'ca.key'), authority.key);
    writeFileSync(join(dir, 'ca.crt'), authority.cert);
    writeFileSync(join(dir, 'ext'), `subjectAltName=${subjectAltName}\n`);
    openssl(dir, [...REQUEST, '-subj', '/CN=server', '-keyout', 'key', '-out', 'csr']);
    const ca = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'ext'];
    openssl(dir, ['x509', '-req', '-in', 'csr', '-out', 'crt', ...ca]);
    return { key: readFileSync(join(dir, 'key'), 'utf8'), cert: readFileSync(join(dir, 'crt'), 'utf8') };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const openssl = (cwd: string, args: readonly string[]): void => {
  execFileSync('openssl', args, { cwd, stdio: 'ignore' });
};
