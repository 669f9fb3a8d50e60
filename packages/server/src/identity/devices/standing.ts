// Judges the certificate of a device: who signed it, whether its time is now, whether it was revoked.
import { hash, type X509Certificate } from 'node:crypto';
import type { CertificateVerifier } from '../../http/index.ts';
import type { Clock } from '../../platform/index.ts';
import type { Revision } from '../revision.ts';
import { type Authorities, issuerOf } from './authority.ts';
import type { DeviceStore } from './store.ts';
import type { CertificateHolder, KnownCertificate } from './types.ts';

const clientAuthentication = '1.3.6.1.5.5.7.3.2';

type Deps = {
  readonly authorities: Authorities;
  readonly store: Pick<DeviceStore, 'findKnown'>;
  readonly clock: Clock;
  readonly revision: Revision;
  /** Whether a terminal has to be claimed before it connects. */
  readonly requiresClaims: boolean;
};

export const thumbprintOf = (certificate: X509Certificate): string =>
  hash('sha256', certificate.raw, 'base64url');

/** One that may sign, or was made for servers, speaks for no device. */
export function isForDevices({ ca, keyUsage }: X509Certificate): boolean {
  // Node's types promise what a certificate without the extension does not have.
  const usages: readonly string[] | undefined = keyUsage;
  return !ca && (usages === undefined || usages.includes(clientAuthentication));
}

export function createCertificateJudge(deps: Deps): CertificateVerifier<CertificateHolder> {
  const { authorities, store, clock, revision, requiresClaims } = deps;

  /** A maker's certificate is public, and anyone can make it known: the terminal itself has to have shown it. */
  async function isClaimed({ claimMethod }: KnownCertificate, issuer: X509Certificate) {
    const isOfMaker = (await authorities.operators()).includes(issuer);
    return isOfMaker ? claimMethod === 'Certificate' : claimMethod !== undefined;
  }

  return {
    revision: revision.current,

    async verify(certificate) {
      const issuer = issuerOf(certificate, await authorities.trusted());
      // Nothing more is told of a certificate that anybody could have made.
      if (issuer === undefined || !isForDevices(certificate)) return { status: 'invalid' };
      const now = clock.now();
      if (now < certificate.validFromDate.getTime()) return { status: 'invalid' };
      const endsAt = Math.min(certificate.validToDate.getTime(), issuer.validToDate.getTime());
      if (now >= endsAt) return { status: 'expired' };
      const thumbprint = thumbprintOf(certificate);
      const known = await store.findKnown(thumbprint);
      if (known === undefined) return { status: 'invalid' };
      if (known.revokedAt !== undefined) return { status: 'revoked' };
      const status = !requiresClaims || (await isClaimed(known, issuer)) ? 'valid' : 'unclaimed';
      return { status, certificate, thumbprint, holder: known };
    },
  };
}
