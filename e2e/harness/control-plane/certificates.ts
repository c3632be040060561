import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** PEM texts of a client of the API server. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Certificates that `openssl` wrote to a folder: `ca.crt`, `apiserver.{crt,key}`, `sa.{key,pub}`; those of clients also as texts. */
export interface Certificates {
  readonly folder: string;
  readonly ca: string;
  readonly admin: ClientCertificate;
  readonly controllerManager: ClientCertificate;
}

/** Makes a CA, the certificate of an API server on 127.0.0.1, two clients and the keys of ServiceAccount tokens. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const openssl = (...args: readonly string[]) => promisify(execFile)('openssl', args, { cwd: folder });
  const newKey = (name: string) =>
    openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', `${name}.key`);
  const sign = async (name: string, subject: string, names?: string): Promise<ClientCertificate> => {
    await newKey(name);
    await openssl('req', '-new', '-key', `${name}.key`, '-subj', subject, '-out', `${name}.csr`);
    const usage = 'keyUsage=digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n';
    await writeFile(join(folder, `${name}.ext`), `${usage}${names === undefined ? '' : `subjectAltName=${names}\n`}`);
    const by = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAserial', `${name}.srl`, '-CAcreateserial'];
    const out = ['-days', '30', '-extfile', `${name}.ext`, '-out', `${name}.crt`];
    await openssl('x509', '-req', '-in', `${name}.csr`, ...by, ...out);
    return { cert: await pem(`${name}.crt`), key: await pem(`${name}.key`) };
  };
  const pem = (file: string) => readFile(join(folder, file), 'utf8');

  await newKey('ca');
  const authority = ['-addext', 'keyUsage=critical,keyCertSign,digitalSignature', '-out', 'ca.crt'];
  await openssl(
    'req',
    '-x509',
    '-new',
    '-key',
    'ca.key',
    '-subj',
    '/CN=test-control-plane',
    '-days',
    '30',
    ...authority,
  );
  const serverNames = 'DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1';
  const [, admin, controllerManager] = await Promise.all([
    sign('apiserver', '/CN=kube-apiserver', serverNames),
    sign('admin', '/O=system:masters/CN=admin'),
    sign('controller-manager', '/CN=system:kube-controller-manager'),
    openssl('genrsa', '-out', 'sa.key', '2048').then(() =>
      openssl('rsa', '-in', 'sa.key', '-pubout', '-out', 'sa.pub'),
    ),
  ]);
  return { folder, ca: await pem('ca.crt'), admin, controllerManager };
}
