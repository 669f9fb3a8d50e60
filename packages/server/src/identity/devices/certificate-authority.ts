// The authority that signs device certificates: made on first use, its key sealed under the master key.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Clock, deriveKey, openSealed, seal } from '../../platform/index.ts';
import type { DeviceStore } from './device-certificate-sql.ts';

const dayMs = 86_400_000;
/** Longer than any terminal lives; a new authority means new certificates for the whole fleet. */
const authorityDays = 7305;
/** The clocks of those who check differ. */
const backdatedMs = 3_600_000;
const pemForm = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

export type Signer = {
  /** PEM. */
  readonly certificate: string;
  readonly privateKey: KeyObject;
};

export type Authorities = {
  /** The platform's own, which signs. */
  signer(): Promise<Signer>;
  /** All that vouch for a device: the platform's own, and those of the operator. */
  trusted(): Promise<readonly X509Certificate[]>;
  /** Those of the operator alone, whose certificates are made elsewhere. */
  operators(): Promise<readonly X509Certificate[]>;
};

type Deps = {
  readonly store: Pick<DeviceStore, 'findAuthority' | 'keepAuthority'>;
  readonly clock: Clock;
  readonly masterKey: Buffer;
  /** PEM certificates of the operator's own device authorities. */
  readonly authorityFile?: string | undefined;
};

export function createAuthorities({ store, clock, masterKey, authorityFile }: Deps): Authorities {
  const sealingKey = deriveKey(masterKey, 'device-authority');
  const authorityId = deriveKey(masterKey, 'device-authority-id').toString('hex', 0, 8);

  async function make() {
    // The library is loaded only where something is made: it costs more than the rest of a start.
    const { makeAuthority } = await import('./issue-certificate.ts');
    const now = clock.now();
    const day = new Date(now).toISOString().slice(0, 10);
    const made = await makeAuthority(`Switchyard device authority ${day}`, {
      notBefore: new Date(now - backdatedMs),
      notAfter: new Date(now + authorityDays * dayMs),
    });
    const { certificate } = made;
    const privateSealed = seal(sealingKey, made.privateKey, authorityId);
    return store.keepAuthority(authorityId, { certificate, privateSealed }, now);
  }

  async function open(): Promise<Signer> {
    const sealed = (await store.findAuthority(authorityId)) ?? (await make());
    const key = openSealed(sealingKey, sealed.privateSealed, authorityId);
    const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
    return { certificate: sealed.certificate, privateKey };
  }

  const signer = remembered(open);
  const operators = remembered(async () =>
    authorityFile === undefined ? [] : readAuthorities(await readFile(authorityFile, 'utf8')),
  );
  const trusted = remembered(async () => [
    new X509Certificate((await signer()).certificate),
    ...(await operators()),
  ]);
  return { signer, operators, trusted };
}

/** Asks once; after a failure again. */
function remembered<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | undefined;
  return () => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}

/** @throws Error where the file holds no certificate, or one that is of no authority */
function readAuthorities(text: string): X509Certificate[] {
  const found = (text.match(pemForm) ?? []).map((pem) => new X509Certificate(pem));
  if (found.length === 0) throw new Error('the file of the device authorities holds none');
  const other = found.find(({ ca }) => !ca);
  if (other !== undefined)
    throw new Error(`${other.subject} is not the certificate of an authority`);
  return found;
}

/** The authority that signed a certificate, whatever the certificate says of itself. */
export function issuerOf(
  certificate: X509Certificate,
  authorities: readonly X509Certificate[],
): X509Certificate | undefined {
  return authorities.find(
    (authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey),
  );
}
