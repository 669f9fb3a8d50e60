// Parses the certificates of a PEM text.
import { X509Certificate } from 'node:crypto';

const pemPattern = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** @throws Error if one of the certificates cannot be parsed */
export const parseCertificates = (pem: string): X509Certificate[] =>
  (pem.match(pemPattern) ?? []).map((block) => new X509Certificate(block));
