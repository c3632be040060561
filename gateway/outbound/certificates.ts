import { X509Certificate } from 'node:crypto';

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/gu;

/**
 * Returns the certificates of a PEM bundle, each as PEM. Node itself skips certificates that it cannot read.
 * @throws Error when there is none or one cannot be read; the message names the place of that one.
 */
export function certificatesOf(bundle: string): string[] {
  const certificates = bundle.match(PEM_CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new Error('holds no PEM certificate');
  certificates.forEach((pem, index) => {
    try {
      new X509Certificate(pem);
    } catch (error) {
      throw new Error(`holds a certificate that cannot be read, number ${String(index + 1)}`, { cause: error });
    }
  });
  return certificates;
}
