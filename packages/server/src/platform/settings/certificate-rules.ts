// Checks the certificates that the settings name, before the platform uses them.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseCertificates } from '../crypto/parse-certificates.ts';
import { systemClock } from '../time/clock.ts';

/** In every certificate of a local authority. Its private key lies in the data directory of a demo. */
export const demoOrganization = 'Switchyard demo';

type Files = {
  readonly environment: string;
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
  readonly deviceCaFile: string | undefined;
  readonly natsCertFile: string | undefined;
  readonly hsmTlsCertFile: string | undefined;
};

/** Each returns a sentence, or undefined if the files are valid. Another rule reports unreadable files. */
export const certificateRules: readonly ((files: Files) => string | undefined)[] = [
  ({ environment, tlsCertFile, tlsKeyFile }) => {
    const [cert, key] = [readText(tlsCertFile), readText(tlsKeyFile)];
    return cert === undefined || key === undefined
      ? undefined
      : (findChainFault('TLS_CERT_FILE', cert, environment) ?? findKeyPairFault(cert, key));
  },
  ({ environment, deviceCaFile }) => {
    const text = readText(deviceCaFile);
    return text === undefined ? undefined : findChainFault('DEVICE_CA_FILE', text, environment);
  },
  ({ natsCertFile }) => findFileFault('NATS_CERT_FILE', natsCertFile),
  ({ hsmTlsCertFile }) => findFileFault('HSM_TLS_CERT_FILE', hsmTlsCertFile),
];

function findFileFault(setting: string, file: string | undefined): string | undefined {
  const text = readText(file);
  return text === undefined ? undefined : findPemFault(setting, text);
}

function readText(file: string | undefined): string | undefined {
  try {
    return file === undefined ? undefined : readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function findPemFault(setting: string, pem: string): string | undefined {
  const name = `SWITCHYARD_${setting}`;
  try {
    return parseCertificates(pem).length === 0
      ? `${name} contains no certificate in PEM`
      : undefined;
  } catch {
    return `${name} contains a certificate that cannot be parsed`;
  }
}

function findChainFault(setting: string, pem: string, environment: string): string | undefined {
  const fault = findPemFault(setting, pem);
  if (fault !== undefined || environment !== 'production') return fault;
  return parseCertificates(pem).some(isDemoCertificate)
    ? `SWITCHYARD_${setting} contains a certificate of a demo's local authority, whose key is not secret; use a certificate of your own authority`
    : undefined;
}

function isDemoCertificate({ subject, issuer }: X509Certificate): boolean {
  return `${subject}\n${issuer}`.split('\n').includes(`O=${demoOrganization}`);
}

function findKeyPairFault(cert: string, key: string): string | undefined {
  const certificate = new X509Certificate(cert);
  if (Date.parse(certificate.validTo) <= systemClock.now()) {
    return `SWITCHYARD_TLS_CERT_FILE contains a certificate that expired on ${certificate.validTo}`;
  }
  try {
    if (certificate.checkPrivateKey(createPrivateKey(key))) return undefined;
  } catch {
    return 'SWITCHYARD_TLS_KEY_FILE contains no private key in PEM';
  }
  return 'SWITCHYARD_TLS_KEY_FILE is not the private key of SWITCHYARD_TLS_CERT_FILE';
}
